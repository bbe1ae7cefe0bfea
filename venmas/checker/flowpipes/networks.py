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
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.checker.affine.products import Factor, scaled_down
from venmas.checker.flowpipes import rows
from venmas.checker.flowpipes.curves import BeyondError, lines
from venmas.checker.flowpipes.forms import Form, Forms
from venmas.checker.flowpipes.univariate import SLOPE_BITS, OutsideError, relaxed
from venmas.nn import Network
from venmas.nn.network import Layer

Ints = NDArray[np.int64]

UNITS = (40, 30, 20)
"""Bits of the unit of values, the first one that they fit; not fewer than those of slopes."""
VALUES, _WEIGHTS, _SHIFT = 50, 36, 40
"""Bits of values and of weights, at most; the greatest T."""

PRECISION, UNIT_ERROR = 24, 20
"""Of float32, 2^-p: relative error of an operation, and absolute one of tanh and sigmoid, as docs/semantics.md says."""
KEPT = 8
"""Units whose symbols several outputs share."""
_WIDE = 4096
"""Inputs of a layer, at most, so that sums of sizes stay below 2^62."""


_SPLIT = 26
_PART = (1 << _SPLIT) - 1


class TooLargeError(Exception):
    """A value beyond the range of the unit."""


def apply_network(network: Network, inputs: Sequence[Form], ring: Forms, single: bool = False) -> list[Form]:
    """Forms of the outputs; of the network's own symbols several outputs share those that move them most, and what all
    others do becomes one symbol each, with the radius. single: of all evaluations in float32.

    Raises `OutsideError` where values are too large for the integers that are used, or nothing is known of float32.
    """
    if single and network.float32_obstacle:
        raise OutsideError(network.float32_obstacle)
    for bits in UNITS:
        if bits > ring.bits:
            continue
        try:
            return _Pass(bits, ring, single).run(network, inputs)
        except TooLargeError:
            continue
    raise OutsideError(f"values of network {network.name!r} are too large to be enclosed")


class _Pass:
    """One evaluation with values in units of 2^-bits."""

    def __init__(self, bits: int, ring: Forms, single: bool = False) -> None:
        self.bits, self.ring, self.single = bits, ring, single
        self.down = ring.bits - bits

    def run(self, network: Network, inputs: Sequence[Form]) -> list[Form]:
        symbols = self.ring.symbols
        if any(form.size + abs(form.c) >> self.down >= 1 << VALUES for form in inputs):
            raise TooLargeError
        centres = np.array([[f.c >> self.down for f in inputs]], dtype=np.int64)
        z = np.concatenate([centres, (rows.table([f.g for f in inputs], symbols).T >> self.down).astype(np.int64)])
        radii = np.array([-(-f.e >> self.down) + symbols + 1 for f in inputs], dtype=np.int64)
        if self.single:
            radii = radii + (np.abs(z).sum(0) + radii >> PRECISION) + 2  # rounded up, and what underflow loses
        alone = np.zeros_like(radii)
        for layer in scaled(network, self.bits):
            ask()
            z, radii = self._affine(layer, z, radii, alone)
            alone = np.zeros_like(radii)
            if layer.activation != "linear":
                z, alone = self._units(layer.activation, z, radii)
                radii = np.zeros_like(radii)
        z = _joined(z, alone)
        own = np.abs(z[1 + symbols :])
        kept = np.argsort(-own.sum(1), kind="stable")[: KEPT if len(radii) > 1 else 0]
        z, radii = np.concatenate([z[: 1 + symbols], z[1 + symbols + kept]]), radii + own.sum(0) - own[kept].sum(0)
        self.ring.symbols += len(kept)
        found = []
        for column, radius in zip(np.ascontiguousarray(z.T), radii.tolist(), strict=True):
            g = rows.shifted(column[1:], self.down)
            found.append(self.ring.fresh(Form(int(column[0]) << self.down, g, radius << self.down)))
        return found

    def _affine(self, layer: Scaled, z: Ints, radii: Ints, alone: Ints) -> tuple[Ints, Ints]:
        """W x + b. Each weight is off by at most one unit of 2^-T where it is not exact, and each bias by one.

        alone: of symbols that one input each has, and no other.
        """
        shift, size = layer.shift, np.abs(z).sum(0) + radii + alone
        if not layer.fits or not layer.holds(size):
            raise TooLargeError
        if int(alone.max(initial=0)) >= 1 << VALUES:
            z, alone = _joined(z, alone), np.zeros_like(alone)
        half, units = (1 << shift) >> 1, np.flatnonzero(alone)
        out = np.concatenate(
            [layer.forward.times(z, half, shift), layer.rows_times(units, alone[units, None], half, shift)]
        )
        out[0] += layer.bias
        up = (1 << shift) - 1
        lost = 0 if layer.vague is None else -(-(layer.vague @ size) >> shift)
        spread = np.full(len(layer.bias), len(out) // 2 + 1) + lost  # rows and bias are to nearest: half a unit each
        if radii.any():
            spread += layer.sizes.times(radii[None], up, shift)[0]
        if self.single:
            mass = layer.sizes.times(size[None], up, shift)[0] + lost
            spread += _rounding(mass + layer.most_bias, layer.in_size)
        if int(spread.max(initial=0)) >= 1 << VALUES:  # of weights that are rounded to 0, `holds` says nothing
            raise TooLargeError
        return out, spread

    def _units(self, activation: str, z: Ints, radii: Ints) -> tuple[Ints, Ints]:
        """Each unit within two lines of one slope; what is between them, and its radius, is for a symbol of its own."""
        size = np.abs(z[1:]).sum(0) + radii
        low, high = z[0] - size, z[0] + size
        if activation == "relu":
            kept, error = self._rectified(z, radii, low, high)
        else:
            kept, error = self._between(activation, z, radii, low, high)
            if self.single:
                error += 1 << (self.bits - UNIT_ERROR)
        return kept, error

    def _rectified(self, z: Ints, radii: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """ReLU: nothing is rounded of units that are passed on, or are 0; the others are between two lines."""
        passed = low >= 0
        kept, error = z * passed, radii * passed
        either = np.flatnonzero((low < 0) & (high > 0))
        if len(either):
            kept[:, either], error[either] = self._between(
                "relu", z[:, either], radii[either], low[either], high[either]
            )
        return kept, error

    def _between(self, activation: str, z: Ints, radii: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """Forms within two lines of one slope, and their radii."""
        slopes, least, most = _lines(activation, low, high, self.bits)
        middle = (least + most) >> 1
        kept = scaled_down(z, slopes, 0, SLOPE_BITS)
        kept[0] += middle
        grown = scaled_down(radii, slopes, (1 << SLOPE_BITS) - 1, SLOPE_BITS)
        return kept, most - middle + grown + np.where(slopes, len(z), 0)


def _joined(z: Ints, alone: Ints) -> Ints:
    """Forms with a row more for each symbol that one unit alone has."""
    units = np.flatnonzero(alone)
    forms = np.zeros((len(z) + len(units), len(alone)), dtype=np.int64)
    forms[: len(z)] = z
    forms[len(z) + np.arange(len(units)), units] = alone[units]
    return forms


def _lines(activation: str, low: Ints, high: Ints, bits: int) -> tuple[Ints, Ints, Ints]:
    """Lines around an activation, of all units at once where 64 bits do."""
    if activation != "relu":
        try:
            return lines(activation, low, high, bits)
        except BeyondError:
            pass
    one_by_one = [relaxed(activation, *ends, bits) for ends in zip(low.tolist(), high.tolist(), strict=True)]
    slopes, least, most = np.array(one_by_one, dtype=np.int64).T
    return slopes, least, most


class Scaled:
    """A layer with weights in units of 2^-T, and its bias in units of 2^-bits: the same for every pass.

    fits: is it small enough for the integers that are used? vague: of each weight, whether it is rounded; None where
    none is.
    """

    def __init__(self, layer: Layer, bits: int) -> None:
        weight, bias = layer.weight, layer.bias
        largest, most = (float(np.abs(part).max(initial=0.0)) for part in (weight, bias))
        shift = min(_SHIFT, _WEIGHTS - int(np.frexp(largest)[1])) if largest else 0
        self.activation, self.in_size, self.shift = layer.activation, layer.in_size, max(shift, 0)
        self.fits = layer.in_size <= _WIDE and shift >= 0 and most < 2.0 ** (VALUES - bits)
        if not self.fits:
            return
        units = np.ldexp(weight.astype(np.float64), shift)
        whole = np.rint(units).astype(np.int64)
        vague = (np.rint(units) != units).astype(np.int64)
        if layer.divisor is not None:  # weights are reciprocals, rounded to nearest: off by less than a unit in all
            vague |= whole != 0
        self.vague = vague if vague.any() else None
        self._sizes = np.abs(whole).astype(np.float64)
        self._norm = float(self._sizes.sum(1).max(initial=0.0))
        self._whole = np.ascontiguousarray(whole.T)
        self.forward = Factor(self._whole)
        units = np.ldexp(bias.astype(np.float64), bits)
        self.bias, self.most_bias = np.rint(units).astype(np.int64), np.ceil(np.abs(units)).astype(np.int64)

    @cached_property
    def sizes(self) -> Factor:
        """The sizes of the weights."""
        return Factor(np.ascontiguousarray(self._sizes.T).astype(np.int64))

    def rows_times(self, units: Ints, values: Ints, add: int, shift: int) -> Ints:
        """``floor((values W[units] + add) / 2**shift)`` for a value of 0 to 2^50 by row, exactly.

        Values are split, so that no product of a lower part has more than 62 bits.
        """
        weights = self._whole[units]
        low, high = (values & _PART) * weights + add, (values >> _SPLIT) * weights
        if shift < _SPLIT:
            return np.asarray((low >> shift) + (high << (_SPLIT - shift)))
        return np.asarray(((low >> _SPLIT) + high) >> (shift - _SPLIT))

    def holds(self, size: Ints) -> bool:
        """Are sums of products with values of these sizes below the limit, and sums of sizes below 2^62? The norm tells
        it soon of most."""
        if int(size.max(initial=0)) * self.in_size >= 1 << 62:
            return False
        limit = 2.0 ** (VALUES + self.shift)
        if self._norm * float(size.max(initial=0)) < limit / 2:
            return True
        return float((self._sizes @ size.astype(np.float64)).max(initial=0.0)) < limit


@lru_cache(maxsize=8)
def scaled(network: Network, bits: int) -> tuple[Scaled, ...]:
    """The layers of a network."""
    return tuple(Scaled(layer, bits) for layer in network.layers)


def _rounding(mass: Ints, n: int) -> Ints:
    """Errors in float32 of sums of n products, each with the bias and all of size `mass`, in units."""
    terms = n + 4  # the rounding of a weight, n products and sums, and the bias
    below = (1 << PRECISION) - terms
    return np.array([-(-m * terms // below) + 1 for m in mass.tolist()], dtype=np.int64)
