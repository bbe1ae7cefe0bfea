"""Runs that evolve: violations late in a run, which are brought about by what noise and branches do early."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.procedures.flowpipes.test_tube_beam import box_of, swing
from venmas import Verdict, verify
from venmas.logic import parse_property
from venmas.logic.window import Window, window
from venmas.model import System
from venmas.model.evaluation.simulate import Step
from venmas.model.system.disturbances import disturbance_of, drawn
from venmas.model.system.variables import Box
from venmas.procedures.flowpipes.beam import beams
from venmas.procedures.flowpipes.evolve import evolved


def late(branches: bool = False) -> System:
    """What pushes, or branches, have added up is seen eight steps later; of all runs few are pushed one way so often.

    The last branch goes nowhere after some steps.
    """
    system = System("late")
    push = Fraction(0) if branches else system.disturbance("push", "-0.1", "0.1")
    x = system.real("x", -99, 99)
    seen = system.reals("seen", 8, -99, 99)
    rest = {seen[i]: x if i == 0 else seen[i - 1] for i in range(8)}
    for name, by in (("up", "0.1"), ("down", "-0.1"), ("on", "0")) if branches else (("go", "0"),):
        system.branch(
            name, {x: Fraction(9, 10) * x + push + Fraction(by), **rest}, when=x <= "0.7" if name == "on" else True
        )
    system.initial(x == 0, *(s == 0 for s in seen))
    return system


def asked_of(base: System, text: str) -> Window:
    found = window(parse_property(text, base.vocabulary))
    assert found is not None
    return found


def highest(system: System, point: dict[str, Fraction], path: list[str], name: str, first: int, last: int) -> Fraction:
    """The greatest value in a window of the exact run by some branches."""
    names = [branch.name for branch in system.branches]
    state, values = dict(point), [point[name]]
    for step in range(last):
        state = dict(Step(system, state).successor(names.index(path[step]) if path else 0).state)
        values.append(state[name])
    return max(values[first:])


@pytest.mark.parametrize("branches", [False, True])
def test_runs_break_p_in_exact_numbers(branches: bool) -> None:
    base, last = late(branches), 30
    system, asked = drawn(base, last), asked_of(base, f"AG[28,{last}] seen[8] <= 0.85")
    box = _box(system)
    found = evolved(system, asked, [box], lambda: None, 1)
    assert found
    for point, path in found:
        assert highest(system, point, path, "seen[8]", 28, last) > Fraction(85, 100)
        assert all(box[n][0] <= v <= box[n][1] for n, v in point.items())


def test_what_a_search_step_by_step_does_not_find_is_found() -> None:
    base = late()
    system, asked = drawn(base, 26), asked_of(base, "AG[26,26] seen[8] <= 0.8")
    assert not any(beams(system, asked, [_box(system)], lambda: None, seed) for seed in range(3))
    assert all(evolved(system, asked, [_box(system)], lambda: None, seed) for seed in range(3))


def test_noise_stays_in_the_part_that_its_box_has() -> None:
    base = swing()
    system, asked = drawn(base, 30), asked_of(base, "AG^30 x[1] <= 0.01")
    box = {n: (Fraction(1, 20), high) if low < high else (low, high) for n, (low, high) in box_of(system).items()}
    found = evolved(system, asked, [box], lambda: None, 1)
    assert found
    assert all(v >= Fraction(1, 20) for point, _ in found for n, v in point.items() if disturbance_of(n) == "push")


def test_nothing_is_found_where_nothing_is_to_be_found() -> None:
    base = late()
    system = drawn(base, 20)
    assert evolved(system, asked_of(base, "AG^20 x <= 1"), [_box(system)], lambda: None, 1) == []
    still = System("still")
    x = still.real("x", -9, 9)
    still.branch("go", x=x)
    still.initial(x == 1)
    one = {"x": (Fraction(1), Fraction(1))}
    assert evolved(still, asked_of(still, "AG^9 x <= 0"), [one], lambda: None, 1) == []  # there is no choice at all


@pytest.mark.parametrize("branches", [False, True])
def test_of_no_steps_nothing_evolves(branches: bool) -> None:
    base = late(branches)
    system = drawn(base, 1)
    assert evolved(system, asked_of(base, "AG[0,0] x <= -1"), [_box(system)], lambda: None, 1) == []
    wide = {**_box(system), "x": (Fraction(0), Fraction(1))}
    assert evolved(system, asked_of(base, "AG^1 x <= 9"), [wide], lambda: None, 1) == []
    assert evolved(system, asked_of(base, "AG^1 x <= 0.9"), [wide], lambda: None, 1)


def test_a_run_that_ends_breaks_nothing_later() -> None:
    system = System("ends")
    x = system.real("x", -9, 99)
    system.branch("go", {x: x + 1}, when=x <= 3)
    system.initial(x >= 0, x <= 1)
    box = {"x": (Fraction(0), Fraction(1))}
    assert evolved(system, asked_of(system, "AG[9,12] x <= 0"), [box], lambda: None, 1) == []
    assert evolved(system, asked_of(system, "AG[2,3] x <= 0"), [box], lambda: None, 1)


def test_a_violation_that_is_brought_about_early_is_replayed() -> None:
    report = verify(late(), "AG[26,26] seen[8] <= 0.8", timeout=30, workers=1)
    assert report.verdict is Verdict.VIOLATED
    assert report.replay is not None and report.replay.confirmed


def _box(system: System) -> Box:
    pushed = {n for n in system.variables if disturbance_of(n) == "push" or n == "push"}
    tenth = Fraction(1, 10)
    return {n: (-tenth, tenth) if n in pushed else (Fraction(0), Fraction(0)) for n in system.variables}
