"""The first forms of sets in batches hold all their points, to the last unit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from venmas.checker.covers.batch.course import boxed, parted
from venmas.checker.covers.batch.forms import Forms
from venmas.checker.covers.grid import Starts

UNITS = (48, 40, 32)


@pytest.mark.parametrize("bits", UNITS)
def test_boxes_of_coordinates(bits: int) -> None:
    rng, one = np.random.default_rng(bits), 1 << bits
    for _ in range(100):
        n, size = int(rng.integers(1, 4)), 5
        factors = rng.integers(-(10**9), 10**9, size=(2, n)).tolist()
        columns = tuple(tuple(Fraction(f, 3**20 * 2**k) for k, f in enumerate(line)) for line in factors)
        low = rng.integers(-(1 << 10), 1 << 10, size=(size, n))
        high = low + rng.integers(0, 9, size=(size, n))
        forms = boxed(("a", "b"), columns, low, high)(Forms(size, bits, 0))
        for row, ends in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            shares = [Fraction(float(s)) for s in rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], n)]
            at = [(a + b + (b - a) * s) / 2 for a, b, s in zip(*ends, shares, strict=True)]
            for column, form in zip(columns, forms.values(), strict=True):
                c, *g = form.z[row].tolist()
                off = sum(map(Fraction.__mul__, column, at)) * one - c - sum(map(Fraction.__mul__, shares, g))
                assert abs(off) <= sum(map(abs, g[n:])) + int(form.e[row]) <= 2000


@pytest.mark.parametrize("bits", UNITS)
def test_parts_of_initial_sets(bits: int) -> None:
    parts = Starts([[(Fraction(1, 3), Fraction(1, 3)), (Fraction(-1, 7), Fraction(2, 7))]], [[1, 5]])
    low, one = np.array([[0, 3], [0, 17], [0, 40]]), 1 << bits
    high = low + np.array([[0, 1]])
    forms = parted(("a", "b"), parts, np.zeros(3, dtype=np.int64), low, high, 1)(Forms(3, bits, 0))
    for row, sides in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        for axis, form in enumerate(forms.values()):
            first, last = (parts.at(0, axis, side[axis], 1) * one for side in sides)
            assert first - 2 <= form.ends[0][row] <= first and last <= form.ends[1][row] <= last + 2
