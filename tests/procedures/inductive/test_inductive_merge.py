"""Fewer words for the same set."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np

from venmas.model import System
from venmas.model.invariant import Invariant
from venmas.model.system.boxes import merged_boxes
from venmas.procedures.inductive.merge import merged


def _system(tops: tuple[int, ...]) -> System:
    system = System("box")
    for name, top in zip("abc", tops, strict=True):
        system.integer(name, -1, top)
    return system


def test_merged_words_are_the_same_set() -> None:
    rng, fewer = Random(6), 0
    for _ in range(80):
        system = _system((2, 3, 1))
        rows = []
        for _ in range(rng.randint(0, 7)):
            row = [Fraction(0)] * 4
            for place in rng.sample(range(1, 4), rng.choice((1, 1, 1, 2, 3))):
                row[place] = Fraction(rng.choice((-2, -1, 1, 3)), rng.choice((1, 2)))
            row[0] = Fraction(rng.randint(-4, 4), rng.choice((1, 3)))
            rows.append(tuple(row))
        words = tuple("".join(rng.choices("01-", k=len(rows))) for _ in range(rng.randint(0, 12)))
        before = Invariant(tuple(rows), words)
        after = merged(system, before)
        for point in product(range(-1, 3), range(-1, 4), range(-1, 2)):
            assert after.holds(point) == before.holds(point)
        fewer += len(before.words) - len(after.words)
    assert fewer > 100


def test_points_of_boxes_become_boxes() -> None:
    points = np.array([*product(range(5), range(7), (0, 1)), (9, 9, 9)], dtype=np.int64)
    low, high = merged_boxes(points, points)
    assert sorted(zip(low.tolist(), high.tolist(), strict=True)) == [([0, 0, 0], [4, 6, 1]), ([9, 9, 9], [9, 9, 9])]
    low, high = merged_boxes(np.array([[0, 0], [2, 0], [0, 0]]), np.array([[3, 1], [7, 1], [3, 1]]))
    assert (low.tolist(), high.tolist()) == ([[0, 0]], [[7, 1]])
