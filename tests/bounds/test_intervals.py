"""Interval arithmetic through layers: exact values lie inside, up to the least floats and the greatest."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from venmas.bounds.intervals import intervals
from venmas.model.transform.program import Program, layer_of


@pytest.mark.parametrize("seed", range(40))
def test_exact_values_lie_between_the_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = Fraction(10) ** int(rng.choice([0, 0, -40, 40, -160]))

    def number() -> Fraction:
        return Fraction(int(rng.integers(-900, 901)), int(rng.choice([1, 3, 8, 700]))) * scale

    sizes = [3, *rng.integers(1, 6, int(rng.integers(1, 6))).tolist()]
    layers = []
    for n, k in pairwise(sizes):
        rows = [({j: number() for j in range(n) if rng.random() < 0.8}, number(), rng.random() < 0.5) for _ in range(k)]
        layers.append(layer_of(rows, n))
    low = [float(number()) for _ in range(3)]
    high = [a + (0.0 if rng.random() < 0.3 else abs(float(number()))) for a in low]
    with np.errstate(all="ignore"):
        found = intervals(layers, np.array(low), np.array(high))
    program = Program(("x", "y", "z"), (), (), {}, (), tuple(layers), (), (), (), (), ())
    parts = [[Fraction(int(p), 4) for p in rng.integers(0, 5, 3)] for _ in range(20)]
    for part in parts:
        x = [Fraction(a) + p * (Fraction(b) - Fraction(a)) for a, b, p in zip(low, high, part, strict=True)]
        for values, (least, most) in zip(program.values(x), found[1:], strict=True):
            for v, a, b in zip(values, least.tolist(), most.tolist(), strict=True):
                assert not v < a
                assert not v > b
