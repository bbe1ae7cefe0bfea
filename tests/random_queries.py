"""Random queries about the choice of a policy in a box of integers, and their answers by enumeration."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from venmas.nn import Network, relu_network
from venmas.procedures.predicate_abstraction.states.policy import Policy
from venmas.procedures.predicate_abstraction.states.queries import FREE, Queries

Ints = NDArray[np.int64]
MOST = 4096
"""Points of a box that is enumerated."""


def random_policy(rng: np.random.Generator, inputs: int, width: int, labels: int, ties: bool) -> Policy:
    """A policy of two hidden layers; ties: weights are small multiples of 1/2, and two labels have equal scores."""
    sizes = (inputs, width, width, labels)
    if ties:
        weights = [rng.integers(-2, 3, (m, n)) / 2.0 for n, m in pairwise(sizes)]
        biases = [rng.integers(-4, 5, m) / 2.0 for m in sizes[1:]]
        weights[-1][labels - 1], biases[-1][labels - 1] = weights[-1][0], biases[-1][0]
    else:
        weights = [rng.normal(0, (2 / n) ** 0.5, (m, n)) for n, m in pairwise(sizes)]
        biases = [rng.normal(0, 0.5, m) for m in sizes[1:]]
    network: Network = relu_network(weights, biases, name="random")
    return Policy(network, range(inputs))


def random_queries(rng: np.random.Generator, policy: Policy, count: int, rows: int, most: int = MOST) -> Queries:
    """Queries over boxes of at most `most` points, each with up to `rows` rows."""
    n = len(policy.inputs)
    low = rng.integers(-8, 9, (count, n))
    high = low.copy()
    for q in range(count):
        size, target = 1, int(rng.integers(1, most + 1))
        for v in rng.permutation(n).tolist():
            width = int(rng.integers(1, 17))
            if size * width <= target:
                size *= width
                high[q, v] += width - 1
    kept = (rng.random((count, rows, n)) < 3 / n) * (rng.random((count, rows, 1)) < 0.7)
    matrix: Ints = rng.integers(-3, 4, (count, rows, n)) * kept
    constants: Ints = -(matrix @ ((low + high) // 2)[:, :, None])[:, :, 0] + rng.integers(-3, 4, (count, rows)) * (
        matrix != 0
    ).any(2)
    constants = np.where((matrix != 0).any(2), constants, 0)
    label = rng.integers(-1 if rows else 0, policy.labels, count)
    return Queries(np.where(label < 0, FREE, label), low, high, matrix, constants)
