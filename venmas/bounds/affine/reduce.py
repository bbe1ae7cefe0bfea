"""Order reduction of affine forms: the symbols that matter least become one symbol of its own for each form.

Girard, *Reachability of uncertain linear systems using zonotopes*, HSCC 2005: symbols of the least 1-norm less max-norm
are boxed, here with every form scaled to its range. Each row of the batch chooses for itself.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.rounding import TINY, gamma


def committed(ring: Forms, forms: Mapping[str, Form]) -> dict[str, Form]:
    """The forms, each with a symbol of its own in place of its radius."""
    return {name: ring.fresh(form) for name, form in forms.items()}


def reduced(ring: Forms, forms: Mapping[str, Form], most: int, kept: int) -> tuple[Forms, dict[str, Form]]:
    """The forms over at most `most` symbols and one for each form, in a ring of their own.

    kept: the first so many symbols, those of initial values, are never boxed, even if they are more. All forms of the
    old ring are void.
    """
    moving = [name for name, form in forms.items() if form.z.shape[1] > 1 or form.e.any()]
    most = max(most, kept)
    if ring.symbols <= most + len(moving):
        return ring, committed(ring, forms)
    less = Forms(ring.size, most if moving else kept)
    less.broken = ring.broken
    result = dict(forms)
    if not moving:
        return less, result
    z = np.stack([forms[name].wide(ring.symbols) for name in moving], 1)
    size = np.abs(z[:, :, 1:])
    scale = size.sum(2, keepdims=True)
    scaled = size / np.where(scale > 0, scale, 1.0)
    score = scaled.sum(1) - scaled.max(1)
    score[:, :kept] = np.inf
    order = np.argsort(-score, axis=1, kind="stable")
    stay, box = np.sort(order[:, :most], axis=1), order[:, most:]
    for i, name in enumerate(moving):
        coefficients = z[:, i, 1:]
        boxed = np.take_along_axis(size[:, i], box, 1).sum(1) * (1 + gamma(box.shape[1])) + TINY
        new = np.concatenate([z[:, i, :1], np.take_along_axis(coefficients, stay, 1)], 1)
        result[name] = less.fresh(Form(new, (forms[name].e + boxed) * (1 + gamma(2)), known=forms[name].known))
    return less, result
