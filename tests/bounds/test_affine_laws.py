"""Affine laws of policies: against exact choices at sampled inputs and at both sides of where these change."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from venmas.bounds.affine import laws as affine_laws
from venmas.bounds.affine.laws import Law, Laws
from venmas.bounds.rounding import Floats
from venmas.nn import Network, relu_network


def policy(rng: np.random.Generator, inputs: int, levels: int) -> tuple[Network, Floats]:
    """A rounded linear law with levels in [-1, 1], and some noise in its weights: max of lines, through ReLUs."""
    actions = np.linspace(-1, 1, levels)
    gain = rng.normal(size=inputs)
    first = np.concatenate([gain[None], -gain[None], rng.normal(size=(3, inputs))])
    last = np.concatenate([actions[:, None], -actions[:, None], 0.1 * rng.normal(size=(levels, 3))], 1)
    return relu_network([first, last], [np.zeros(5), -(actions**2) / 2], name="policy"), actions


def left(law: Law, actions: Floats, network: Network, y: Floats) -> Fraction:
    """What the law leaves of the choice at y, exactly."""
    exact = [Fraction(value) for value in y.tolist()]
    scores = network.evaluate_exact(exact)
    line = sum((Fraction(k) * v for k, v in zip(law.gain.tolist(), exact, strict=True)), Fraction(law.constant))
    return Fraction(float(actions[scores.index(max(scores))])) - line


@pytest.mark.parametrize("seed", range(12))
def test_laws_hold_of_exact_choices(seed: int) -> None:
    """Inputs of a set, in and at its corners, and around switches between them; what is left is no more than needed."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    network, actions = policy(rng, n, int(rng.integers(2, 6)))
    centre, moves = rng.normal(size=n), rng.normal(size=(n, n + 3)) * rng.uniform(0.01, 0.4)
    radii = rng.uniform(0, 0.02, n)
    laws = Laws(network, actions)
    law = laws.of(centre, moves, radii)
    assert law is not None and law.part(centre, moves, radii) <= 1
    s = rng.uniform(-1, 1, (120, n + 3))
    s[:60] = np.sign(s[:60])
    points = centre + s @ moves.T + rng.uniform(-1, 1, (120, n)) * radii
    for a, b in pairwise(points[::2].copy()):
        near, far = a, b
        for _ in range(40):
            middle = (near + far) / 2
            same = network.evaluate(middle[None]).argmax() == network.evaluate(near[None]).argmax()
            near, far = (middle, far) if same else (near, middle)
        points = np.concatenate([points, near[None], far[None]])
    found = [left(law, actions, network, y) for y in points]
    assert Fraction(law.low) <= min(found) and max(found) <= Fraction(law.high)
    # not by being wide: it is less than twice what the samples leave, or than the hull of all actions
    assert law.high - law.low <= max(2 * float(max(found) - min(found)), 0.5)


@pytest.mark.parametrize("seed", [0, 2, 3, 5, 6])
def test_pieces_that_leave_most_are_halved_first(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too few pieces for all of a region of five inputs, no part of it is left as wide as at first."""
    monkeypatch.setattr(affine_laws, "_PIECES", 4096)
    rng = np.random.default_rng(seed)
    network, actions = policy(rng, 5, 5)
    centre, moves = 0.1 * rng.normal(size=5), 0.3 * rng.normal(size=(5, 8))
    law = Laws(network, actions).of(centre, moves, np.zeros(5))
    assert law is not None
    s = rng.uniform(-1, 1, (20_000, 8))
    s[:10_000] = np.sign(s[:10_000]) * rng.uniform(0.5, 1, (10_000, 1))
    y = centre + s @ moves.T
    rest = actions[network.evaluate(y).argmax(1)] - y @ law.gain - law.constant
    assert law.low <= rest.min() and rest.max() <= law.high
    # 1.5 to 1.7 times; it would be 2.2 to 2.5 times if the last pieces were halved first
    assert law.high - law.low <= 1.9 * float(np.ptp(rest))


def test_a_region_is_used_again_inside_and_not_beyond() -> None:
    """A set a little smaller has the same law, a far smaller one a law of its own, and one outside is not in it."""
    network, actions = policy(np.random.default_rng(3), 2, 5)
    laws, still = Laws(network, actions), np.zeros(2)
    first = laws.of(still, 0.5 * np.eye(2), still)
    assert first is not None and laws.of(still, 0.45 * np.eye(2), still) is first
    smaller = laws.of(still, 0.01 * np.eye(2), still)
    assert smaller is not None and smaller is not first and smaller.high - smaller.low <= first.high - first.low
    assert first.part(np.array([5.0, 0.0]), 0.5 * np.eye(2), still) == np.inf
    assert laws.of(np.full(2, np.nan), np.eye(2), still) is None
