"""Distance of float32 evaluations of a network from its real function, over boxes of inputs.

A float32 evaluation, of any order of summation, fused or not, with gradual underflow or flush to zero, is the network
with each pre-activation z_k moved by some d_k. Higham (*Accuracy and Stability of Numerical Algorithms*, 2nd ed., 2002,
section 3.1) bounds ``abs(d_k)`` by ``g (abs(W) s + abs(b))`` and what underflow loses, s a bound on the layer's inputs.
ReLU is exact, and moves by a slope in [0, 1] times what its input moves: 1 or 0 where the real and the moved input have
one known sign (``D`` below). tanh and sigmoid move by a slope that their derivative has between both, and by the error
that runtimes have in them besides (docs/semantics.md, S2c). So the last layer L moves by

    sum over k of  W_L D_(L-1) W_(L-1) .. D_k d_k .

The products are kept as centre and radius: a bound by the network's derivative, where norms of weights, multiplied
layer by layer, would exceed what happens a thousand times. Pre-activations are enclosed by zonotopes (DeepZ). The
rounding of float64, in which all this is computed, is in the radius (`venmas.bounds.rounding`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from venmas.bounds.affine.networks import relaxed
from venmas.bounds.rounding import (
    FEW,
    HUGE_32,
    NORMAL_32,
    TINY,
    UNIT_ERROR,
    UNIT_ERROR_32,
    UNIT_ROUNDOFF_32,
    Floats,
    ball,
    gamma,
)
from venmas.bounds.zonotope import affine, span
from venmas.budget import ask
from venmas.nn import Layer, Network
from venmas.nn.network import SMOOTH

_SLOPE_ERROR = 4 * UNIT_ERROR
"""Of a slope, in floats: of tanh twice, and the roundings."""


@dataclass(frozen=True, eq=False)
class Deployed:
    """Over B boxes: real outputs in [low, high] (B, out), and how far float32 evaluations may be from them, error (B,
    out): infinite where float32 may overflow, or the network has operations that runtimes evaluate in other ways.
    influence (B, n): what each input adds to the range of the outputs."""

    low: Floats
    high: Floats
    error: Floats
    influence: Floats


def deployed(network: Network, low: Floats, high: Floats) -> Deployed:
    """Bounds over boxes of inputs, low and high (B, n)."""
    count, n = low.shape
    centre, radius = ball(low, high)
    z = np.concatenate([centre[:, None, :], radius[:, :, None] * np.eye(n)], 1)
    e = np.zeros((count, n))
    size, lo, hi = np.maximum(np.abs(low), np.abs(high)), low, high
    error = size * UNIT_ROUNDOFF_32 + NORMAL_32
    moves = _Moves(_own(error), np.zeros((n, count)))
    for layer in network.layers:
        ask()
        with np.errstate(all="ignore"):
            moves.through(layer, _rounded(layer, size + error))
            error = moves.total()
            z, e = affine(layer.weight, layer.bias, layer.weight_error, z, e, False)
            lo, hi = span(z, e)
            if layer.activation in SMOOTH:
                moves.bend(layer.activation, (lo - error).T, (hi + error).T)
                z, e = relaxed(layer.activation, z, e)
                lo, hi = span(z, e)
                error = moves.total()
            elif layer.rectified:
                moves.rectify((lo - error).T, (hi + error).T)
                z, e = relaxed("relu", z, e)
                lo, hi = np.maximum(lo, 0.0), np.maximum(hi, 0.0)
            size = np.maximum(np.abs(lo), np.abs(hi))
    if network.float32_obstacle:
        error = np.full_like(error, np.inf)
    influence = np.abs(z[:, 1 : 1 + low.shape[1]]).sum(2)
    return Deployed(lo, hi, np.where(np.isnan(error), np.inf, error), influence)


@dataclass(eq=False)
class _Moves:
    """Moves of the units of a layer: linear in those of all sums before, each as a part in [-1, 1] of its bound.

    parts: (units, B, K) coefficients of these; radius (units, B): all that is not linear.
    """

    parts: Floats
    radius: Floats

    def total(self) -> Floats:
        """Bounds of the moves: (B, units)."""
        sums = np.abs(self.parts).sum(2)
        return np.asarray(((sums + self.radius) * (1 + gamma(self.parts.shape[2] + 4)) + TINY).T)

    def through(self, layer: Layer, rounded: Floats) -> None:
        """An affine layer, whose sums move by at most `rounded` (B, out) more."""
        count, n = rounded.shape[0], layer.in_size
        slack = gamma(n + 4) + 2 * layer.weight_error
        whole = self.total().T
        radius = np.abs(layer.weight) @ (self.radius + slack * whole + TINY)
        parts = (layer.weight @ self.parts.reshape(n, -1)).reshape(layer.out_size, count, -1)
        self.parts = np.concatenate([parts, _own(rounded)], 2)
        self.radius = radius * (1 + gamma(n + 6))

    def rectify(self, lo: Floats, hi: Floats) -> None:
        """ReLU; lo, hi (units, B): of its input, moved or not. A slope in [0, 1] is ``1/2 +- 1/2`` of the move."""
        active, dead = lo >= 0, hi <= 0
        open_ = ~active & ~dead
        half = 0.5 * np.abs(self.parts).sum(2) * (1 + gamma(self.parts.shape[2] + 4))
        self.radius = np.where(dead, 0.0, np.where(open_, (self.radius + half) * (1 + gamma(4)), self.radius))
        self.parts = self.parts * np.where(active, 1.0, np.where(open_, 0.5, 0.0))[:, :, None]

    def bend(self, activation: str, lo: Floats, hi: Floats) -> None:
        """tanh or sigmoid; lo, hi (units, B): of its input, moved or not, between which the slope is one of its."""
        scale = 1.0 if activation == "tanh" else 0.5  # sigmoid(x) is tanh(x / 2) / 2 + 1 / 2
        near, far = np.maximum(np.maximum(lo, -hi), 0.0), np.maximum(hi, -lo)
        most, least = (scale**2 * (1 - np.tanh(scale * x) ** 2) for x in (near, far))
        most, least = np.minimum(most + _SLOPE_ERROR, scale**2), np.maximum(least - _SLOPE_ERROR, 0.0)
        middle = 0.5 * most + 0.5 * least
        whole = np.abs(self.parts).sum(2) * (1 + gamma(self.parts.shape[2] + 4))
        off = np.maximum(most - middle, middle - least) + FEW
        self.radius = (self.radius * most + off * whole) * (1 + gamma(4))
        own = _own(np.full((lo.shape[1], lo.shape[0]), UNIT_ERROR_32))
        self.parts = np.concatenate([self.parts * middle[:, :, None], own], 2)


def _own(size: Floats) -> Floats:
    """A part for each unit by itself, at most `size` (B, units): (units, B, units)."""
    count, n = size.shape
    parts = np.zeros((n, count, n))
    parts[np.arange(n), :, np.arange(n)] = size.T
    return parts


def _rounded(layer: Layer, size: Floats) -> Floats:
    """Errors of rounding of each sum of a layer (B, out); size: greatest inputs (B, n), in float32."""
    n = layer.in_size + 4  # the rounding of a weight, n products and sums, and the bias
    narrow = n * UNIT_ROUNDOFF_32 / (1 - n * UNIT_ROUNDOFF_32)
    weight = np.abs(layer.weight) * (1 + 2 * layer.weight_error)
    mass = size @ weight.T + np.abs(layer.bias)
    lost = (n + size.sum(1, keepdims=True)) * 2 * NORMAL_32
    huge = (mass >= HUGE_32) | (size >= HUGE_32).any(1, keepdims=True) | (weight >= HUGE_32).any(1)
    return np.where(huge, np.inf, (narrow * mass + lost) * (1 + gamma(layer.in_size + 6)))
