"""Networks over affine forms: layer by layer, in numpy integers, each relaxed unit with a symbol of its own.

In float32 each layer moves apart by what any order of operations may do to it: inputs are rounded, |x| 2^-24 each; a
sum of n inputs of sizes s is off by g (|W| s + |b|), g = (n + 4) 2^-24 / (1 - (n + 4) 2^-24) (Higham, 3.1), tanh and
sigmoid by 2^-20. What underflow loses, gradual or flushed to zero, (n + 4 + sum s) 2^-125, is less than a unit; no size
comes near 2^126, where float32 could overflow.

Values are in a coarser unit than elsewhere, 2^-40 where they are small enough, so that products are exact in 64 bits
(`venmas.checker.affine.products`). Several outputs share the symbols that move them most; what all others do is one
symbol for each output. Weights are rounded to multiples of 2^-T; what that loses is added to radii.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.checker.affine.products import Factor, scaled_down
from venmas.checker.flowpipes import rows
from venmas.checker.flowpipes.forms import Form, Forms
from venmas.checker.flowpipes.univariate import SLOPE_BITS, OutsideError, relaxed
from venmas.nn import Network
from venmas.nn.network import Layer

Ints = NDArray[np.int64]

_UNITS = (40, 30, 20)
"""Bits of the unit of values, the first one that they fit; not fewer than those of slopes."""
_VALUES, _WEIGHTS, _SHIFT = 50, 36, 40
"""Bits of values and of weights, at most; the greatest T."""

_PRECISION, _UNIT_ERROR = 24, 20
"""Of float32, 2^-p: relative error of an operation, and absolute one of tanh and sigmoid, as docs/semantics.md says."""
_KEPT = 8
"""Units whose symbols several outputs share."""
_WIDE = 4096
"""Inputs of a layer, at most, so that sums of sizes stay below 2^62."""


class _TooLargeError(Exception):
    """A value beyond the range of the unit."""


def apply_network(network: Network, inputs: Sequence[Form], ring: Forms, single: bool = False) -> list[Form]:
    """Forms of the outputs; of the network's own symbols several outputs share those that move them most, and what all
    others do becomes one symbol each, with the radius. single: of all evaluations in float32.

    Raises `OutsideError` where values are too large for the integers that are used, or nothing is known of float32.
    """
    if single and network.float32_obstacle:
        raise OutsideError(network.float32_obstacle)
    for bits in _UNITS:
        if bits > ring.bits:
            continue
        try:
            return _Pass(bits, ring, single).run(network, inputs)
        except _TooLargeError:
            continue
    raise OutsideError(f"values of network {network.name!r} are too large to be enclosed")


class _Pass:
    """One evaluation with values in units of 2^-bits."""

    def __init__(self, bits: int, ring: Forms, single: bool = False) -> None:
        self.bits, self.ring, self.single = bits, ring, single
        self.down = ring.bits - bits

    def run(self, network: Network, inputs: Sequence[Form]) -> list[Form]:
        symbols = self.ring.symbols
        if any(form.size + abs(form.c) >> self.down >= 1 << _VALUES for form in inputs):
            raise _TooLargeError
        centres = np.array([[f.c >> self.down for f in inputs]], dtype=np.int64)
        z = np.concatenate([centres, (rows.table([f.g for f in inputs], symbols).T >> self.down).astype(np.int64)])
        radii = np.array([-(-f.e >> self.down) + symbols + 1 for f in inputs], dtype=np.int64)
        if self.single:
            radii = radii + (np.abs(z).sum(0) + radii >> _PRECISION) + 2  # rounded up, and what underflow loses
        for layer in network.layers:
            ask()
            z, radii = self._affine(layer, z, radii)
            if layer.activation != "linear":
                z, radii = self._units(layer.activation, z, radii)
        own = np.abs(z[1 + symbols :])
        kept = np.argsort(-own.sum(1), kind="stable")[: _KEPT if len(radii) > 1 else 0]
        z, radii = np.concatenate([z[: 1 + symbols], z[1 + symbols + kept]]), radii + own.sum(0) - own[kept].sum(0)
        self.ring.symbols += len(kept)
        found = []
        for column, radius in zip(np.ascontiguousarray(z.T), radii.tolist(), strict=True):
            g = rows.shifted(column[1:], self.down)
            found.append(self.ring.fresh(Form(int(column[0]) << self.down, g, radius << self.down)))
        return found

    def _affine(self, layer: Layer, z: Ints, radii: Ints) -> tuple[Ints, Ints]:
        """W x + b. Each weight is off by at most one unit of 2^-T where it is not exact, and each bias by one."""
        weight = layer.weight
        largest = float(np.abs(weight).max(initial=0.0))
        shift = min(_SHIFT, _WEIGHTS - int(np.frexp(largest)[1])) if largest else 0
        if (
            layer.in_size > _WIDE
            or shift < 0
            or float(np.abs(layer.bias).max(initial=0.0)) >= 2.0 ** (_VALUES - self.bits)
        ):
            raise _TooLargeError
        scaled = np.ldexp(weight.astype(np.float64), shift)
        whole = np.rint(scaled).astype(np.int64)
        vague = (np.rint(scaled) != scaled).astype(np.int64)
        if layer.divisor is not None:  # weights are reciprocals, rounded to nearest: off by less than a unit in all
            vague |= whole != 0
        size = np.abs(z).sum(0) + radii
        if float((np.abs(whole).astype(np.float64) @ size.astype(np.float64)).max()) >= 2.0 ** (_VALUES + shift):
            raise _TooLargeError
        out = Factor(np.ascontiguousarray(whole.T)).times(z, (1 << shift) >> 1, shift)
        bias = np.ldexp(layer.bias.astype(np.float64), self.bits)
        out[0] += np.rint(bias).astype(np.int64)
        up = (1 << shift) - 1
        spread = Factor(np.ascontiguousarray(np.abs(whole).T)).times(radii[None], up, shift)[0]
        lost = -(-(vague @ size) >> shift)
        spread += lost + len(z) // 2 + 1  # rows and bias are to nearest: half a unit each
        if self.single:
            mass = Factor(np.ascontiguousarray(np.abs(whole).T)).times(size[None], up, shift)[0] + lost
            spread += _rounding(mass + np.ceil(np.abs(bias)).astype(np.int64), layer.in_size)
        return out, spread

    def _units(self, activation: str, z: Ints, radii: Ints) -> tuple[Ints, Ints]:
        """Each unit within two lines of one slope; what is between them, and its radius, is a symbol of its own."""
        size = np.abs(z[1:]).sum(0) + radii
        slopes, middles, news = [], [], []
        for low, high in zip((z[0] - size).tolist(), (z[0] + size).tolist(), strict=True):
            slope, least, most = relaxed(activation, low, high, self.bits)
            middle = (least + most) >> 1
            slopes.append(slope)
            middles.append(middle)
            news.append(most - middle)
        factors = np.array(slopes, dtype=np.int64)
        kept = scaled_down(z, factors[None], 0, SLOPE_BITS)
        kept[0] += np.array(middles, dtype=np.int64)
        grown = scaled_down(radii, factors, (1 << SLOPE_BITS) - 1, SLOPE_BITS)
        error = np.array(news, dtype=np.int64) + grown + np.where(factors, len(z), 0)
        if activation == "relu":  # what is passed on is not rounded
            error = np.where(factors == 1 << SLOPE_BITS, radii, error)
        elif self.single:
            error += 1 << (self.bits - _UNIT_ERROR)
        own = np.flatnonzero(error)
        more = np.zeros((len(own), len(error)), dtype=np.int64)
        more[np.arange(len(own)), own] = error[own]
        return np.concatenate([kept, more]), np.zeros_like(radii)


def _rounding(mass: Ints, n: int) -> Ints:
    """Errors in float32 of sums of n products, each with the bias and all of size `mass`, in units."""
    terms = n + 4  # the rounding of a weight, n products and sums, and the bias
    below = (1 << _PRECISION) - terms
    return np.array([-(-m * terms // below) + 1 for m in mass.tolist()], dtype=np.int64)
