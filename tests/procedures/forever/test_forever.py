"""CTL without bounds over reals: answers known by hand, certificates, and witnesses."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.procedures.forever import loops
from venmas import System, verify
from venmas.answer import Unknown
from venmas.checker.file import check_certificate
from venmas.checker.forever.sequents import INIT, Scope, Sequent, filled
from venmas.checker.forever.stays import stays
from venmas.errors import Reason
from venmas.logic import FALSE, TRUE, Not, fixpoints, parse, parse_property
from venmas.model.witness.replay import replay
from venmas.model.witness.tree import Witness
from venmas.procedures.covers.procedure import CoverSearch
from venmas.procedures.forever.claims.asking import Asking
from venmas.procedures.forever.claims.contexts import positive
from venmas.procedures.forever.lassos import solve
from venmas.procedures.forever.procedure import ForeverSession
from venmas.procedures.forever.reached import returning
from venmas.question import read_property


@pytest.fixture(autouse=True)
def _without_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of derivations, which come later, decide."""
    monkeypatch.setattr(CoverSearch, "accepts", lambda *_: "it is left out")


HALF = Fraction(1, 2)

SATISFIED: list[tuple[Callable[[], System], str]] = [
    (loops.thermostat, "AF low"),
    (loops.thermostat, "AG AF low"),
    (loops.thermostat, "AG EF low"),
    (loops.thermostat, "AF AG warm"),
    (loops.thermostat, "EG t >= 17"),
    (loops.thermostat, "AF AG t >= 16"),
    (loops.thermostat, "AG (low -> AF t > 17) & AF low"),
    pytest.param(loops.thermostat, "AX AG AF low", marks=pytest.mark.slow),
    (loops.thermostat, "AG[2,*] warm & EF EG warm"),
    (loops.thermostat, "!EG !low"),
    (lambda: loops.thermostat(HALF), "AG warm"),
    (lambda: loops.thermostat(HALF), "AF AG warm"),
    (loops.tank, "AG AF full"),
    pytest.param(loops.tank, "AF AG ok", marks=pytest.mark.slow),
    pytest.param(loops.tank, "AG EF full", marks=pytest.mark.slow),
    (lambda: loops.line("half", HALF, 1, 2), "AF AG x <= 0.001"),
    (lambda: loops.line("escape", 2, Fraction(1, 100), 1), "AF AG x >= 1"),
    (loops.doubling, "EG in_"),
    (loops.smooth, "AG x >= -1"),
    (loops.smooth, "AG AF near"),
    (loops.smooth, "AF AG near"),
    (lambda: loops.smooth(Fraction(1, 20)), "AG x >= -1"),
    (lambda: loops.smooth(Fraction(1, 20)), "AF AG near"),
]


@pytest.mark.parametrize(("make", "text"), SATISFIED)
def test_what_holds_is_certified(make: Callable[[], System], text: str, tmp_path: Path) -> None:
    report = verify(make(), text, timeout=120, certificate=tmp_path / "c.gz")
    assert report.satisfied and report.decided_by == "forever" and report.basis == "exact", (
        report.message,
        report.notes,
    )
    assert report.certificate is not None and report.certificate.size < 20_000
    check_certificate(tmp_path / "c.gz", make())


def gusts(low: int, high: int) -> System:
    """A rotation with contraction and gusts: no box is kept by each step, and none in a strip is returned to."""
    system = System("gusts")
    x, y, gust = system.real("x", -50, 50), system.real("y", -50, 50), system.disturbance("gust", -1, 1)
    system.branch("turn", x=(3 * x - 4 * y) * Fraction(4, 25) + gust, y=(4 * x + 3 * y) * Fraction(4, 25))
    system.initial(x >= low, x <= high, y >= low, y <= high)
    return system


@pytest.mark.parametrize(
    ("make", "text", "rule"),
    [
        pytest.param(lambda: gusts(5, 6), "AF AG (x <= 3.5 & x >= -3.5)", "later", marks=pytest.mark.slow),
        (lambda: gusts(0, 1), "AG (x <= 4 & x >= -4)", "resume"),
    ],
)
def test_what_holds_some_steps_after_a_set_holds_for_ever(
    make: Callable[[], System], text: str, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ForeverSession, "_on_cells", lambda *_: Unknown(Reason.OPEN, ""))
    report = verify(make(), text, timeout=60, certificate=tmp_path / "c.gz")
    assert report.satisfied and report.decided_by == "forever", report.message
    check_certificate(tmp_path / "c.gz", make())
    lines = gzip.decompress((tmp_path / "c.gz").read_bytes()).splitlines()
    assert rule in {json.loads(line).get("rule") for line in lines}


LASSOS: list[tuple[Callable[[], System], str]] = [
    (loops.thermostat, "AF t >= 18.9"),
    (loops.thermostat, "AG AF high"),
    (loops.tank, "AF level >= 8"),
    (loops.tank, "AF AG full"),
    (loops.doubling, "EG (x <= 0.5 & x >= -0.5)"),
    (loops.spiral, "AF x >= 1.5"),
    (loops.thermostat, "EG low"),
]
STAYS: list[tuple[Callable[[], System], str]] = [
    (lambda: loops.line("half", HALF, 1, 2), "AF x <= 0"),
    (lambda: loops.line("half", HALF, 1, 2), "AF x <= -0.1"),
    (lambda: loops.spiral(beside=True), "AF x >= 1.5"),
    pytest.param(loops.doubling, "EF (x <= 0.5 & x >= -0.5)", marks=pytest.mark.slow),  # from 1 and from -1 alone
    (loops.smooth, "EG x >= 0.6"),
    (lambda: loops.smooth(Fraction(1, 20)), "EG x >= 1.2"),
]


@pytest.mark.parametrize(("make", "text"), LASSOS)
def test_what_fails_has_an_exact_lasso(make: Callable[[], System], text: str) -> None:
    report = verify(make(), text, timeout=120)
    assert report.violated and report.witness is not None and not report.witness.stay, report.message
    states = [node.point for node in report.witness.nodes]
    assert states[-1] in states[:-1] or not any(node.children for node in report.witness.nodes)


@pytest.mark.parametrize(("make", "text"), STAYS)
def test_what_fails_for_ever_without_a_loop_has_a_stay(make: Callable[[], System], text: str) -> None:
    system = make()
    report = verify(system, text, timeout=120)
    assert report.violated and report.decided_by == "forever" and report.witness is not None, report.message
    witness = Witness.from_json(json.loads(json.dumps(report.witness.to_json())))
    shown = fixpoints(read_property(system, text).formula, negate=True)
    assert witness.stay and replay(system, shown, witness, staying=stays).confirmed
    assert not replay(system, shown, witness).confirmed, "nothing checked it"
    other = fixpoints(read_property(system, text.replace("G", "F") if "EG" in text else text).formula)
    assert not replay(system, other, witness, staying=stays).confirmed, "it shows another formula"


def test_a_stay_is_about_its_own_state() -> None:
    system = loops.line("half", HALF, -1, 2)
    report = verify(loops.line("half", HALF, 1, 2), "AF x <= 0", timeout=120)
    assert report.witness is not None and report.witness.stay
    shown = fixpoints(read_property(system, "AF x <= 0").formula, negate=True)
    (node,) = report.witness.nodes
    for value, holds in ((Fraction(1), True), (Fraction(0), False), (Fraction(-1), False), (Fraction(3), False)):
        moved = replace(report.witness, nodes=(replace(node, state=(replace(node.state[0], exact=value),)),))
        assert replay(system, shown, moved, staying=stays).confirmed is holds, value


def test_solutions_of_equations() -> None:
    one, two = Fraction(1), Fraction(2)
    assert solve([[one, two], [two, one]], [one, one]) == [one / 3, one / 3]
    assert solve([[one, one], [two, two]], [one, two]) == [one, 0]
    assert solve([[one, one], [two, two]], [one, one]) is None


@pytest.mark.parametrize(("noise", "text"), [(0, "AG AF t <= 18"), (0, "AF AG warm"), (HALF, "AF AG warm")])
def test_runs_agree_with_what_is_proved(noise: Fraction, text: str) -> None:
    """No noise is what noise of no width is, and more noise never makes a property of all runs true."""
    verdicts = [verify(loops.thermostat(width), text, timeout=120).verdict for width in (0, noise)]
    assert verdicts[0] == "satisfied" and verdicts[1] == "satisfied"
    assert not verify(loops.thermostat(3), "AF AG t > 14", timeout=10).satisfied


def test_sets_have_names_of_their_own() -> None:
    """Also beside a variable that has the name of one: what is proved of a set counts for that set alone."""
    system = System("named")
    x = system.real("S1", 0, 4)
    system.branch("go", {x: x})
    system.initial(x >= 0, x <= 1)
    asking = Asking(system, lambda question, budget: Unknown(Reason.OPEN, ""), "real")
    sets = [parse(f"S1 <= {end}", system.vocabulary) for end in (1, 2, 3)]
    names = [asking.named(states) for states in sets]
    assert len({*names, "S1"}) == 4
    assert [asking.sets[name] for name in names] == sets


def test_what_is_put_into_a_context_is_simplified_as_formulas_are() -> None:
    scope = Scope.of(loops.thermostat(), {})
    assert filled(scope.context("AX here"), TRUE) is Sequent.of("init", scope.read("AX true")).formula
    assert filled(scope.context("EX here"), FALSE) is Sequent.of("init", scope.read("EX false")).formula


def test_a_variable_here_is_named() -> None:
    system = System("placed")
    x = system.real("here", -4, 4)
    system.branch("go", {x: x / 2})
    system.initial(x >= 1, x <= 2)
    report = verify(system, "AF here <= 1/2", timeout=10)
    assert report.verdict == "unknown"
    assert "a name of the system is 'here'" in str(report.procedures) + report.message


def test_a_loop_that_returns_late_stays_for_ever_under_noise(tmp_path: Path) -> None:
    """The set is what enclosures of reach sets suggest, and the proof of its long way back is written down."""
    report = verify(loops.slow_turn(), "AG (x <= 2.5 & x >= -2.5)", timeout=60, certificate=tmp_path / "c.gz")
    assert report.satisfied and report.decided_by == "forever", report.message
    assert check_certificate(tmp_path / "c.gz", loops.slow_turn())


def test_sets_of_reach_sets_hold_their_images() -> None:
    system = loops.slow_turn()
    found = list(returning(system, lambda: None))
    assert found and all(one.period > 8 for one in found)
    assert not list(returning(loops.line("escape", 2, Fraction(1, 100), 1), lambda: None))


@pytest.mark.parametrize("text", ["low <-> AG EF high", "!(low <-> AG EF high)", "AG (AF low <-> !AX high)"])
def test_what_is_derived_is_what_is_claimed(text: str) -> None:
    """The checker compares core forms: without negations above operators, a formula has the same one."""
    asked = parse_property(text, loops.thermostat().vocabulary).formula
    for negate, said in ((False, asked), (True, Not(asked))):
        made = positive(asked, negate)
        assert made is not None and Sequent.of(INIT, made) == Sequent.of(INIT, said)
