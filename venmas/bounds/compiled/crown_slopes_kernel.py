"""Ascent on the slopes of lower lines, compiled: the twin of `venmas.bounds.crown_slopes`, one box at a time.

`slopes` holds, for the units of all layers, the slope of the lower line, the coefficient that met it last, and the two
running means of the ascent.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# numba infers the types

from __future__ import annotations

import numpy as np
from numba import njit

from venmas.bounds.compiled.relaxation_kernel import chord

PACE, SQUARE, NOISE = 0.7, 0.9, 1e-6  # those of bounds.crown_slopes
_ANYORDER = {"contract", "reassoc", "nsz"}


@njit(cache=True, error_model="numpy")
def start(units, room, slopes):
    """The lower lines of the first so many units as they are chosen without an ascent."""
    lo, hi = room[-4], room[-3]
    alpha, _pull, pace, square = slopes
    for j in range(units):
        alpha[j] = 1.0 if hi[j] > -lo[j] else 0.0
        pace[j] = 0.0
        square[j] = 0.0


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def ascend(network, layers, corner, step, room, slopes, lines):
    """One step, from the corner at which the last form is least; no bound is made of what is computed here."""
    sizes, begins, offsets, _weights, rows, biases, relus, _errors = network
    lo, hi = room[-4], room[-3]
    alpha, pull, pace, square = slopes
    one, two = lines
    n = sizes[0]
    one[:n] = corner
    most = 0.0
    for layer in range(layers):
        at, width = begins[layer], sizes[layer + 1]
        w = rows[offsets[layer] : offsets[layer] + width * n].reshape((width, n))
        for q in range(width):
            value = biases[at + q] + _dot(w[q], one, n)
            bottom, above = lo[at + q], hi[at + q]
            gain = 0.0
            if relus[at + q] and bottom < 0:
                if above <= 0:
                    value = 0.0
                elif pull[at + q] >= 0:
                    gain = pull[at + q] * value
                    value *= alpha[at + q]
                else:
                    s, lift = chord(bottom, above)
                    value = s * value + lift
            two[q] = value
            pace[at + q] = PACE * pace[at + q] + (1 - PACE) * gain
            square[at + q] = SQUARE * square[at + q] + (1 - SQUARE) * gain * gain
            most = max(most, square[at + q])
        one[:width] = two[:width]
        n = width
    if not most > 0 or not most < np.inf:
        return
    size, floor = 1 / np.sqrt(step + 1.0), NOISE * np.sqrt(most)
    for j in range(begins[layers]):
        moved = alpha[j] + size * pace[j] / (np.sqrt(square[j]) + floor)
        if moved == moved:
            alpha[j] = min(max(moved, 0.0), 1.0)


@njit(cache=True, error_model="numpy", fastmath=_ANYORDER)
def _dot(a, b, n):
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total
