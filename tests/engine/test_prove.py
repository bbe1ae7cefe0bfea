"""Where the search for a proof splits: at ties that only a face of the cell has, and no more than it needs to."""

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

import pytest

from venmas import System, verify
from venmas.engine.certificates.goals import prove
from venmas.errors import ModelError
from venmas.logic import Bounded
from venmas.model import absolute, argmax, clip, maximum
from venmas.model.expressions.expr import as_expr
from venmas.procedures.exact.session import ExactSession
from venmas.procedures.registry import get_procedure
from venmas.question import Question, read_formula


def corner(first_wins: bool) -> System:
    """Two scores that tie in one corner of a square; elsewhere the constant one wins."""
    system = System("corner")
    x, y = system.real("x", 0, 1), system.real("y", 0, 1)
    best = system.integer("best", 0, 1)
    rising = x + y - 2
    system.branch("step", best=argmax((rising, 0) if first_wins else (0, rising)))
    system.initial(best == 0)
    return system


def test_a_tie_in_one_corner_is_found() -> None:
    system = corner(first_wins=True)
    proof = prove(system, read_formula(system, "AX best = 1"))
    assert proof.witness is not None
    initial = dict(proof.witness.initial)
    assert (initial["x"], initial["y"]) == (1, 1)


def test_a_tie_in_one_corner_that_the_other_wins() -> None:
    system = corner(first_wins=False)
    assert prove(system, read_formula(system, "AX best = 0")).complete


def test_what_enclosures_refute_is_not_split() -> None:
    """Twelve open choices, none of which matters for a bound that holds by far."""
    system = System("open")
    x, y = system.real("x", -1, 1), system.real("y", -1, 1)
    level = system.real("level", -100, 100)
    parts = [clip(x * (i + 1) - y * (i - 2), -1, 1) for i in range(6)]
    system.branch("step", level=sum(parts, maximum(x, y)))
    system.initial(level == 0)
    proof = prove(system, read_formula(system, "AX level < 50"))
    assert proof.complete
    assert proof.splits == 0


def star() -> System:
    """The greatest value is 0, where six kinks meet, at no dyadic point."""
    system = System("star")
    x, y = system.real("x", 0, 1), system.real("y", 0, 1)
    level = system.real("level", -100, 100)
    kinks = [absolute((x - "1/3") * a + (y - "1/7") * b) for a, b in ((1, 0), (0, 1), (1, 1), (1, -2), (3, 1), (1, 4))]
    system.branch("step", level=-sum(kinks, as_expr(0)))
    system.initial(level == 0)
    return system


def test_many_hyperplanes_through_one_point() -> None:
    """Halving alone would never end."""
    system = star()
    assert prove(system, read_formula(system, "AX level <= 0")).complete
    proof = prove(system, read_formula(system, "AX level < 0"))
    assert proof.witness is not None
    assert dict(proof.witness.initial)["x"] == Fraction(1, 3)


class EnoughError(Exception):
    """Raised by a clock."""


def limited(count: int) -> Callable[[], None]:
    """A clock that stops after some steps."""
    left = iter(range(count))

    def tick() -> None:
        if next(left, None) is None:
            raise EnoughError

    return tick


@pytest.mark.parametrize("text", ["AX level <= 0", "AX level < 0"])
def test_a_search_goes_on_where_it_was_left(text: str) -> None:
    system = star()
    formula = read_formula(system, text)
    whole = prove(system, formula)
    search, turns, answer = ExactSession(Question(system, Bounded(formula))), 0, None
    while answer is None:
        turns += 1
        with suppress(EnoughError):
            answer = search.advance(limited(5))
    assert search.advance(limited(0)) is answer
    steps = whole.lines + whole.splits
    assert turns > 3 and turns < steps
    assert vars(search.figures) == vars(whole)


def test_an_error_in_a_search_is_met_again(monkeypatch: pytest.MonkeyPatch) -> None:
    system = star()
    search = ExactSession(Question(system, Bounded(read_formula(system, "AX level <= 0"))))

    def broken(*_: object) -> None:
        raise ModelError("leaves its box")

    monkeypatch.setattr("venmas.procedures.exact.search.first_goal", broken)
    for _ in range(2):
        with pytest.raises(ModelError, match="leaves its box"):
            search.advance(lambda: None)


WAYS = ("branch-and-bound", "polytopes", "exact", "bound-propagation", "reachability", "flowpipes")


@pytest.mark.parametrize("way", WAYS)
def test_a_deadlock_is_noted_whatever_decides(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    accepts = {name: get_procedure(name).accepts for name in WAYS}
    for other in accepts.keys() - {way}:

        def chosen(self: object, question: Question, run: object, other: str = other) -> str | None:
            return "not now" if question.about == "property" else accepts[other](question, run)

        monkeypatch.setattr(type(get_procedure(other)), "accepts", chosen)
    system = System("stuck")
    x, y = system.real("x", -8, 8), system.real("y", -8, 8)
    system.branch("go", when=x <= Fraction(1, 2), y=y + 1)
    system.initial((x >= 0) & (x <= 1) & (y >= 0) & (y <= 1))
    report = verify(system, "AX^2 y >= 1")
    assert report.decided_by == way
    assert report.satisfied and report.basis == ("exact" if way == "exact" else "bounds")
    assert len(report.notes) == 1 and report.notes[0].startswith("a deadlock is reachable")
