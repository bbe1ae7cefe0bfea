"""Queries about the choices of policies in boxes of integers: the engine against enumeration in rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tests.random_queries import random_policy, random_queries
from venmas.nn import relu_network
from venmas.procedures.predicate_abstraction.states.points import shrink
from venmas.procedures.predicate_abstraction.states.policy import Policy
from venmas.procedures.predicate_abstraction.states.queries import FREE, Queries, QueryEngine


def answers(policy: Policy, queries: Queries) -> list[bool]:
    """By all points in floats64, and in rationals where two outputs are near to each other."""
    found = []
    for q in range(len(queries)):
        axes = [range(a, b + 1) for a, b in zip(queries.low[q].tolist(), queries.high[q].tolist(), strict=True)]
        points = np.array(list(product(*axes)), dtype=np.int64).reshape(-1, len(axes))
        points = points[((points @ queries.rows[q].T + queries.constants[q]) >= 0).all(1)]
        label = int(queries.label[q])
        if label == FREE:
            found.append(len(points) > 0)
            continue
        values = policy.network.evaluate(points.astype(float))
        near = np.sort(values, axis=1)[:, -2:]
        chosen = values.argmax(1)
        for row in np.flatnonzero(near[:, 1] - near[:, 0] < 1e-6).tolist():
            outputs = policy.network.evaluate_exact([Fraction(v) for v in points[row].tolist()])
            chosen[row] = outputs.index(max(outputs))
        found.append(bool((chosen == label).any()))
    return found


def checked(policy: Policy, queries: Queries, seed: int) -> None:
    engine = QueryEngine(policy, np.random.default_rng(seed))
    met, points = engine.ask(queries)
    assert met.tolist() == answers(policy, queries)
    for q in np.flatnonzero(met).tolist():
        point = points[q]
        assert (queries.low[q] <= point).all() and (point <= queries.high[q]).all()
        assert (queries.rows[q] @ point + queries.constants[q] >= 0).all()
        if queries.label[q] != FREE:
            outputs = policy.network.evaluate_exact([Fraction(v) for v in point.tolist()])
            assert outputs.index(max(outputs)) == queries.label[q]


@pytest.mark.parametrize("seed", range(12))
def test_answers_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, int(rng.integers(4, 14)), int(rng.choice([16, 32, 64, 128])), 4, ties=seed % 3 == 0)
    checked(policy, random_queries(rng, policy, 10, rows=seed % 4, most=2000), seed)


def test_exact_ties_go_to_the_lowest_label_in_boxes_that_are_cut() -> None:
    """Two labels score the same everywhere, so that the higher one is never picked and the lower one always is."""
    weight = np.ones((2, 6))
    policy = Policy(relu_network([weight], [np.zeros(2)], name="even"), range(6))
    low, high = np.zeros((2, 6), np.int64), np.full((2, 6), 3, np.int64)
    met, _ = QueryEngine(policy).ask(Queries.of(np.array([0, 1]), low, high))
    assert met.tolist() == [True, False]


def test_one_point_of_a_large_box_is_found() -> None:
    """Label 1 is picked where every input is 9 and nowhere else: one point of a million."""
    network = relu_network([np.ones((1, 6)), np.array([[0.0], [1.0]])], [np.array([-53.0]), np.array([0.5, 0.0])])
    policy = Policy(network, range(6))
    low, high = np.zeros((1, 6), np.int64), np.full((1, 6), 9, np.int64)
    met, points = QueryEngine(policy).ask(Queries.of(np.array([1]), low, high))
    assert met.tolist() == [True] and points[0].tolist() == [9] * 6
    met, _ = QueryEngine(policy).ask(Queries.of(np.array([1]), low, high - 1))
    assert met.tolist() == [False]


def test_inputs_that_are_constants_count() -> None:
    network = relu_network([np.array([[1.0, 0.0], [0.0, 1.0]])], [np.zeros(2)], name="two")
    policy = Policy(network, [0, Fraction(5, 2)])
    low, high = np.array([[0], [0]]), np.array([[9], [2]])
    met, points = QueryEngine(policy).ask(Queries.of(np.array([0, 0]), low, high))
    assert met.tolist() == [True, False] and points[0, 0] >= 3


def test_rows_shrink_boxes_and_keep_every_point() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        low = rng.integers(-4, 3, (1, 3))
        high = low + rng.integers(0, 5, (1, 3))
        rows, constants = rng.integers(-2, 3, (1, 2, 3)), rng.integers(-4, 5, (1, 2))
        a, b = shrink(low, high, rows, constants)
        for point in product(*(range(x, y + 1) for x, y in zip(low[0].tolist(), high[0].tolist(), strict=True))):
            if (rows[0] @ np.array(point) + constants[0] >= 0).all():
                assert (a[0] <= point).all() and (point <= b[0]).all()
