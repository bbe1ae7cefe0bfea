"""Simpler ranks: the same function where nothing is rounded, and right on all samples where something is."""

from __future__ import annotations

from tests.needs import needs

needs("venmas_learners")

import random

import numpy as np
import pytest
from venmas_learners.dense import Dense, Layer
from venmas_learners.simpler import Ranks, simpler

WIDTHS = (8, 1)
STATES = np.array([[cnt, low] for cnt in range(256) for low in (0, 1)])


def layer(rows: list[list[int]], biases: list[int], top: int) -> Layer:
    return Layer(np.array(rows, dtype=object), np.array(biases, dtype=object), np.full(len(rows), top, dtype=object))


def drawn(rng: random.Random) -> Dense:
    """A rank of two registers with units that nothing reads, constant ones, and some that fall."""

    def whole(*shape: int) -> np.ndarray:
        size = int(np.prod(shape))
        return np.array([rng.choice([0, rng.randint(-40, 40)]) for _ in range(size)], dtype=object).reshape(shape)

    sizes = [(5, 2, 900), (3, 5, 7000)]
    layers = tuple(Layer(whole(n, m), 9 * whole(n), np.full(n, top, dtype=object)) for n, m, top in sizes)
    return Dense(layers, whole(3), rng.randint(-9, 9))


@pytest.mark.parametrize("seed", range(20))
def test_what_may_not_change_a_value_changes_none(seed: int) -> None:
    rank = drawn(random.Random(seed))
    values = rank.values(STATES)
    found = simpler({0: rank}, lambda tried: bool((tried[0].values(STATES) == values).all()), WIDTHS)[0]
    assert (found.values(STATES) == values).all()
    assert (np.sign(found.layers[0].weights) @ WIDTHS >= 0).all()
    assert sum(layer.weights.size for layer in found.layers) <= sum(layer.weights.size for layer in rank.layers)


def falls(tried: Ranks) -> bool:
    """Every step from cnt to cnt + 1 (below 200), whatever the bit."""
    before = STATES[STATES[:, 0] < 200]
    return bool((tried[0].values(before) - 1 >= tried[0].values(before + np.array([1, 0]))).all())


def test_a_counter_is_ranked_by_itself() -> None:
    first = layer([[-3, 0], [7, 1]], [1011, 5], 4096)
    second = layer([[24, 0], [1, 0]], [77, 999], 65536)
    rank = Dense((first, second), np.array([134, -3], dtype=object), 61343264)
    assert falls({0: rank})
    found = simpler({0: rank}, falls, WIDTHS)[0]
    assert falls({0: found})
    assert [layer.weights.shape for layer in found.layers] == [(1, 2), (1, 1)]
    assert all(abs(int(w)) <= 2 for w in (*found.layers[0].weights.ravel(), *found.layers[1].weights.ravel()))
    assert found.weights.tolist() == [-1] and found.constant == 0
