"""Several networks of one shape on a few boxes each, in one sweep: numpy's cost per call would dominate otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Floats
from venmas.bounds.zonotope import affine, differences, relax
from venmas.nn import Network

MOST_ROWS = 1024
"""Boxes above which networks are swept one by one: the weights of every box would take more memory than time."""


@dataclass(frozen=True, eq=False)
class Stack:
    """Weights (L, q, n) and biases (L, q) by layer, the relative error of weights, and the rows of all differences."""

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    errors: tuple[float, ...]
    relus: tuple[bool, ...]

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return int(self.weights[-1].shape[1])


@lru_cache(maxsize=64)
def stack(networks: tuple[Network, ...]) -> Stack | None:
    """Networks on top of each other; None where their shapes differ, or where they end in a ReLU."""
    first = networks[0]
    shape = [(layer.weight.shape, layer.rectified) for layer in first.layers]
    if shape[-1][1] or any([(layer.weight.shape, layer.rectified) for layer in n.layers] != shape for n in networks):
        return None
    layers = list(zip(*(n.layers for n in networks), strict=True))
    return Stack(
        tuple(np.stack([layer.weight for layer in same]) for same in layers),
        tuple(np.stack([layer.bias for layer in same]) for same in layers),
        tuple(max(layer.weight_error for layer in same) for same in layers),
        tuple(same[0].rectified for same in layers),
    )


def gaps(found: Stack, index: NDArray[np.intp], z: Floats, e: Floats) -> tuple[Floats, Floats]:
    """Forms of all differences of two outputs, row by row of the network that `index` (B,) names.

    z: (B, 1+m, n), e: (B, n) are the inputs.
    """
    last = len(found.weights) - 1
    for i in range(last):
        z, e = affine(found.weights[i][index], found.biases[i][index], found.errors[i], z, e, False)
        if found.relus[i]:
            z, e = relax(z, e)
    weight, bias = found.weights[last][index], found.biases[last][index]
    return differences(weight, bias, found.errors[last], None, z, e)
