"""Heuristics for boxes that are not shown free: inputs to cut across, and weights of rows. Nothing rests on them."""

from __future__ import annotations

import numpy as np

from venmas.checker.affine.scaled import Bools, Ints
from venmas.model.transform.program import Floats

STEPS, DIGIT = 12, 63
"""Rounds of mixing, and the greatest weight."""


def shares(z: Ints, before: Floats, born: Bools, rows: int) -> Floats:
    """(B, symbols, inputs): whose inputs' doing a symbol is, given that of the symbols of forms z (B, 1 + g, n).

    That of a new one is that of the form that it comes from. born: (B, n), which units have one; rows: 1 + symbols.
    """
    result = np.zeros((len(z), rows - 1, before.shape[2]))
    result[:, : before.shape[1]] = before
    size = np.abs(z[:, 1:].astype(np.float64))
    of_units = size.transpose(0, 2, 1) @ before / np.maximum(size.sum(1), 1.0)[:, :, None]
    box, unit = np.nonzero(born)
    result[box, before.shape[1] + np.cumsum(born, axis=1)[box, unit] - 1] = of_units[box, unit]
    return result


def weights(z: Ints, radii: Ints, best: Ints) -> Ints:
    """(B, rows): weights of rows with forms z (B, 1 + g, rows), whose combination is large, the greatest `DIGIT`.

    Multiplicative weights, from the best row (B,) on: those that are small where the combination is least lose.
    """
    forms, error = z.transpose(0, 2, 1).astype(np.float64), radii.astype(np.float64)
    count, k, _ = forms.shape
    each = np.arange(count)
    kept = np.zeros((count, k))
    kept[each, best] = 1.0
    lowest = _lower(kept, forms, error)
    trial = 0.7 * kept + 0.3 / k
    for step in range(STEPS):
        value = _lower(trial, forms, error)
        better = value > lowest
        lowest, kept = np.where(better, value, lowest), np.where(better[:, None], trial, kept)
        sign = np.where((trial[:, None] @ forms)[:, 0] > 0, -1.0, 1.0)
        sign[:, 0] = 1.0
        at = (forms @ sign[:, :, None])[:, :, 0] - error
        scale = np.maximum(np.abs(at).max(1, keepdims=True), 1.0)
        trial = trial * np.exp(2.0 * at / scale / np.sqrt(step + 1.0))
        trial /= trial.sum(1, keepdims=True)
    return np.asarray(np.rint(DIGIT * kept / kept.max(1, keepdims=True)), dtype=np.int64)


def _lower(mix: Floats, forms: Floats, error: Floats) -> Floats:
    """The least values (B,) of combinations of forms."""
    form = (mix[:, None] @ forms)[:, 0]
    return np.asarray(form[:, 0] - np.abs(form[:, 1:]).sum(1) - (mix * error).sum(1))
