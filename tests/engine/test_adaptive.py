"""The mode adaptive at its edges: what a run may do, what a system may be, and what it may cost."""

from fractions import Fraction
from time import monotonic

import pytest

from venmas.budget import BudgetError
from venmas.engine.portfolio import Portfolio
from venmas.engine.verify import verify
from venmas.errors import ModelError, Reason
from venmas.logic import AX, And, Atom, parse
from venmas.model import System, absolute, where
from venmas.procedures.exact.session import ExactSession
from venmas.procedures.flowpipes.procedure import FlowpipeSearch
from venmas.procedures.reachability.procedure import ReachabilitySession


def ask(system, formula, **options):
    """The verdict of mode adaptive, which mode exact must not contradict."""
    report = verify(system, formula, mode="adaptive", timeout=10, **options)
    other = verify(system, formula, mode="exact", timeout=10)
    assert {report.verdict.value, other.verdict.value} != {"satisfied", "violated"}
    return report.verdict.value


def line(*conditions, low=-20, high=20):
    """x up by one, or half of it; the initial sets by themselves."""
    system = System("line")
    x = system.real("x", low, high)
    system.branch("up", x=x + 1)
    system.branch("half", x=x / 2)
    for build in conditions:
        system.initial(*build(x))
    return system


def test_strict_and_excluded_initial_states():
    opened = line(lambda x: [x > 0, x < 1])
    assert ask(opened, "AX x < 2") == "satisfied" and ask(opened, "AX x <= 1.9") == "violated"
    assert ask(opened, "x > 0") == "satisfied" and ask(opened, "EX x <= 0") == "violated"
    without = line(lambda x: [x >= 0, x <= 1, x != 1, x != 0])
    assert ask(without, "AX x < 2") == "satisfied" and ask(without, "AX x != 1.5") == "violated"
    assert ask(without, "x > 0 & x < 1") == "satisfied"
    assert ask(line(lambda x: [x >= 0, x <= 1]), "AX x != 1.5") == "violated"
    assert ask(line(lambda x: [x >= 0, x <= 1, x != Fraction(1, 2)]), "AX x != 1.5") == "satisfied"
    assert ask(line(lambda x: [x >= 0, x <= 1, x != Fraction(1, 2)]), "x != 0.5") == "satisfied"


def test_unions_points_and_polytopes():
    union = line(lambda x: [x == 1], lambda x: [x >= 3, x <= 4], lambda x: [x >= 5, x <= 4])
    assert ask(union, "x == 1 | x >= 3") == "satisfied" and ask(union, "x >= 3") == "violated"
    assert ask(union, "AX (x == 2 | x == 0.5 | x >= 1.5)") == "satisfied"
    assert ask(union, "AX x != 0.5") == "violated"
    system = System("polytope")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    system.branch("turn", x=y, y=-x)
    system.initial(x + y <= 1, x >= 0, y >= 0, x - y != 1)
    assert ask(system, "AX^2 (x + y >= -1)") == "satisfied"
    assert ask(system, "AX^2 (x + y > -1)") == "violated"
    assert ask(system, "AX^4 (x - y < 1)") == "satisfied"


@pytest.mark.parametrize("conditions", [[lambda x: [x > 1, x < 1]], [lambda x: [x >= 2, x <= 1], lambda x: [x > 30]]])
def test_an_empty_initial_set_is_an_error(conditions):
    with pytest.raises(ModelError, match=r"no initial states|is empty"):
        verify(line(*conditions), "x >= 0", mode="adaptive")


def test_leaving_the_box_is_an_error_where_the_formula_looks():
    system = line(lambda x: [x >= 0, x <= 1], high=3)
    assert ask(system, "AX^2 x <= 3") == "satisfied"
    for formula in ("AX^3 x >= -9", "AG^5 x >= -9"):
        for mode in ("adaptive", "exact"):
            with pytest.raises(ModelError, match="leaves the declared box"):
                verify(system, formula, mode=mode, timeout=10)
    assert ask(system, "AX^2 x <= 1") == "violated"


def stops():
    """Up to 2, then no further."""
    system = System("stops")
    x, m = system.real("x", -9, 9), system.integer("m", 0, 1)
    system.branch("up", x=x + 1, when=x < 2)
    system.branch("mark", m=1, when=(x >= 5) & (m == 0))
    system.initial(x >= 0, x <= 1, m == 0)
    return system


def test_a_deadlock_that_time_leaves_open_is_told(monkeypatch):
    advance = ReachabilitySession.advance

    def late(session, budget):
        if session.question.about == "deadlock":
            raise BudgetError(budget, Reason.TIME, "the time limit was reached")
        return advance(session, budget)

    monkeypatch.setattr(ReachabilitySession, "advance", late)
    monkeypatch.setattr(ExactSession, "advance", late)
    monkeypatch.setattr(FlowpipeSearch, "accepts", lambda *_: "it is not asked")
    report = verify(stops(), "AX^4 false", mode="adaptive", timeout=10)
    assert report.satisfied
    assert report.notes == ["a deadlock may be reachable: the time limit was reached before it was decided"]


def test_what_no_proof_is_found_of_is_decided_without_one(monkeypatch, tmp_path):
    decide, asked = Portfolio.decide, []

    def late(portfolio, question, *rest, **options):
        asked.append(question.certified)
        if question.certified:
            raise BudgetError(portfolio.main, Reason.TIME, "the time limit was reached")
        return decide(portfolio, question, *rest, **options)

    monkeypatch.setattr(Portfolio, "decide", late)
    system = line(lambda x: [x > 0, x < 1])
    report = verify(system, "AX x < 2", timeout=10, certificate=tmp_path / "c.gz")
    assert report.satisfied and asked[:2] == [True, False]
    report = verify(system, "AX x <= 1.9", timeout=10, certificate=tmp_path / "c.gz")
    assert report.violated and report.replay.confirmed


def test_deadlocks():
    system = stops()
    report = verify(system, "AX^4 false", mode="adaptive", timeout=10)
    assert report.satisfied and any("a deadlock is reachable" in n for n in report.notes)
    report = verify(system, "AX x >= 1", mode="adaptive", timeout=10)
    assert report.satisfied and report.notes == []  # all still move where the formula looks
    assert ask(system, "EX^3 true") == "violated" and ask(system, "EX true") == "satisfied"
    assert ask(system, "EX EX AX (x > 9)") == "violated"  # from 0 there are three steps
    assert ask(system, "AX AX AX AX (x > 9)") == "satisfied"


def test_systems_without_width():
    whole = System("whole")
    m = whole.integer("m", 0, 9)
    whole.branch("up", m=m + 1, when=m < 9)
    whole.initial(m <= 3)
    assert ask(whole, "AX^3 m <= 6") == "satisfied" and ask(whole, "AX^3 m <= 5") == "violated"
    point = System("point")
    x = point.real("x", -1, 1)
    point.real("y", 2, 2)
    point.branch("flip", x=where(x > 0, -x, absolute(x) / 3))
    point.initial(x == Fraction(1, 3))
    assert ask(point, "AX^2 (9 * x == 1 & y == 2)") == "satisfied"
    assert ask(point, "AX^2 (9 * x < 1)") == "violated"
    wide = System("wide")
    x, n = wide.real("x", 0, 1), wide.integer("n", 0, 99_999)
    wide.branch("stay", x=1 - x)
    wide.initial(n >= 1)
    assert ask(wide, "AX (n >= 1 & x <= 1)") == "satisfied"  # more initial locations than regions begin with


def test_deep_formulas():
    system = line(lambda x: [x >= 0, x <= 1], low=-1, high=400)
    formula = parse("x >= 0", system.vocabulary)
    for _ in range(300):
        formula = And((parse("x >= 0", system.vocabulary), AX(formula)))
    report = verify(system, formula, mode="adaptive", timeout=20)
    assert report.verdict.value == "satisfied" or report.reason == "time"
    system = line(lambda x: [x >= 0, x <= 1], low=-1, high=400)
    atom = parse("x <= 299", system.vocabulary)
    assert isinstance(atom, Atom)
    assert verify(system, "AX^300 x <= 299", mode="adaptive", timeout=20).violated


def hard():
    """A map whose foldings multiply: neither passes nor rationals decide it soon."""
    system = System("folds")
    x, y = system.real("x", 0, 1), system.real("y", 0, 1)
    fold = where(x + y / 8 <= 0.5, 2 * x + y / 8, where(x <= 0.5, x, 2 - 2 * x))
    system.initial(x >= 0)
    system.branch("fold", x=fold, y=where(x >= y, (x + 3 * y) / 4, (y + x * 2) / 3))
    return system


def test_a_timeout_is_unknown():
    begun = monotonic()
    report = verify(hard(), "AX^14 3 * x + 2 * y != 1.4142135623", mode="adaptive", timeout=1)
    assert (report.verdict.value, report.reason) == ("unknown", "time") or report.violated
    assert monotonic() - begun < 15


def test_a_memory_limit_is_unknown():
    report = verify(hard(), "AX^14 3 * x + 2 * y != 1.4142135623", mode="adaptive", memory=1, timeout=20)
    assert (report.verdict.value, report.reason) == ("unknown", "memory")
