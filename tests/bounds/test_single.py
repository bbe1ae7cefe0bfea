"""Float32 evaluations of small networks, every order of summation enumerated, stay within the error that is derived."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations, product
from math import prod

import numpy as np
import pytest

from venmas.bounds.single import deployed
from venmas.nn import Network, relu_network

F = np.float32


def sums(weights: np.ndarray, bias: float, x: tuple[float, ...], zero: float) -> set[float]:
    """Values of ``w x + b`` in float32: orders of all terms, fused or not; below `zero`, flushed to 0."""

    def kept(value: float) -> float:
        rounded = float(F(value))
        return 0.0 if abs(rounded) < zero else rounded

    found = set()
    terms = [(float(F(w)), v) for w, v in zip(weights, x, strict=True)]
    for order in permutations([*terms, (1.0, bias)]):
        for fused in (False, True):
            total = 0.0
            for w, v in order:
                total = kept((w * v if fused else kept(w * v)) + total)
            found.add(total)
    return found


def evaluations(network: Network, point: list[float], zero: float) -> list[set[float]] | None:
    """All outputs that these orders give, each unit with an order of its own; None where they are too many."""
    units = [{float(F(v))} for v in point]
    for layer in network.layers:
        if prod(map(len, units)) > 40 or layer.divisor is not None:
            return None
        new: list[set[float]] = []
        for row, bias in zip(layer.weight, layer.bias, strict=True):
            values = {s for x in product(*units) for s in sums(row, float(F(bias)), x, zero)}
            new.append({max(v, 0.0) for v in values} if layer.rectified else values)
        units = new
    return units


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_order_of_summation_is_within_the_error() -> None:
    rng, compared = np.random.default_rng(5), 0
    for number in range(60):
        scale = [1.0, 1 / 3, 3e-38, 7e12][number % 4]
        zero = [0.0, 2.0**-126][number % 8 // 4]
        weights = [rng.normal(size=shape) * s for shape, s in (((3, 2), scale), ((2, 3), 1.0))]
        weights[1] = np.round(weights[1] * 4) / 4 if number % 3 else weights[1]
        network = relu_network([w.tolist() for w in weights], [[0.1 * scale, 0.0, -0.3 * scale], [0.0, 0.7]])
        centre, radius = rng.uniform(-3, 3, 2), rng.choice([0.0, 0.01, 1.0])
        found = deployed(network, centre[None] - radius, centre[None] + radius)
        for point in (centre, centre - radius, centre + radius):
            exact = network.evaluate_exact([Fraction(v) for v in point.tolist()])
            ends = zip(exact, found.low[0], found.high[0], strict=True)
            assert all(Fraction(float(low)) <= y <= Fraction(float(high)) for y, low, high in ends)
            outputs = evaluations(network, point.tolist(), zero)
            if outputs is None:
                continue
            compared += 1
            for y, values, error in zip(exact, outputs, found.error[0], strict=True):
                assert all(abs(Fraction(v) - y) <= Fraction(float(error)) for v in values)
    assert compared >= 100


def test_the_error_is_near_what_happens_and_not_a_product_of_norms() -> None:
    rng = np.random.default_rng(0)
    sizes = [2, *[40] * 5, 1]
    weights = [rng.normal(0, (2 / m) ** 0.5, (n, m)) for m, n in pairwise(sizes)]
    network = relu_network([w.tolist() for w in weights], [[0.0] * len(w) for w in weights])
    x = rng.uniform(-1, 1, (200, 2))
    error = deployed(network, x - 0.001, x + 0.001).error
    norms = 2.0**-24 * np.linalg.multi_dot([np.abs(w) for w in weights[::-1]]).sum()
    assert np.median(error) < 0.05 * norms
    moved = np.abs(network.evaluate_float32(x) - network.evaluate(x))
    assert (moved <= error).all() and np.median(moved / error) > 1e-4


def test_overflow_and_other_operations_have_no_error() -> None:
    box = np.array([[1.0]]), np.array([[2.0]])
    assert deployed(relu_network([[[1e38]], [[1.0]]], [[0.0], [0.0]]), *box).error[0, 0] == np.inf
    assert deployed(relu_network([[[1e20]], [[1e20]]], [[0.0], [0.0]]), *box).error[0, 0] == np.inf
    assert deployed(relu_network([[[1e20]], [[1e-20]]], [[0.0], [0.0]]), *box).error[0, 0] < 1e-5


def test_a_unit_whose_sign_is_open_passes_on_what_another_cancels() -> None:
    # h = 4096 (a - b) is off by the rounding of a and b; y = max(h, 0) - max(h - 1, 0) moves with h where h < 1 only
    first, second = [[4096.0, -4096.0]], [[1.0], [1.0]]
    network = relu_network([first, second, [[1.0, -1.0]]], [[2.0], [-2.0, -3.0], [0.0]])
    low, high = np.array([[0.5001, 0.5]]), np.array([[0.5004, 0.5]])
    error = deployed(network, low, high).error[0, 0]
    points = np.random.default_rng(0).uniform(low, high, (1000, 2))
    moved = np.abs(network.evaluate_float32(points) - network.evaluate(points)).max()
    assert 1e-5 < moved <= error < 1e-2
