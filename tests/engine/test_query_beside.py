"""Networks side by side: one network computes what each of several of different depth does, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from venmas.engine.query.beside import side_by_side
from venmas.errors import UsageError
from venmas.nn import Network
from venmas.nn.network import Layer

RNG = np.random.default_rng(4)


def network(kinds: str, inputs: int) -> Network:
    """Of layers with ReLU (r), linear ones (l) or ones with tanh (t)."""
    sizes = [inputs, *RNG.integers(1, 4, len(kinds)).tolist()]
    layers = [
        Layer(RNG.normal(size=(b, a)), RNG.normal(size=b), {"r": "relu", "l": "linear", "t": "tanh"}[kind])
        for a, b, kind in zip(sizes, sizes[1:], kinds, strict=False)
    ]
    return Network(tuple(layers), kinds)


@pytest.mark.parametrize(
    "kinds",
    [("rl", "rl"), ("rl", "rrl"), ("l", "rrl"), ("rl", "lrl", "rrr"), ("rlrl", "llr"), ("l", "r"), ("lrrl", "rlllrrl")],
)
def test_values_are_carried_exactly(kinds: tuple[str, ...]) -> None:
    networks = [network(own, 2) for own in kinds]
    joint = Network(tuple(side_by_side(networks)), "joint")
    for x in RNG.normal(size=(20, 2 * len(networks))):
        point = [Fraction(v) for v in x]
        parts = [own.evaluate_exact(point[2 * i : 2 * i + 2]) for i, own in enumerate(networks)]
        assert joint.evaluate_exact(point) == tuple(v for part in parts for v in part)


def test_equal_layers_need_no_others() -> None:
    assert [layer.out_size for layer in side_by_side([Network((Layer([[1.0]], [0.0], "relu"),), "f")] * 3)] == [3]


def test_tanh_needs_a_counterpart() -> None:
    f, g = network("tl", 1), network("tl", 1)
    assert [layer.activation for layer in side_by_side([f, g])] == ["tanh", "linear"]
    for other in ("rl", "tltl"):
        with pytest.raises(UsageError, match="expected tanh layers at the same places"):
            side_by_side([f, network(other, 1)])
    with pytest.raises(UsageError, match="divides by constants"):
        side_by_side([f, Network((Layer.dividing([3.0]),), "third")])
