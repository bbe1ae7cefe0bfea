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
from venmas.bounds.rounding import FEW, TINY, Floats, ball, gamma
from venmas.bounds.zonotope import affine, span
from venmas.budget import ask
from venmas.nn import Network

_KEPT = 8
"""Units whose symbols several outputs share."""


def through(ring: Forms, network: Network, inputs: Sequence[Form]) -> list[Form]:
    """Forms of the outputs."""
    width = 1 + ring.symbols
    z = np.stack([form.wide(ring.symbols) for form in inputs], 2)
    z, e = _own(z, np.stack([form.e for form in inputs], 1), np.zeros((z.shape[0], len(inputs))))
    for layer in network.layers:
        ask()
        z, e = affine(layer.weight, layer.bias, layer.weight_error, z, e, False)
        if layer.activation != "linear":
            z, e = relaxed(layer.activation, z, e)
    units = z[:, width:]
    z, sizes = z[:, :width], np.abs(units)
    if z.shape[2] > 1 and units.shape[1]:
        first = np.argsort(-sizes.sum(2), axis=1, kind="stable")[:, :_KEPT, None]
        z = np.concatenate([z, np.take_along_axis(units, first, 1)], 1)
        np.put_along_axis(sizes, first, 0.0, 1)
        ring.symbols += first.shape[1]
    e = (e + sizes.sum(1)) * (1 + gamma(width + units.shape[1])) + TINY
    return [ring.fresh(Form(np.ascontiguousarray(z[:, :, i]), e[:, i])) for i in range(z.shape[2])]


def relaxed(activation: str, z: Floats, e: Floats) -> tuple[Floats, Floats]:
    """The activation of every unit: z (B, 1+k, n), e (B, n)."""
    rule = lines(activation, *span(z, e))
    a = rule.slope
    centre, radius = ball(rule.lo, rule.hi)
    flat = a == 0
    mass = np.where(flat, 0.0, a * (np.abs(z).sum(1) + e)) + np.abs(centre)
    z = np.where(flat[:, None, :], 0.0, z * a[:, None, :])
    z[:, 0] += centre
    known = (rule.lo == 0) & (rule.hi == 0) & ((a == 1) | flat)
    radius = np.where(known, 0.0, radius)
    e = np.where(flat, 0.0, e * a) + np.where(known, 0.0, FEW * mass + TINY)
    return _own(z, radius, e)


def _own(z: Floats, radius: Floats, e: Floats) -> tuple[Floats, Floats]:
    """A symbol for each unit that has a radius in some row: z (B, 1+k+new, n), with what is left in e."""
    units = np.flatnonzero(radius.any(0))
    if not len(units):
        return z, e
    more = np.zeros((z.shape[0], len(units), z.shape[2]))
    more[:, np.arange(len(units)), units] = radius[:, units]
    return np.concatenate([z, more], 1), e
