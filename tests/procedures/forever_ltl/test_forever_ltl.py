"""LTL of systems with reals, noise or smooth parts: answers known by hand, certificates, exact runs, and stays."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.procedures.forever import loops
from tests.procedures.forever_ltl.real_copies import compare
from venmas import System, verify
from venmas.checker.file import check_certificate
from venmas.checker.forever.linear import replayed_stay
from venmas.errors import UsageError
from venmas.logic import Linear
from venmas.model import where
from venmas.model.transform.stutter import stuttering
from venmas.model.witness.lasso import Run, replayed, replayed_again
from venmas.model.witness.tree import Witness
from venmas.procedures.forever_ltl.procedure import ForeverLtlSession
from venmas.question import read_system_property

HALF = Fraction(1, 2)


def valve(opens: bool = True) -> System:
    """A level that falls to a half and is filled up again below 1; or ends there, where the valve does not open."""
    system = System("valve")
    x = system.real("x", 0, 8)
    system.branch("fall", {x: x * HALF}, when=x >= 1)
    if opens:
        system.branch("fill", {x: x + 4}, when=x < 1)
    system.initial(x >= 4, x <= 6)
    return system


def lift() -> System:
    """It goes up, to 10 at most, or stays."""
    system = System("lift")
    x = system.real("x", 0, 10)
    system.branch("up", x=where(x >= 9, 10, x + 1))
    system.branch("stay", x=x)
    system.initial(x >= 0, x <= 1)
    return system


def half() -> System:
    return loops.line("half", HALF, 1, 2)


SATISFIED: list[tuple[Callable[[], System], str]] = [
    (loops.thermostat, "F low"),
    (loops.thermostat, "G t > 15"),
    (loops.thermostat, "G F low & F G warm"),
    (loops.thermostat, "F G warm"),
    (loops.thermostat, "G (low -> F t > 17)"),
    (loops.thermostat, "G (low -> X high) | X X true"),
    (loops.thermostat, "warm W low"),
    (loops.tank, "G F full"),
    (half, "F G x <= 0.001"),
    (valve, "G F x >= 4"),
    (loops.patrol, "G F left & G F right"),
    pytest.param(lambda: loops.patrol(noise=Fraction(1, 10)), "G F left & G F right", marks=pytest.mark.slow),
    (lambda: loops.thermostat(HALF), "F G warm"),
    (loops.smooth, "G F near"),
    (loops.smooth, "F G near"),
    (lambda: loops.smooth(Fraction(1, 20)), "F G near"),
]


@pytest.mark.parametrize(("make", "text"), SATISFIED)
def test_what_holds_of_all_runs_is_certified(make: Callable[[], System], text: str, tmp_path: Path) -> None:
    report = verify(make(), text, timeout=120, certificate=tmp_path / "c.gz")
    assert report.satisfied and report.decided_by == "forever-ltl" and report.basis == "exact", (
        report.message,
        report.notes,
    )
    assert report.certificate is not None and report.certificate.size < 20_000
    check_certificate(tmp_path / "c.gz", make())


RUNS: list[tuple[Callable[[], System], str]] = [
    (loops.thermostat, "F t >= 18.9"),
    (loops.thermostat, "G t >= 17"),
    (loops.thermostat, "F G t >= 17"),
    (loops.thermostat, "G F high"),
    (loops.thermostat, "X X low"),
    (loops.tank, "F G full"),
    (half, "G x >= 1"),
    (valve, "F G x < 4"),
    (lambda: loops.patrol(slack=10), "G F right"),
    (lambda: loops.thermostat(HALF), "F t <= 17.5"),
    (lift, "F x >= 5"),
]


@pytest.mark.parametrize(("make", "text"), RUNS)
def test_what_fails_has_an_exact_run(make: Callable[[], System], text: str) -> None:
    system = make()
    report = verify(system, text, timeout=120)
    assert report.violated and report.lasso is not None, report.message
    asked = read_system_property(system, text)
    assert isinstance(asked, Linear)
    run = Run.from_json(json.loads(json.dumps(report.lasso.to_json())))
    assert replayed_again(system, run, asked.formula, asked.deadlock) == report.lasso
    moved = replace(run, states=({name: value + 100 for name, value in run.states[0].items()}, *run.states[1:]))
    assert replayed_again(system, moved, asked.formula, asked.deadlock) is None
    if text.startswith(("F", "G F")):
        assert run.back is not None
        assert replayed_again(system, replace(run, back=None), asked.formula, asked.deadlock) is None, (
            "it needs its loop"
        )


STAYS: list[tuple[Callable[[], System], str]] = [
    (half, "F x <= 0"),
    (lambda: loops.spiral(beside=True), "F x >= 1.5"),
    (loops.smooth, "F x <= -1"),
    (loops.smooth, "G x >= 0.6"),
    (lambda: loops.smooth(Fraction(1, 20)), "F x <= -1"),
]


@pytest.mark.parametrize(("make", "text"), STAYS)
def test_what_fails_without_a_loop_has_a_stay(make: Callable[[], System], text: str) -> None:
    system = make()
    report = verify(system, text, timeout=120)
    assert report.violated and report.witness is not None and report.lasso is None, report.message
    asked = read_system_property(system, text)
    assert isinstance(asked, Linear)
    witness = Witness.from_json(json.loads(json.dumps(report.witness.to_json())))
    assert replayed_stay(system, asked, witness).confirmed
    assert not replayed_stay(system, replace(asked, formula=~asked.formula), witness).confirmed
    (node,) = witness.nodes
    outside = replace(node, state=tuple(replace(v, exact=v.exact + 50) for v in node.state))
    assert not replayed_stay(system, asked, replace(witness, nodes=(outside,))).confirmed
    assert not replayed_stay(system, asked, replace(witness, stay=())).confirmed


@pytest.mark.slow
def test_uniform_numbers_of_steps_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ForeverLtlSession, "_on_cells", lambda *_: "")  # they may come first, and tell none
    soon = verify(loops.thermostat(), "F low", timeout=120)
    assert soon.proof is not None and soon.proof["within"] == 4
    for steps, holds in ((4, True), (3, False)):
        assert verify(loops.thermostat(), f"AF^{steps} low", timeout=120).satisfied is holds
    again = verify(loops.thermostat(), "G F low", timeout=120)
    assert again.proof is not None and again.proof["within"] is None
    assert any("at least every" in text for text in again.proof["texts"])
    last = verify(half(), "F G x <= 0.001", timeout=120)
    assert last.proof is not None and any("from step" in text for text in last.proof["texts"])


@pytest.mark.parametrize(
    ("text", "deadlock", "verdict"),
    [
        ("F x < 1", "stutter", "satisfied"),
        ("F G x < 1", "stutter", "satisfied"),
        ("G x >= 1", "stutter", "violated"),
        ("G F x >= 1", "stutter", "violated"),
        ("F x < 1", "error", "unknown"),
        pytest.param("F x < -1", "error", "unknown", marks=pytest.mark.slow),  # no run goes on for ever
    ],
)
def test_states_without_a_successor(text: str, deadlock: str, verdict: str, tmp_path: Path) -> None:
    made, path = valve(opens=False), tmp_path / "c.gz"
    report = verify(made, text, deadlock=deadlock, timeout=30, certificate=path)  # type: ignore[arg-type]
    assert report.verdict == verdict, report.message
    if report.satisfied:
        check_certificate(path, made)
    if verdict == "unknown":
        assert "each state has a successor" in report.message


def test_a_branch_for_what_stays() -> None:
    made = valve(opens=False)
    assert stuttering(half()).branches[0].always and len(stuttering(half()).branches) == 1
    one, stay = stuttering(made).branches
    assert one is made.branches[0] and not stay.updates and made.may_deadlock
    report = verify(stuttering(made), "AG EX true", timeout=60)
    assert report.satisfied


def test_fair_runs() -> None:
    """A run that breaks it has to be fair."""
    assert verify(lift(), "G F x == 10", timeout=60).violated
    report = verify(lift(), "G F x < 5", fair=['"branch up"'], timeout=60)
    assert report.violated and report.lasso is not None and report.lasso.back is not None
    assert "up" in report.lasso.branches[report.lasso.back :]


@pytest.mark.parametrize("text", ["G F x == 10", pytest.param("G x >= 0", marks=pytest.mark.slow)])
def test_fair_runs_keep_it(text: str) -> None:
    """Others of branches that are fair are in `test_product`."""
    assert verify(lift(), text, fair=['"branch up"'], timeout=60).satisfied


@pytest.mark.slow
def test_every_run_does_in_the_end_what_none_is_bound_to(tmp_path: Path) -> None:
    """F G p without AF AG p: 0 may stay, 1 may not, and 2 is for ever."""
    system = System("three")
    c, x = system.integer("c", 0, 2), system.real("x", 0, 1)
    system.branch("stay", {c: c, x: x / 2}, when=c != 1)
    system.branch("on", {c: c + 1}, when=c <= 1)
    system.initial(c == 0, x >= 0, x <= 1)
    report = verify(system, "F G c != 1", timeout=60, certificate=tmp_path / "c.gz")
    assert report.satisfied
    check_certificate(tmp_path / "c.gz", system)
    assert verify(system, "AF AG c != 1", timeout=10).violated


def test_a_run_that_is_broken_whatever_comes_goes_on() -> None:
    """Its steps show it without a loop where some branch is always open, and nowhere else."""
    made, asked = half(), read_system_property(half(), "G x >= 1")
    assert isinstance(asked, Linear)
    start = {"x": Fraction(3, 2)}
    run = replayed(made, start, [0, 0], None, asked.formula)
    assert run is not None and run.then.startswith("anything")
    assert replayed(made, start, [0], None, asked.formula) is None, "it may still be at least 1"
    assert replayed(valve(opens=False), {"x": Fraction(4)}, [0, 0, 0], None, asked.formula) is None
    ended = read_system_property(valve(), "G x >= 4")
    assert isinstance(ended, Linear)
    assert replayed(valve(), {"x": Fraction(5)}, [0, 0], None, ended.formula) is None, "guards: a deadlock may follow"


def test_noise_is_of_its_range() -> None:
    made = loops.thermostat(HALF)
    asked = read_system_property(made, "F t <= 17.5")
    report = verify(made, "F t <= 17.5", timeout=60)
    assert isinstance(asked, Linear) and report.lasso is not None
    states = [{**state, "w": Fraction(3, 5)} for state in report.lasso.states]
    assert replayed_again(made, replace(report.lasso, states=tuple(states)), asked.formula, asked.deadlock) is None


def test_quantities_are_refused() -> None:
    system = System("measured")
    x = system.real("x", 0, 1)
    system.quantity("y", x + 1, 0, 3)
    system.branch("go", x=x)
    system.initial(x >= 0)
    with pytest.raises(UsageError, match="without quantities"):
        verify(system, "G x >= 0")


def test_sets_of_no_state_are_not_asked_about() -> None:
    """Such as that of a formula that is false: no question is about an empty initial set."""
    assert verify(loops.thermostat(), "AG AF (low | false)", timeout=60).satisfied


@pytest.mark.parametrize("count", [6, pytest.param(20, marks=pytest.mark.slow)])
def test_integers_made_real_have_the_same_verdicts(count: int) -> None:
    seen = Counter(compare(seed, 10) for seed in (*range(count), 1000, 1004))
    assert not [told for told in seen if told.startswith("wrong")], seen
    assert seen["satisfied"] >= 3 * count // 10 and seen["violated"] >= 4 * count // 10, seen


@pytest.mark.parametrize("deadlock", ["error", pytest.param("stutter", marks=pytest.mark.slow)])
def test_a_guard_that_reads_noise_leaves_deadlocks_open(deadlock: str, tmp_path: Path) -> None:
    """Each state has a successor under some noise, and none under other noise: nothing is claimed either way."""
    system = System("gusts")
    x = system.real("x", 0, 10)
    w = system.disturbance("w", -1, 1)
    system.branch("go", {x: where(x >= 9, 10, x + 1)}, when=w > 0)
    system.initial(x >= 0, x <= 1)
    report = verify(system, "F x >= 5", deadlock=deadlock, timeout=5, certificate=tmp_path / "c.gz")
    assert report.verdict == "unknown", report


def test_a_part_about_the_first_state_is_joined(tmp_path: Path) -> None:
    report = verify(loops.thermostat(), "warm & F low", timeout=60, certificate=tmp_path / "c.gz")
    assert report.satisfied and report.certificate is not None
    assert check_certificate(tmp_path / "c.gz", loops.thermostat())


def test_a_run_that_stays_is_none_where_deadlocks_are_errors() -> None:
    system = valve(opens=False)
    report = verify(system, "F x >= 7", deadlock="stutter", timeout=60)
    assert report.violated and isinstance(report.lasso, Run) and "" in report.lasso.branches
    asked = read_system_property(system, "F x >= 7", (), "stutter")
    assert isinstance(asked, Linear)
    assert replayed_again(system, report.lasso, asked.formula, "stutter") is not None
    assert replayed_again(system, report.lasso, asked.formula, "error") is None
