"""Networks over affine forms: every relaxed unit has a symbol of its own until the last layer (DeepZ).

Singh et al., *Fast and effective robustness certification*, NeurIPS 2018; activations between the parallel lines of
`venmas.bounds.affine.univariate`. After the last layer the units' symbols are one radius an output; the outputs keep
the symbols of the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from venmas.bounds.affine.forms import Form
from venmas.bounds.affine.univariate import lines
from venmas.bounds.rounding import FEW, TINY, Floats, ball, gamma
from venmas.bounds.zonotope import affine, span
from venmas.budget import ask
from venmas.nn import Network


def through(network: Network, inputs: Sequence[Form]) -> list[Form]:
    """Forms of the outputs."""
    width = max(form.z.shape[1] for form in inputs)
    z = np.stack([form.wide(width - 1) for form in inputs], 2)
    z, e = _own(z, np.stack([form.e for form in inputs], 1), np.zeros((z.shape[0], len(inputs))))
    for layer in network.layers:
        ask()
        z, e = affine(layer.weight, layer.bias, layer.weight_error, z, e, False)
        if layer.activation != "linear":
            z, e = _relaxed(layer.activation, z, e)
    dust = np.abs(z[:, width:]).sum(1)
    e = (e + dust) * (1 + gamma(z.shape[1])) + TINY
    return [Form(np.ascontiguousarray(z[:, :width, i]), e[:, i]) for i in range(z.shape[2])]


def _relaxed(activation: str, z: Floats, e: Floats) -> tuple[Floats, Floats]:
    """The activation of every unit: z (B, 1+k, n), e (B, n)."""
    found = lines(activation, *span(z, e))
    a = found.slope
    centre, radius = ball(found.lo, found.hi)
    flat = a == 0
    mass = np.where(flat, 0.0, a * (np.abs(z).sum(1) + e)) + np.abs(centre)
    z = np.where(flat[:, None, :], 0.0, z * a[:, None, :])
    z[:, 0] += centre
    known = (found.lo == 0) & (found.hi == 0) & ((a == 1) | flat)
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
