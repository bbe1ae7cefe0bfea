"""Networks over affine forms: every relaxed unit has a symbol of its own until the last layer (DeepZ).

Singh et al., *Fast and effective robustness certification*, NeurIPS 2018; activations between the parallel lines of
`venmas.bounds.affine.univariate`. The outputs keep the symbols of the inputs and, where there are several, those of the
units that move them most; all other units are one radius an output, which loses nothing where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.univariate import lines
from venmas.bounds.rounding import FEW, TINY, UNIT_ERROR_32, Floats, ball, gamma
from venmas.bounds.zonotope import affine, rounded, spread, total
from venmas.budget import ask
from venmas.nn import Network
from venmas.nn.network import SMOOTH

_KEPT = 8
"""Units whose symbols several outputs share."""


def through(ring: Forms, network: Network, inputs: Sequence[Form], single: bool = False) -> list[Form]:
    """Forms of the outputs; `single`: of all evaluations in float32, whose errors are radii layer by layer."""
    width = 1 + ring.symbols
    z = np.stack([form.wide(ring.symbols) for form in inputs], 2)
    e = np.stack([form.e for form in inputs], 1)
    if single:
        e = rounded(z, e)
    lost = ~np.isfinite(e).all(1) | bool(single and network.float32_obstacle)
    alone, e = e, np.zeros_like(e)
    for layer in network.layers:
        ask()
        z, e = affine(layer.weight, layer.bias, layer.weight_error, z, e, single, alone)
        lost |= ~np.isfinite(e).all(1)  # what overflows may be no number, whatever tanh makes of infinity
        alone = np.zeros_like(e)
        if layer.activation != "linear":
            z, alone, e = _between(layer.activation, z, e)
        if single and layer.activation in SMOOTH:
            e = (e + UNIT_ERROR_32) * (1 + FEW)
    z, e = _own(z, alone, e)
    units = z[:, width:]
    z, sizes = z[:, :width], np.abs(units)
    if z.shape[2] > 1 and units.shape[1]:
        first = np.argsort(-sizes.sum(2), axis=1, kind="stable")[:, :_KEPT, None]
        z = np.concatenate([z, np.take_along_axis(units, first, 1)], 1)
        np.put_along_axis(sizes, first, 0.0, 1)
        ring.symbols += first.shape[1]
    e = (e + total(sizes)) * (1 + gamma(width + units.shape[1])) + TINY
    if single:
        e[lost] = np.inf
    return [ring.fresh(Form(np.ascontiguousarray(z[:, :, i]), e[:, i])) for i in range(z.shape[2])]


def relaxed(activation: str, z: Floats, e: Floats) -> tuple[Floats, Floats]:
    """The activation of every unit: z (B, 1+k, n), e (B, n)."""
    return _own(*_between(activation, z, e))


def _between(activation: str, z: Floats, e: Floats) -> tuple[Floats, Floats, Floats]:
    """The same, with what is between the lines, (B, n), apart: a symbol of its own for each unit."""
    lo, hi, mass = spread(z, e)
    rule = lines(activation, lo, hi)
    a = rule.slope
    centre, radius = ball(rule.lo, rule.hi)
    flat = a == 0
    lost = flat & ~np.isfinite(mass)  # 0 times infinity
    mass = np.where(flat, 0.0, a * mass) + np.abs(centre)
    z = z * a[:, None, :]
    if lost.any():
        z[np.broadcast_to(lost[:, None, :], z.shape)] = 0.0
    z[:, 0] += centre
    known = (rule.lo == 0) & (rule.hi == 0) & ((a == 1) | flat)
    radius = np.where(known, 0.0, radius)
    e = np.where(flat, 0.0, e * a) + np.where(known, 0.0, FEW * mass + TINY)
    return z, radius, e


def _own(z: Floats, radius: Floats, e: Floats) -> tuple[Floats, Floats]:
    """A symbol for each unit that has a radius in some row: z (B, 1+k+new, n), with what is left in e."""
    units = np.flatnonzero(radius.any(0))
    if not len(units):
        return z, e
    more = np.zeros((z.shape[0], len(units), z.shape[2]))
    more[:, np.arange(len(units)), units] = radius[:, units]
    return np.concatenate([z, more], 1), e
