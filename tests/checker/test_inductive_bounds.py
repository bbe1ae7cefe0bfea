"""What closes claims on many boxes at once holds at every state of them, in exact numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from random import Random

import numpy as np
import pytest

from tests.checker.finite_systems import random_network, random_system
from venmas.checker.inductive import words
from venmas.checker.inductive.batch import Batch
from venmas.checker.inductive.claims import Claims
from venmas.checker.inductive.constraints import Boxes
from venmas.checker.inductive.intervals import Intervals
from venmas.checker.inductive.words import Words
from venmas.checker.inductive.zonotopes import Enclosed, Zonotopes
from venmas.logic import TRUE
from venmas.model import System
from venmas.model.evaluation.simulate import Exact
from venmas.model.expressions.expr import ArgMax
from venmas.model.invariant import Invariant
from venmas.nn.network import Layer, Network


def _boxes(rng: Random, system: System, count: int) -> Boxes:
    ends = [
        [sorted(rng.choices(range(int(d.lower), int(d.upper) + 1), k=2)) for d in system.variables.values()]
        for _ in range(count)
    ]
    array = np.array(ends, dtype=np.int64)
    return Boxes(array[:, :, 0].copy(), array[:, :, 1].copy())


def _points(boxes: Boxes, i: int) -> list[tuple[int, ...]]:
    return list(product(*(range(a, b + 1) for a, b in zip(boxes.low[i].tolist(), boxes.high[i].tolist(), strict=True))))


def _exact(system: System, point: tuple[int, ...]) -> Exact:
    return Exact(dict(zip(system.variables, map(Fraction, point), strict=True)))


def test_values_and_truths_over_boxes_hold_at_their_points() -> None:
    rng, told = Random(8), 0
    for _ in range(60):
        system = random_system(rng)
        boxes = _boxes(rng, system, 6)
        number = {name: i for i, name in enumerate(system.variables)}
        intervals = Intervals(number, boxes)
        exprs = [e for b in system.branches for _, e in b.updates] + [system.agents[0].expr]
        for i in range(6):
            for point in _points(boxes, i):
                exact = _exact(system, point)
                for expr in exprs:
                    low, high = intervals.value(expr)
                    assert low[i] <= exact.value(expr) <= high[i]
                    told += bool(np.isfinite(low[i]))
                    if isinstance(expr, ArgMax):
                        assert intervals.winners(expr)[i, int(exact.value(expr))]
                for branch in system.branches:
                    may, may_not = intervals.truth(branch.guard)
                    assert (may if exact.truth(branch.guard) else may_not)[i]
    assert told > 1000


def test_boxes_shrink_around_the_states_that_meet_a_condition() -> None:
    rng, cut = Random(9), 0
    for _ in range(80):
        system = random_system(rng)
        claims = Claims(system, TRUE, Invariant((), ("",)))
        batch, boxes = Batch(claims), _boxes(rng, system, 6)
        for claim in (*claims.starts, *claims.steps):
            shrunk = batch.shrunk(claim, boxes)
            for i in range(6):
                meeting = [p for p in _points(boxes, i) if _exact(system, p).truth(claim.condition)]
                inside = set(_points(shrunk, i)) if shrunk.alive[i] else set()
                assert inside.issuperset(meeting)
                cut += len(_points(boxes, i)) - len(inside)
    assert cut > 1000


def test_networks_over_boxes_hold_at_their_points_whatever_is_rounded() -> None:
    rng = Random(10)
    for case in range(60):
        network = random_network(rng, 3, 4, width=6)
        if case % 3:  # numbers of all sizes, which cancel
            scale = 10.0 ** rng.choice((-200, -9, 0, 7, 12, 150))
            layers = [
                Layer(la.weight * np.exp(np.array(rng.random())) * (scale if i == 0 else 1), la.bias, la.activation)
                for i, la in enumerate(network.layers)
            ]
            if case % 2:
                layers.append(Layer.dividing([3.0, 7.0, -0.3, 1e5]))
            network = Network(tuple(layers))
        low = np.array([[rng.randint(-9, 3) for _ in range(3)] for _ in range(4)], dtype=float)
        high = low + np.array([[rng.choice((0, 0, 1, 3)) for _ in range(3)] for _ in range(4)])
        if case % 4 == 3:
            low, high = low / 3, high / 3 + 1e-9
        pairs = [(i, j) for j in range(4) for i in range(j)]
        enclosed = Enclosed(network, Zonotopes.independent(low, high))
        least, most = enclosed.differences(pairs)
        for i in range(4):
            for part in product((0, Fraction(1, 3), 1), repeat=3):
                ends = zip(low[i].tolist(), high[i].tolist(), part, strict=True)
                out = network.evaluate_exact([Fraction(a) + (Fraction(b) - Fraction(a)) * p for a, b, p in ends])
                for at, (a, b) in enumerate(pairs):
                    assert _between(least[i, at], out[a] - out[b], most[i, at])
                one = enclosed.output(2)
                assert _between(one[0][i], out[2], one[1][i])


def test_what_rounding_loses_is_part_of_the_bounds() -> None:
    """The last biases cancel the outputs as floats compute them: what is left is rounding, which bounds must hold."""
    rng, lost = np.random.default_rng(3), 0
    for case in range(120):
        sizes = [3, *[5] * (case % 3), 2]
        layers = [
            Layer(rng.normal(size=(o, i)) * 10.0 ** rng.integers(-2, 8), rng.normal(size=o), "relu")
            for i, o in pairwise(sizes)
        ]
        layers[-1] = Layer(layers[-1].weight, layers[-1].bias)
        if case % 4 == 1:
            layers.insert(0, Layer.dividing([3.0, 7.0, -0.3]))
        low = rng.integers(-9, 9, size=(1, 3)).astype(float)
        high = low.copy()
        if case % 4 == 2:
            low, high = low / 3, low / 3 + 1e-13
        network = Network(tuple(layers))
        rest = Layer(np.eye(2), -network.evaluate(low[0]))
        for end in (network, Network((*layers[:-1], Layer(layers[-1].weight, layers[-1].bias + rest.bias)))):
            enclosed = Enclosed(end, Zonotopes.independent(low, high))
            (least,), (most,) = (ends[0] for ends in enclosed.differences([(0, 1)]))
            first, second = enclosed.output(0), enclosed.output(1)
            for point in (low[0], high[0]):
                out = end.evaluate_exact([Fraction(v) for v in point.tolist()])
                assert _between(least, out[0] - out[1], most)
                assert _between(first[0][0], out[0], first[1][0]) and _between(second[0][0], out[1], second[1][0])
                lost += Fraction(float(end.evaluate(point)[0])) != out[0]
    assert lost > 100


def _between(low: float, value: Fraction, high: float) -> bool:
    return not low > value and not high < value  # infinite, or no number: says nothing


def test_words_are_matched_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    for kinds, look_up in product((1, 3, 40), (0, 1 << 18)):
        monkeypatch.setattr(words, "_LOOK_UP", look_up)
        masks = rng.random((kinds, 9)) < 0.7
        mask = masks[rng.integers(kinds, size=60)]
        bits = rng.random((60, 9)) < 0.5
        true, false = mask & bits, mask & ~bits
        decided, value = rng.random((300, 9)) < 0.9, rng.random((300, 9)) < 0.5
        rows = decided & value, decided & ~value
        expected = [
            any((t <= rows[0][i]).all() and (f <= rows[1][i]).all() for t, f in zip(true, false, strict=True))
            for i in range(300)
        ]
        assert Words(true, false).cover(*rows).tolist() == expected
        assert sum(expected) > 10
    assert not Words(true[:0], false[:0]).cover(*rows).any()
    assert Words(np.zeros((1, 9), bool), np.zeros((1, 9), bool)).cover(*rows).all()
