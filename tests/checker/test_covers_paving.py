"""Pavings in several units: what is in one box of before is left out, to the last unit, and nothing else."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venmas.bounds.rounding import Ints
from venmas.checker.covers.paving import SIDE, Marks, Other, Paving, paved

DEEP = 2


def drawn(rng: np.random.Generator, n: int, size: int, halved: tuple[int, ...], depth: int) -> Paving:
    """A paving of some boxes, whose cells are cut here and there, in units that were halved so often, and as often as
    cells are cut."""
    low = np.array([rng.integers(-size, size, 6) for _ in range(n)]).T
    high = low + rng.integers(0, 2 * SIDE + 1, low.shape) * rng.integers(0, 2, low.shape)
    cells: tuple[Ints, ...] = ()
    for level in range(depth):
        most = size * 2**level // SIDE + 2
        cells += (rng.integers(-most, most, (most, n)),)
    shift = np.array(halved) + depth
    return paved(low << shift, high << shift, Marks(cells))


def ends(one: Paving, halved: tuple[int, ...], depth: int) -> list[list[tuple[Fraction, Fraction]]]:
    """The boxes in units that were never halved."""
    unit = [Fraction(1, 2 ** (h + depth)) for h in halved]
    sides = zip(one.low.tolist(), one.high.tolist(), strict=True)
    return [[(a * u, b * u) for a, b, u in zip(low, high, unit, strict=True)] for low, high in sides]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 3), st.sampled_from([4, 20]), st.integers(0, DEEP), st.integers(0, DEEP))
def test_what_is_in_one_box_is_left_out_and_nothing_else(seed: int, n: int, size: int, depth: int, before: int) -> None:
    rng = np.random.default_rng(seed)
    now, then = (tuple(rng.integers(0, 3, n).tolist()) for _ in range(2))
    one, known = drawn(rng, n, size, now, depth), drawn(rng, n, size, then, before)
    some = rng.integers(0, 2, len(known)).astype(bool)
    known = known.rows(some)
    other = Other(known, before, tuple(h + before for h in then))
    left = one.outside(other, [h + depth for h in now])
    kept = {tuple(row) for row in left.cell.tolist()}
    corners = [
        [(c + 1) * SIDE / Fraction(2 ** (h + level)) for c, h in zip(cell, then, strict=True)]
        for level, *cell in known.cell.tolist()
    ]
    boxes = ends(known, then, before)
    for cell, box in zip(one.cell.tolist(), ends(one, now, depth), strict=True):
        inside = [
            (all(c <= a and b <= d for (a, b), (c, d) in zip(box, box_of, strict=True)), top)
            for box_of, top in zip(boxes, corners, strict=True)
        ]
        if tuple(cell) not in kept:
            assert any(within for within, _ in inside)
        else:  # a box at the very end of a cell is in the next one
            assert not any(within and all(a < t for (a, _), t in zip(box, top, strict=True)) for within, top in inside)
    again = one.rows(np.array([tuple(row) in kept for row in one.cell.tolist()], dtype=bool))
    assert np.array_equal(left.low, again.low) and np.array_equal(left.high, again.high)


@pytest.mark.parametrize(("halved", "left"), [(0, 0), (16, 0), (17, 1), (40, 1)])
def test_units_that_are_far_apart_are_not_compared(halved: int, left: int) -> None:
    """Products of what is far away might wrap."""
    one = paved(np.array([[3]]), np.array([[3]]))
    finer = paved(one.low << halved, one.high << halved)
    assert len(finer.outside(Other(one, 0, (0,)), [halved])) == left
    assert len(one.outside(Other(finer, 0, (halved,)), [0])) == left


@pytest.mark.parametrize("halved", [-1, 0, 2])
@pytest.mark.parametrize("end", [*product((0, 1), (0, 1), (-1, 0, 1))])
def test_boxes_are_in_others_to_the_last_unit(end: tuple[int, int, int], halved: int) -> None:
    """One end of a box is moved by a unit."""
    side, axis, way = end
    ends = np.array([[[10, 26]], [[14, 30]]])
    other = Other(Paving(np.array([[0, 1, 3]]), *ends), 0, (max(0, -halved),) * 2)
    moved = ends << halved if halved >= 0 else ends >> -halved
    moved[side, 0, axis] += way
    box = Paving(np.insert(moved[0] // SIDE, 0, 0, 1), *moved)
    assert len(box.outside(other, [max(0, halved)] * 2)) == (way == 2 * side - 1)


def test_far_boxes_do_not_wrap() -> None:
    far = (1 << 45) - 16
    one = paved(np.array([[far], [-far]]), np.array([[far + 3], [3 - far]]))
    assert not len(one.outside(Other(one, 0, (0,)), [0]))
    near = Paving(one.cell, one.low % SIDE, one.low % SIDE + 3)
    assert len(near.outside(Other(one, 0, (0,)), [16])) == len(near.outside(Other(one, 0, (16,)), [0])) == 2


def test_without_boxes_there_is_nothing_to_compare() -> None:
    one = paved(np.array([[1, 2]]), np.array([[3, 4]]))
    none = one.rows(slice(0, 0))
    assert len(one.outside(Other(none, 0, (0, 0)), [0, 0])) == 1
    assert not len(none.outside(Other(one, 0, (0, 0)), [0, 0]))
