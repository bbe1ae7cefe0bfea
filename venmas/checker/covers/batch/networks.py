"""Networks over affine forms of many sets at once: `venmas.checker.flowpipes.networks`, with a row for each set.

The difference is which units have symbols of their own: those between two lines that are apart. What is rounded of
units that are passed on stays in their radii. In each set these symbols are numbered by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.checker.affine.products import scaled_down
from venmas.checker.covers.batch.forms import Form, Forms, together
from venmas.checker.flowpipes.curves import ONE, BeyondError, lines
from venmas.checker.flowpipes.networks import KEPT, PRECISION, UNIT_ERROR, UNITS, VALUES, Scaled, TooLargeError, scaled
from venmas.checker.flowpipes.univariate import SLOPE_BITS
from venmas.nn import Network

Ints = NDArray[np.int64]


_ENTRIES = 1 << 17
"""Coefficients of a layer in all sets that are passed through it at once, about: as many as processors have at hand."""


def apply_network(network: Network, inputs: Sequence[Form], ring: Forms, single: bool) -> list[Form]:
    """Forms of the outputs. single: of all evaluations in float32. Raises `BeyondError`."""
    if single and network.float32_obstacle:
        raise BeyondError(network.float32_obstacle)
    units = [len(layer.bias) for layer in network.layers]
    count = max(1, _ENTRIES // ((1 + ring.symbols + sum(units)) * max(units)))
    parts = list[list[Form]]()
    symbols = ring.symbols
    for rows in np.split(np.arange(ring.size), range(count, ring.size, count)):
        one = Forms(len(rows), ring.bits, symbols)
        parts.append(_passed(network, [form.rows(rows) for form in inputs], one, single))
        ring.symbols = max(ring.symbols, one.symbols)
    return [together(forms) for forms in zip(*parts, strict=True)]


def _passed(network: Network, inputs: Sequence[Form], ring: Forms, single: bool) -> list[Form]:
    """The same, of a few sets."""
    for bits in UNITS:
        if bits > ring.bits:
            continue
        try:
            return _Pass(bits, ring, single).run(network, inputs)
        except TooLargeError:
            continue
    raise BeyondError(f"values of network {network.name!r} are too large")


class _Pass:
    """One evaluation with values in units of 2^-bits: z (B, 1+k, n) and radii (B, n) of n units."""

    def __init__(self, bits: int, ring: Forms, single: bool) -> None:
        self.bits, self.ring, self.single = bits, ring, single
        self.down = ring.bits - bits

    def run(self, network: Network, inputs: Sequence[Form]) -> list[Form]:
        if any(form.bound >> self.down >= 1 << VALUES and form.tight() >> self.down >= 1 << VALUES for form in inputs):
            raise TooLargeError
        symbols = self.ring.symbols
        z = np.stack([form.wide(symbols) for form in inputs], 2)
        used = np.flatnonzero(z[:, 1:].any((0, 2)))
        z = np.concatenate([z[:, :1], z[:, 1 + used]], 1) >> self.down
        radii = np.stack([-(-form.e >> self.down) for form in inputs], 1)
        if self.down:
            radii += z.shape[1]
        if self.single:
            radii = radii + (np.abs(z).sum(1) + radii >> PRECISION) + 2  # rounded up, and what underflow loses
        for layer in scaled(network, self.bits):
            ask()
            z, radii = self._affine(layer, z, radii)
            if layer.activation != "linear":
                z, radii = self._units(layer.activation, z, radii)
        return self._outputs(z, radii, used)

    def _outputs(self, z: Ints, radii: Ints, used: Ints) -> list[Form]:
        """The forms, over all symbols; several share those of units that move them most."""
        symbols, count = self.ring.symbols, z.shape[2]
        own = z[:, 1 + len(used) :]
        sizes = np.abs(own)
        radii = radii + sizes.sum(1)
        kept = min(KEPT, own.shape[1]) if count > 1 else 0
        if kept:
            first = np.argsort(-sizes.sum(2), axis=1, kind="stable")[:, :kept, None]
            own = np.take_along_axis(own, first, 1)
            radii -= np.abs(own).sum(1)
        self.ring.symbols += kept
        outputs = []
        for i in range(count):
            form = np.zeros((len(z), 1 + symbols + kept), dtype=np.int64)
            form[:, 0], form[:, 1 + used] = z[:, 0, i], z[:, 1 : 1 + len(used), i]
            if kept:
                form[:, 1 + symbols :] = own[:, :, i]
            bound = int((np.abs(form).sum(1) + radii[:, i]).max(initial=0)) << self.down
            if bound >= 1 << 62:
                raise BeyondError("integers are too large")
            outputs.append(self.ring.fresh(Form(form << self.down, radii[:, i] << self.down, bound)))
        return outputs

    def _affine(self, layer: Scaled, z: Ints, radii: Ints) -> tuple[Ints, Ints]:
        """W x + b. Each weight is off by at most one unit of 2^-T where it is not exact, and each bias by one."""
        shift, size = layer.shift, np.abs(z).sum(1) + radii
        if not layer.fits or not layer.holds(size.max(0)):
            raise TooLargeError
        out = layer.forward.times(z, (1 << shift) >> 1, shift)
        out[:, 0] += layer.bias
        up = (1 << shift) - 1
        spread = np.full((len(z), len(layer.bias)), z.shape[1] // 2 + 1)  # to nearest: half a unit each
        lost = 0 if layer.vague is None else -(-(size @ layer.vague.T) >> shift)
        spread += lost
        if radii.any():
            spread += layer.sizes.times(radii, up, shift)
        if self.single:
            mass = layer.sizes.times(size, up, shift) + lost
            spread += _rounding(mass + layer.most_bias, layer.in_size)
        if int(spread.max(initial=0)) >= 1 << VALUES:  # of weights that are rounded to 0, `holds` says nothing
            raise TooLargeError
        return out, spread

    def _units(self, activation: str, z: Ints, radii: Ints) -> tuple[Ints, Ints]:
        """Each unit within two lines of one slope."""
        size = np.abs(z[:, 1:]).sum(1) + radii
        low, high = z[:, 0] - size, z[:, 0] + size
        if activation != "relu":
            z, radii, error = self._between(activation, z, radii, low, high)
            if self.single:
                error += 1 << (self.bits - UNIT_ERROR)
            return _own(z, radii, error)
        passed = low >= 0
        either = np.flatnonzero(((low < 0) & (high > 0)).any(0))
        kept, less, error = z * passed[:, None, :], radii * passed, np.zeros_like(radii)
        if len(either):
            part = self._between(activation, z[:, :, either], radii[:, either], low[:, either], high[:, either])
            kept[:, :, either], less[:, either], error[:, either] = part
        return _own(kept, less, error)

    def _between(self, activation: str, z: Ints, radii: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints, Ints]:
        """Forms within two lines of one slope of 0 to 1; their radii, and how far the lines are apart besides."""
        slopes, least, most = lines(activation, low, high, self.bits)
        middle = (least + most) >> 1
        kept = scaled_down(z, slopes[:, None, :], 0, SLOPE_BITS)
        kept[:, 0] += middle
        grown = scaled_down(radii, slopes, ONE - 1, SLOPE_BITS)
        return kept, grown + ((slopes != 0) & (slopes != ONE)) * z.shape[1], most - middle


def _own(z: Ints, radii: Ints, error: Ints) -> tuple[Ints, Ints]:
    """Units with symbols of their own for errors, (B, n); the symbols of a set are those next to the ones before."""
    apart = error != 0
    more = int(apart.sum(1).max(initial=0))
    if not more:
        return z, radii
    count = z.shape[1]
    made = np.zeros((len(z), count + more, z.shape[2]), dtype=np.int64)
    made[:, :count] = z
    row, unit = np.nonzero(apart)
    made[row, count - 1 + apart.cumsum(1)[row, unit], unit] = error[row, unit]
    return made, radii


def _rounding(mass: Ints, n: int) -> Ints:
    """Errors in float32 of sums of n products, each with the bias and all of size `mass`, in units."""
    terms = n + 4  # the rounding of a weight, n products and sums, and the bias
    if int(mass.max(initial=0)) * terms >= 1 << 62:
        raise TooLargeError
    return np.asarray(-(-mass * terms // ((1 << PRECISION) - terms)) + 1)
