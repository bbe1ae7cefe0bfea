"""Covers with polyhedra, of which most sets are looked at as a part of coarse ones: nothing is left out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checker.test_covers_check import FINE, check
from tests.procedures.covers.systems import loop, runs, task
from venmas import System
from venmas.bounds.rounding import Floats
from venmas.checker.covers import check as checks
from venmas.checker.covers import extremes
from venmas.checker.covers.batch.course import Came
from venmas.checker.covers.check import Following
from venmas.checker.covers.grid import Axes, Grid
from venmas.checker.covers.parts import Hull
from venmas.checker.covers.paving import SIDE, Paving, paved
from venmas.checker.format.numbers import CheckError
from venmas.logic import TRUE

STEPS = 8


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few sets have coarse ones as well."""
    monkeypatch.setattr(extremes, "_FEW", 2)
    monkeypatch.setattr(extremes, "_ONCE", 3)
    monkeypatch.setattr(checks, "_BATCH", 16)


def line(n: int, scale: int, stride: int, directions: Any) -> Grid:
    rows = tuple(tuple(str(scale) if i == j else "0" for j in range(n)) for i in range(n))
    return Grid(rows, (), (), stride, 1 << 20, **FINE, directions=tuple(map(tuple, directions.tolist())))


def several(seed: int) -> System:
    """A random loop from two initial sets that are far from each other."""
    system = loop(seed)
    names = [system.nodes_by_name[name] for name in Axes(system).names]
    system.initial(*(row for x in names for row in (x >= 3, x <= Fraction(13, 4))))
    return system


def held(sets: Paving, at: Floats) -> bool:
    """Are all vectors, (B, n), in some box?"""
    low, high = sets.low[:, None] - 1e-6, sets.high[:, None] + 1e-6
    return bool(((low <= at) & (at <= high)).all(2).any(0).all())


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from([4, 12]), st.integers(1, 3), st.booleans())
def test_runs_stay_in_the_sets(seed: int, scale: int, stride: int, far: bool) -> None:
    """At all steps, from all initial sets; and in the ranges that are told."""
    rng = np.random.default_rng(seed)
    system = several(seed) if far else loop(seed)
    asked = task(system, 0, STEPS)
    n, sampled = len(asked.axes.names), runs(asked, seed, STEPS)
    directions = rng.integers(-3, 4, size=(4, n))
    hull = Hull({})
    follow = Following(asked.axes, (0, None, TRUE), line(n, scale, stride, directions), False, False, hull)
    count = 0
    while follow.step + stride < len(sampled):
        try:
            done = follow._advanced(lambda: None)
        except (checks.OpenError, checks.CrowdedError):
            break
        known = follow._known
        assert done or (known is not None and held(known, sampled[follow.step] * scale))
        count += 1
        if done:
            break
    for axis, name in enumerate(asked.axes.names):
        seen = sampled[1 : 1 + count * stride, :, axis]
        if seen.size:
            low, high = map(float, hull.ranges[name])
            assert low - 1e-6 <= seen.min() and seen.max() <= high + 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_what_runs_refute_is_refused(seed: int) -> None:
    """Up to what is reached of a variable, and no less: coarse sets that may break it are looked into."""
    system = several(seed) if seed % 2 else loop(seed)
    asked = task(system, 0, STEPS)
    n, sampled = len(asked.axes.names), runs(asked, seed, STEPS)
    one, most = line(n, 12, 1, np.eye(n, dtype=int)), float(sampled[:, :, 0].max())
    text = f"AG[0,{len(sampled) - 1}] {asked.axes.names[0]} <= {{:.4f}}"
    with pytest.raises(CheckError, match="may break it"):
        check(system, text.format(most - 0.01), one)
    check(system, text.format(9), one)


def test_coarse_sets_are_looked_into_where_they_are_open() -> None:
    """A diagonal: the corner of a coarse set breaks it, none of its cells does."""
    system = System("diagonal")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("go", {x: x, y: x})
    system.initial(x >= 0, x <= 1, y >= 0, y <= 0)
    one = line(2, 60, 1, np.array([[1, -1]]))
    check(system, "AX^1 AG[0,3] (x - y <= 0.2 & y - x <= 0.2)", one)
    with pytest.raises(CheckError, match="may break it"):
        check(system, "AX^1 AG[0,3] (x - y <= 0.2 & y <= 0.99)", one)


def test_fewer_sets_are_followed_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    system = System("wide")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("go", {x: x * Fraction(7, 8) - y / 8, y: y * Fraction(7, 8) + x / 8})
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    one, counts = line(2, 160, 1, np.array([[1, 1], [1, -1]])), []
    for few in (2, 1 << 30):
        monkeypatch.setattr(extremes, "_FEW", few)
        counts.append(check(system, "AG[0,12] x <= 1.6", one).boxes)
    assert counts[0] < counts[1] / 2


def test_coarse_sets_are_parts_of_one_initial_set() -> None:
    places = np.stack(np.meshgrid(*[np.arange(0, 4 * SIDE, SIDE)] * 2), -1).reshape(-1, 2)
    low = np.concatenate([np.insert(places, 0, number * SIDE, 1) for number in (0, 1)])
    one = extremes.Extremes(paved(low, low + np.array([0, SIDE, SIDE])), 2, 50, fixed=1)
    first, last = one._coarse
    assert (first[:, 0] == last[:, 0]).all() and first[:, 0].tolist() == [0] * 4 + [SIDE] * 4
    assert (last - first == [0, 2 * SIDE, 2 * SIDE]).all()


def test_halves_of_a_batch_are_put_together_again() -> None:
    ends = np.arange(6).reshape(3, 2)
    one = Came(np.array([0, 0, 2]), ends, ends + 1, np.array([False, True, False]), Hull({}))
    other = Came(np.array([1, 0, 1]), ends + 9, ends + 10, np.array([False, False, True]), Hull({}))
    other.hull.add("x", 1, 2, 0)  # type: ignore[union-attr]
    made = one.joined(other)
    assert made.of.tolist() == [0, 0, 2, 4, 3, 4] and made.open.tolist() == [False, True, False, False, False, True]
    assert made.low[3:].tolist() == (ends + 9).tolist() and made.high[:3].tolist() == (ends + 1).tolist()
    assert made.hull is not None and made.hull.ranges == {"x": (1, 2)}
