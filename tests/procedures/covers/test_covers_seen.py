"""Ranges that covers tell of variables, and those that may leave theirs: of all sets, whatever batch they are in."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.procedures.covers.systems import loop, runs, task
from tests.slow import some_slow
from venmas import System
from venmas.budget import Budget
from venmas.procedures.covers import layers
from venmas.procedures.covers.cover import Cover
from venmas.procedures.covers.following import Task
from venmas.procedures.covers.frame import frames


def followed(asked: Task, steps: int, stride: int) -> Cover:
    sampled = runs(asked, 0, steps)
    cover = Cover(asked, frames(asked.axes.names, sampled)[0], stride, 5, sampled)
    while not cover.advance(Budget(60)):
        pass
    return cover


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("seed", some_slow(range(8), [0, 5, 6]))
def test_ranges_hold_all_runs(monkeypatch: pytest.MonkeyPatch, seed: int, stride: int) -> None:
    monkeypatch.setattr(layers, "BATCH", 4)
    asked = task(loop(seed), 0, 10)
    reached, states = followed(asked, 10, stride).reached(), runs(asked, seed + 1, 10)
    for axis, name in enumerate(asked.axes.names):
        low, high = reached[name]
        assert low <= states[:, :, axis].min() and states[:, :, axis].max() <= high


def turned() -> System:
    """x and y come from [0, 1/2] and go to [0.4, 0.9] and [0.6, 1.1] and back, of ranges up to 1."""
    system = System("turned")
    x, y = system.real("x", -1, 1), system.real("y", -1, 1)
    system.branch("go", {x: Fraction(9, 10) - x, y: Fraction(11, 10) - y})
    system.initial(x >= 0, x <= 0.5, y >= 0, y <= 0.5)
    return system


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("batch", [1, 1024])
def test_what_may_leave_its_range_is_told(monkeypatch: pytest.MonkeyPatch, batch: int, stride: int) -> None:
    """Only of y, by some of the sets, at every other step."""
    monkeypatch.setattr(layers, "BATCH", batch)
    cover = followed(task(turned(), 0, 4), 4, stride)
    assert cover.leaving == {"y"} and cover.boxes > 8
    reached = cover.reached()
    assert reached["x"][0] <= 0 and Fraction(9, 10) <= reached["x"][1] < 1
    assert reached["y"][0] <= 0 and Fraction(11, 10) <= reached["y"][1] < Fraction(5, 4)
