"""Networks side by side, as the layers of one network; shorter ones carry their values past the layers of longer ones.

What is carried stays exact: a value that may be negative passes ReLU as ``x = relu(x) - relu(-x)``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from venmas.errors import UsageError
from venmas.nn import Network
from venmas.nn.network import Activation, Array, Layer


def side_by_side(networks: Sequence[Network]) -> list[Layer]:
    """The layers of all networks, inputs and outputs one after the other.

    Raises `UsageError` for divisions, and for tanh or sigmoid layers that have no counterpart in another network.
    """
    if any(layer.divisor is not None for network in networks for layer in network.layers):
        raise UsageError(f"{_named(networks)}: one divides by constants: multiply by their reciprocals")
    tracks, layers = [_Track(network) for network in networks], []
    while heads := {track.left[0].activation for track in tracks if track.left}:
        kind = next((kind for kind in ("relu", "linear") if kind in heads), min(heads))
        if kind not in ("relu", "linear") and (len(heads) > 1 or not all(track.left for track in tracks)):
            raise UsageError(
                f"{_named(networks)}: values pass layers of ReLU and linear ones only: expected {kind} layers at the "
                "same places in each; write them so"
            )
        layers.append(_joined([track.step(kind) for track in tracks], kind))
    if any(track.split for track in tracks):
        layers.append(_joined([track.whole() for track in tracks], "linear"))
    return layers


def _named(networks: Sequence[Network]) -> str:
    return f"the networks {', '.join(map(repr, networks))} do not go side by side"


class _Track:
    """A network on its way: the layers that are left, and the values that it has now.

    split: they are there as positive parts, and negative parts after them. positive: none is negative.
    """

    def __init__(self, network: Network) -> None:
        self.left, self.size = list(network.layers), network.input_size
        self.split = self.positive = False

    def step(self, kind: Activation) -> tuple[Array, Array]:
        """Weight and bias of its part of a layer of this kind: its own next one, or one that carries the values."""
        if self.left and self.left[0].activation == kind:
            layer = self.left.pop(0)
            weight = np.hstack([layer.weight, -layer.weight]) if self.split else layer.weight
            self.size, self.split, self.positive = layer.out_size, False, kind == "relu"
            return weight, layer.bias
        weight = np.eye(2 * self.size if self.split else self.size)
        if kind == "relu" and not (self.split or self.positive):
            weight, self.split = np.vstack([weight, -weight]), True
        return weight, np.zeros(len(weight))

    def whole(self) -> tuple[Array, Array]:
        """Weight and bias of its values in one piece."""
        eye = np.eye(self.size)
        return np.hstack([eye, -eye]) if self.split else eye, np.zeros(self.size)


def _joined(parts: Sequence[tuple[Array, Array]], kind: Activation) -> Layer:
    weight = np.zeros((sum(len(bias) for _, bias in parts), sum(own.shape[1] for own, _ in parts)))
    row = column = 0
    for own, _ in parts:
        weight[row : row + len(own), column : column + own.shape[1]] = own
        row, column = row + len(own), column + own.shape[1]
    return Layer(weight, np.concatenate([bias for _, bias in parts]), kind)
