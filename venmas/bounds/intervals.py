"""Interval arithmetic through the layers of a program: what each unit may be, as fast as floats are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from venmas.bounds.rounding import FEW, SMALLEST_NORMAL, TINY, UNIT_ROUNDOFF, Floats, ball, gamma
from venmas.budget import asking
from venmas.model.transform.program import ProgramLayer


def intervals(layers: Sequence[ProgramLayer], low: Floats, high: Floats) -> list[tuple[Floats, Floats]]:
    """Ends (n_k,) of the values after each layer, for inputs in the box low, high (m,), which comes first.

    With ``x = c +- r`` the values are ``W c + b +- abs(W) r``. The product is off by at most ``gamma(n)`` of ``abs(W)
    (abs(c) + r)``, the bias by ``gamma(2)`` of itself, and both by u more where a coefficient is no float
    (`SMALLEST_NORMAL`). ``gamma(n + 8)`` covers the sums that add up the radius, FEW the end itself. Where something
    overflows, the ends are infinite or no numbers.
    """
    ends = [(low, high)]
    for layer in asking(layers):
        middle, radius = ball(low, high)
        size, mass, bias = np.abs(layer.weights), np.abs(middle) + radius, np.abs(layer.bias)
        error = gamma(layer.in_size) * (size @ mass) + gamma(2) * bias + TINY
        if layer.inexact:
            error = error + UNIT_ROUNDOFF * (np.maximum(size, SMALLEST_NORMAL) @ mass)
            error = error + UNIT_ROUNDOFF * np.maximum(bias, SMALLEST_NORMAL)
        middle = layer.weights @ middle + layer.bias
        half = (size @ radius + error) * (1 + gamma(layer.in_size + 8)) + FEW * np.abs(middle) + TINY
        low, high = (np.where(layer.relu, np.maximum(end, 0), end) for end in (middle - half, middle + half))
        ends.append((low, high))
    return ends
