"""Affine forms bound what they claim to, rounding included: checked in rationals at random points."""

from fractions import Fraction
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venmas.bounds import linear_forms
from venmas.bounds.linear_forms import Quantity, affine, constant, finite, join, relu, settle
from venmas.bounds.methods import METHODS, beaten
from venmas.nn import relu_network

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False, width=32).map(float)
POINT = st.lists(st.floats(-1, 1).map(Fraction), min_size=2, max_size=2)


def form(coefficients: list[float]) -> np.ndarray:
    return np.array([coefficients])


@st.composite
def quantities(draw: st.DrawFn) -> Quantity:
    low = draw(st.lists(NUMBERS, min_size=3, max_size=3))
    gap = draw(st.floats(0, 10))
    return settle(form(low), form([low[0] + gap, *low[1:]]))


def at(coefficients: np.ndarray, point: list[Fraction]) -> Fraction:
    exact = [Fraction(float(c)) for c in coefficients[0]]
    return exact[0] + sum((c * s for c, s in zip(exact[1:], point, strict=True)), Fraction(0))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.fractions(-5, 5, max_denominator=97), quantities()), min_size=1, max_size=4),
    st.fractions(),
    POINT,
)
def test_affine_encloses_the_exact_combination(
    terms: list[tuple[Fraction, Quantity]], offset: Fraction, point: list[Fraction]
) -> None:
    total = affine(terms, offset)
    least = offset + sum((c * at(q.low if c > 0 else q.upp, point) for c, q in terms), Fraction(0))
    most = offset + sum((c * at(q.upp if c > 0 else q.low, point) for c, q in terms), Fraction(0))
    assert at(total.low, point) <= least <= most <= at(total.upp, point)
    assert Fraction(float(total.lo[0])) <= least
    assert most <= Fraction(float(total.hi[0]))


@settings(max_examples=200, deadline=None)
@given(quantities(), POINT, st.floats(0, 1))
def test_relu_encloses(q: Quantity, point: list[Fraction], share: float) -> None:
    low, upp = relu(q.low, q.upp, q.lo, q.hi)
    below, above = at(q.low, point), at(q.upp, point)
    value = max(Fraction(0), below + (above - below) * Fraction(share))
    assert at(low, point) <= value <= at(upp, point)


@settings(max_examples=200, deadline=None)
@given(st.lists(quantities(), min_size=1, max_size=4), POINT, st.data())
def test_join_encloses_every_possible_case(cases: list[Quantity], point: list[Fraction], data: st.DataObject) -> None:
    chosen = data.draw(st.integers(0, len(cases) - 1))
    mask = np.array([[i == chosen or data.draw(st.booleans()) for i in range(len(cases))]])
    with patch.object(linear_forms, "_CANDIDATES", data.draw(st.sampled_from([1, 2, 32]))):
        hull = join(cases, mask)
    for case, possible in zip(cases, mask[0], strict=True):
        if possible:
            assert at(hull.low, point) <= at(case.low, point)
            assert at(case.upp, point) <= at(hull.upp, point)
            assert hull.lo[0] <= case.lo[0]
            assert case.hi[0] <= hull.hi[0]


def test_a_rational_between_two_floats_is_enclosed() -> None:
    third = constant(Fraction(1, 3), 1, 0)
    assert Fraction(float(third.lo[0])) < Fraction(1, 3) < Fraction(float(third.hi[0]))


def test_values_outside_the_interval_are_dropped() -> None:
    q = finite(settle(form([0.0]), form([2.5])), (Fraction(0), Fraction(1), Fraction(3)), np.ones((1, 3), dtype=bool))
    assert q.possible is not None
    assert q.possible.tolist() == [[True, True, False]]
    assert (q.lo[0], q.hi[0]) == (0, 1)


def test_a_tie_is_won_by_the_lower_index() -> None:
    hi = np.zeros((1, 2, 2))
    assert beaten(hi).tolist() == [[True, False]]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sizes", [(2, 4, 3), (2, 6, 6, 2)])
@pytest.mark.parametrize("scale", [1.0, 1e7])
def test_networks_are_enclosed_exactly(method: str, sizes: tuple[int, ...], scale: float) -> None:
    rng = np.random.default_rng(len(sizes))
    for _ in range(20):
        weights = [rng.normal(size=(n, m)) * scale for m, n in pairwise(sizes)]
        network = relu_network(weights, [rng.normal(size=n) for n in sizes[1:]])
        roots = 2 if METHODS[method].uses_roots else 0
        inputs, centre, radius = [], rng.normal(size=2), rng.uniform(0, 1, size=2)
        for i in range(2):
            low, upp = np.zeros((1, roots + 1)), np.zeros((1, roots + 1))
            low[0, 0] = upp[0, 0] = centre[i]
            if roots:
                low[0, 1 + i] = upp[0, 1 + i] = radius[i]
            else:
                low[0, 0], upp[0, 0] = centre[i] - radius[i], centre[i] + radius[i]
            inputs.append(settle(low, upp))
        activations = METHODS[method].propagate(network, inputs)
        outputs = [activations.output(i) for i in range(sizes[-1])]
        winners = activations.winners()[0]
        for s in rng.uniform(-1, 1, size=(30, 2)):
            x = [Fraction(centre[i]) + Fraction(radius[i]) * Fraction(s[i]) for i in range(2)]
            y = network.evaluate_exact(x)
            assert winners[y.index(max(y))]
            for value, q in zip(y, outputs, strict=True):
                assert Fraction(float(q.lo[0])) <= value <= Fraction(float(q.hi[0]))
                if roots:
                    point = [Fraction(v) for v in s]
                    assert at(q.low, point) <= value <= at(q.upp, point)
