"""Ascent on the slopes of lower lines: linear bounds are substituted backward again, with better lines (alpha-CROWN).

For any ``alpha`` in [0, 1], ``max(x, 0) >= alpha x``: a lower line of an open unit with a coefficient c >= 0. At the
corner where the form that comes of a substitution is least, the relaxed network has a value z before each unit, and
there the slope of the bound in alpha is ``c z``. Steps are those of Adam without a correction of its start, in which
units with small and with large coefficients move alike (Xu et al., *Fast and complete: enabling complete verification
with rapid and massively parallel incomplete verifiers*, ICLR 2021). The ends of units stay those of the forms: a step
costs two products with a vector a layer, where the forms took one with a vector for each symbol.

No bound rests on what is computed here: each substitution is sound with any slopes, and the best one counts.
`venmas.bounds.compiled.crown_slopes_kernel` is the compiled twin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.budget import ask
from venmas.model.transform.program import ProgramLayer

ROUNDS = 8
"""Steps on a box. Of those that 20 close on generated loops, 8 close all but a few."""
TRIAL, HOPE = 3, 3.0
"""After so many steps it ends where what is missing is more than so many times what they gained."""
PACE, SQUARE = 0.7, 0.9
"""Parts of the running means of slopes and of their squares that a step keeps."""
NOISE = 1e-6
"""Part of the greatest slope of a box below which one is hardly followed: rounding may have made its sign."""


class Slopes:
    """Slopes of the lower lines of units, arrays (B, n) by layer: alpha, and what a step needs to improve them.

    pull: the coefficients that the lines met in the last substitution, which writes them.
    """

    def __init__(self, lo: Sequence[Floats], hi: Sequence[Floats], chords: Sequence[tuple[Floats, Floats]]) -> None:
        """lo, hi: ends of pre-activations, by layer, of which that further from 0 chooses the first line; chords: of
        them (`relaxation.chord`)."""
        self.lo, self.hi, self.chords = lo, hi, chords
        self.alpha = [np.where(h > -a, 1.0, 0.0) for a, h in zip(lo, hi, strict=True)]
        self.pull = [np.zeros_like(a) for a in lo]
        self._pace = [np.zeros_like(a) for a in lo]
        self._square = [np.zeros_like(a) for a in lo]

    def ascend(self, layers: Sequence[ProgramLayer], corner: Floats, step: int) -> None:
        """One step (the first is 0), from the corner (B, m) at which the last form is least."""
        h, most = corner, np.zeros((len(corner), 1))
        for k, (layer, lo, hi, (slope, lift)) in enumerate(zip(layers, self.lo, self.hi, self.chords, strict=True)):
            ask()
            z = h @ layer.weights.T + layer.bias
            crossing = layer.relu & (lo < 0) & (hi > 0)
            below = self.pull[k] >= 0
            gain = np.where(crossing & below, self.pull[k] * z, 0.0)
            line = np.where(below, self.alpha[k] * z, slope * z + lift)
            h = np.where(layer.relu & (hi <= 0), 0.0, np.where(crossing, line, z))
            self._pace[k] = PACE * self._pace[k] + (1 - PACE) * gain
            self._square[k] = SQUARE * self._square[k] + (1 - SQUARE) * gain * gain
            most = np.maximum(most, self._square[k].max(1, keepdims=True))
        for alpha, pace, square in zip(self.alpha, self._pace, self._square, strict=True):
            move = pace / (np.sqrt(square) + NOISE * np.sqrt(most)) / np.sqrt(step + 1.0)
            np.clip(alpha + np.nan_to_num(move), 0.0, 1.0, out=alpha)
