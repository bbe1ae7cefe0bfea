"""Beam search for violations over noise and branches, which samples of all noise do not meet."""

from __future__ import annotations

from fractions import Fraction

import pytest

from venmas import Verdict, verify
from venmas.logic import parse_property
from venmas.logic.window import window
from venmas.model import System
from venmas.model.evaluation.simulate import Step
from venmas.model.system.disturbances import ahead, disturbance_of, drawn
from venmas.model.system.variables import Box
from venmas.procedures.flowpipes.beam import beams


def swing() -> System:
    """A swing with eight copies of itself behind it, pushed a little in each step: far out by the right pushes only."""
    system = System("swing")
    push = system.disturbance("push", "-0.1", "0.1")
    x = system.reals("x", 8, -99, 99)
    v = system.reals("v", 8, -99, 99)
    system.branch(
        "go",
        {x[i]: x[i] + Fraction(1, 4) * v[i] for i in range(8)}
        | {
            v[i]: Fraction(9, 10) * v[i] - Fraction(1, 4) * x[i] + (push if i == 0 else Fraction(1, 10) * x[i - 1])
            for i in range(8)
        },
    )
    system.initial(*(w == 0 for w in (*x, *v)))
    return system


def box_of(system: System) -> Box:
    """The initial values of a drawn system whose other variables begin at 0."""
    noise = {n for n, d in system.variables.items() if ahead(n) or n == "push"}
    return {
        n: (Fraction(-1, 10), Fraction(1, 10)) if n in noise else (Fraction(0), Fraction(0)) for n in system.variables
    }


@pytest.mark.parametrize("begin", [0, 20])
def test_its_runs_break_p_in_exact_numbers(begin: int) -> None:
    base, steps = swing(), 40
    prop = parse_property(f"AG[{begin},{steps}] x[1] <= 0.6", base.vocabulary)
    system, asked = drawn(base, steps), window(prop)
    assert asked is not None
    found = beams(system, asked, [box_of(system)], lambda: None, 1)
    assert found
    for point, path in found:
        assert len(path) <= steps
        state, highest = point, point["x[1]"] if begin == 0 else Fraction(-1)
        for step, _ in enumerate(path, 1):
            state = dict(Step(system, state).successor(0).state)
            highest = max(highest, state["x[1]"]) if step >= begin else highest
        assert highest > Fraction(6, 10)
        assert all(abs(v) <= Fraction(1, 10) for n, v in point.items() if disturbance_of(n) == "push")


def test_noise_stays_in_the_part_that_its_box_has() -> None:
    system = drawn(swing(), 30)
    asked = window(parse_property("AG^30 x[1] <= 0.01", swing().vocabulary))
    assert asked is not None
    box = {n: (Fraction(1, 20), high) if low < high else (low, high) for n, (low, high) in box_of(system).items()}
    found = beams(system, asked, [box], lambda: None, 1)
    assert found
    assert all(v >= Fraction(1, 20) for point, _ in found for n, v in point.items() if disturbance_of(n) == "push")


def test_nothing_is_sought_where_runs_have_no_choice() -> None:
    system = System("still")
    x = system.real("x", -9, 9)
    system.branch("go", x=x)
    system.initial(x >= 0, x <= 1)
    asked = window(parse_property("AG^9 x <= -1", system.vocabulary))
    assert asked is not None
    assert beams(system, asked, [{"x": (Fraction(0), Fraction(1))}], lambda: None, 1) == []


def test_a_loop_whose_boxes_take_too_long_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    from venmas.procedures.flowpipes import procedure
    from venmas.procedures.flowpipes.target import TooLongError

    def never(*_: object) -> None:
        raise TooLongError

    monkeypatch.setattr(procedure._Session, "_batch", never)
    monkeypatch.setattr(procedure, "_LONG", 1)
    report = verify(swing(), "AG^40 x[1] <= 0.6", timeout=30, workers=1)
    assert report.verdict is Verdict.VIOLATED
    assert report.replay is not None and report.replay.confirmed
