"""Attacks on queries along gradients: slopes beside differences, and what only they find."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from venmas.budget import Budget
from venmas.engine.query.attack import Attack
from venmas.engine.query.slopes import Goals
from venmas.formats.vnnlib.query import Case, Query
from venmas.formats.vnnlib.reader import parse_vnnlib
from venmas.logic.formula import Atom
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.nn import Network, relu_network
from venmas.nn.network import Activation, Layer

WIDE = 40


def asked(inputs: int, outputs: int, condition: str) -> Query:
    names = "".join(f"(declare-const X_{i} Real)" for i in range(inputs))
    names += "".join(f"(declare-const Y_{i} Real)" for i in range(outputs))
    ends = "".join(f"(assert (<= X_{i} 1)) (assert (>= X_{i} -1))" for i in range(inputs))
    return parse_vnnlib(f"{names} {ends} (assert {condition})")


def network(activation: Activation, seed: int = 3) -> Network:
    rng = np.random.default_rng(seed)
    sizes = [3, 7, 6, 2]
    layers = [Layer(rng.normal(size=(b, a)), rng.normal(size=b), activation) for a, b in pairwise(sizes[:3])]
    return Network((*layers, Layer.dividing(np.arange(2.0, 8.0)), Layer(rng.normal(size=(2, 6)), np.ones(2))))


def check(goals: Goals, inputs: int) -> None:
    """Slopes beside central differences, away from kinks: these hit one of a hundred points or fewer."""
    x = np.random.default_rng(0).uniform(-1, 1, (200, inputs))
    for g in range(len(goals.goals)):
        which, plain = np.full(len(x), g), np.zeros(len(x), dtype=bool)
        margin, slope = goals.slope(x, which, plain)
        assert (margin > 0).all()
        for i in range(inputs):
            step = np.eye(inputs)[i] * 1e-6
            two = [goals.slope(x + sign * step, which, plain)[0] for sign in (1, -1)]
            close = np.isclose((two[0] - two[1]) / 2e-6, slope[:, i], rtol=1e-4, atol=1e-4)
            assert close.mean() > 0.98


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
@pytest.mark.parametrize(
    "condition",
    [
        "(and (>= Y_0 (+ Y_1 50.0)) (<= Y_1 (+ X_2 (- 70.0))))",
        "(or (and (>= X_1 40.0) (<= Y_0 (- 60.0))) (>= Y_1 (* 3.0 (+ X_0 30.0))))",
        "(and (or (>= Y_0 70.0) (< Y_1 (- 80.0))) (= X_0 (+ Y_1 99.0)))",
    ],
)
def test_slopes_are_those_of_differences(activation: Activation, condition: str) -> None:
    check(Goals([network(activation)], asked(3, 2, condition)), 3)


def test_slopes_of_products_of_two_networks_are_those_of_differences() -> None:
    first = LinearExpr.of({"X_4": Fraction(1)}), LinearExpr.of({"Y_1": Fraction(1)}, 2)
    second = LinearExpr.of({"P_0": Fraction(1)}, 1), LinearExpr.of({"Y_2": Fraction(1), "X_4": Fraction(-1)})
    total = LinearExpr.of({"P_1": Fraction(3), "P_0": Fraction(1), "Y_3": Fraction(1)}, 9999)
    condition = Atom(Comparison(total, Relation.LE))
    case = Case((((Fraction(-1), Fraction(1)),) * 6,), condition)
    query = Query(6, 4, condition, (case,), products=(first, second))
    check(Goals([network("tanh"), network("relu", 5)], query), 6)


def test_hinges_add_up_what_is_missed() -> None:
    parts = ["(>= Y_0 50.0)", "(<= Y_1 (- 60.0))", "(<= X_0 2.0)"]
    x = np.random.default_rng(0).uniform(-1, 1, (20, 3))
    every, first = np.ones(20, dtype=bool), np.zeros(20, dtype=np.intp)
    alone = [Goals([network("tanh")], asked(3, 2, part)).slope(x, first, every)[1] for part in parts[:2]]
    both = Goals([network("tanh")], asked(3, 2, f"(and {' '.join(parts)})")).slope(x, first, every)[1]
    assert np.allclose(both, alone[0] + alone[1])


def deep(condition: str) -> Query:
    return asked(WIDE, 2, condition)


def narrow() -> Network:
    """Y_0 is large in one corner of 40 inputs, which random points are far from; Y_1 is nowhere above 1/2."""
    signs = np.where(np.random.default_rng(1).random(WIDE) < 0.5, 1.0, -1.0)
    return relu_network(
        [np.stack([signs, signs]), np.array([[1.0, 0.0], [0.0, 0.0]])],
        [np.array([-0.8 * WIDE + 16.0, 0.0]), np.array([0.0, 0.49])],
    )


@pytest.mark.parametrize("condition", ["(>= Y_0 23.5)", "(or (>= Y_1 0.5) (>= Y_0 23.5))"])
def test_a_corner_of_many_inputs_is_found_beside_a_nearer_disjunct(condition: str) -> None:
    query, net = deep(condition), narrow()

    def shown(point: tuple[Fraction, ...]) -> tuple[Fraction, ...] | None:
        outputs = net.evaluate_exact(point)
        return outputs if query.holds(query.at(point, outputs)) else None

    hit = Attack([net], query, shown).run(Budget(None), 20.0)
    assert hit is not None and query.holds(query.at(*hit))


def test_the_closest_miss_is_kept() -> None:
    query, net = deep("(and (>= Y_0 25.0) (<= X_0 1.0))"), narrow()
    attack = Attack([net], query, lambda point: None)
    assert attack.run(Budget(None), 0.3) is None
    missed, point = attack.miss
    assert 1.0 <= missed < 1.5 and missed == pytest.approx(25 - net.evaluate(np.array(point))[0])


def test_boxes_without_a_number_of_single_precision_are_not_attacked() -> None:
    names = "(declare-const X_0 Real) (declare-const Y_0 Real)"
    query = parse_vnnlib(f"{names} (assert (<= X_0 0.1)) (assert (>= X_0 0.1)) (assert (>= Y_0 0.0))")
    attack = Attack([relu_network([[[1.0]]], [[0.0]])], query, lambda point: None)
    budget = Budget(None)
    assert attack.run(budget, 60.0) is None and budget.spent < 10
