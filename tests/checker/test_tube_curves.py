"""Tanh and sigmoid of many intervals at once: as close as those of one interval."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from venmas.checker.flowpipes.curves import lines
from venmas.checker.flowpipes.forms import Form, Forms
from venmas.checker.flowpipes.networks import apply_network
from venmas.model.evaluation.elementary.registry import FUNCTIONS
from venmas.nn import Layer, Network


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
@pytest.mark.parametrize("bits", [40, 30, 20])
def test_rising_curves_are_as_close_as_one_by_one(name: str, bits: int) -> None:
    """Where intervals are tiny, or so far from 0 that there is no slope: values at both ends."""
    rng, flat = Random(6), 0
    low = [int(rng.choice((-1, 1)) * 2.0 ** rng.uniform(0, 52)) for _ in range(200)]
    low += [rng.randint(-3 << bits, 3 << bits) for _ in range(200)]
    high = [x + rng.choice((0, 1, 63, 64, int(2.0 ** rng.uniform(0, 50)))) for x in low]
    for slope, least, most, a, b in zip(*lines(name, np.array(low), np.array(high), bits), low, high, strict=True):
        if slope:
            continue
        flat += 1
        first, last = FUNCTIONS[name].over(a, b, bits)
        assert first - 2 <= least <= most <= last + 2
    assert flat > 100


def test_saturated_units_stay_within_their_ends() -> None:
    """A unit that is next to 1 is off by roundings only, whatever symbols it has."""
    network = Network((Layer(np.array([[1.0], [20.0]]), np.zeros(2), "tanh"),))
    near, far = apply_network(network, [Form(3 << 60, (20 << 20,))], Forms(60, 1))
    assert near.size < 16 << 20 and far.size < 16 << 20
