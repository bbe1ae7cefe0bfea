"""The relaxation of ReLU between two parallel lines: the one derivation that every enclosure in floats uses.

For x in [lo, hi], lo < 0 < hi, and any slope s in [0, 1], ``max(x, 0) - s x`` is convex in x, is 0 at x = 0 and nowhere
negative, and takes its greatest value at an end: ``-s lo`` at lo, ``(1 - s) hi`` at hi. Hence

    s x <= max(x, 0) <= s x + lift,    lift = max(-s lo, (1 - s) hi).

With ``s = hi / (hi - lo)`` both ends are equal, the upper line is the chord of ReLU, and the area between the lines is
least. The bounds hold for every s in [0, 1], so the rounding of s itself costs nothing. It is used in three ways:

- zonotope: ``s x + lift / 2`` with a new symbol, or a radius, of lift / 2 (Singh et al., *Fast and effective robustness
  certification*, NeurIPS 2018, Theorem 3.1);
- two affine forms (DeepPoly): the chord above; below, x or 0 (Singh et al., *An abstract domain for certifying neural
  networks*, POPL 2019, section 3);
- backward substitution (CROWN): the chord above where the coefficient is negative, x or 0 below where it is not (Zhang
  et al., *Efficient neural network robustness certification with general activation functions*, NeurIPS 2018).

`venmas.bounds.compiled.relaxation_kernel` is the compiled twin. The checker has a relaxation of its own, in integers.
"""

from __future__ import annotations

import numpy as np

from venmas.bounds.rounding import FEW, TINY, Floats


def chord(lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
    """(slope, lift) over [lo, hi], elementwise: slope in [0, 1], lift rounded up; (1, 0) where lo >= 0, (0, 0) where
    hi <= 0.

    lift takes three roundings (``1 - s``, a product, the sum with TINY), which FEW covers, and products that underflow,
    which TINY covers. Where an end is infinite, the slope is 0 or 1 and lift is the other end: s = 1 gives
    ``max(x, 0) <= x - lo``, and s = 0 gives ``max(x, 0) <= hi``.
    """
    with np.errstate(all="ignore"):
        slope = np.clip(np.nan_to_num(hi / (hi - lo), nan=1.0), 0.0, 1.0)
        lift = np.where(slope == 1, -lo, np.where(slope == 0, hi, np.maximum(-slope * lo, (1 - slope) * hi)))
        lift = lift * (1 + FEW) + TINY
    known = (lo >= 0) | (hi <= 0)
    return np.where(lo >= 0, 1.0, np.where(hi <= 0, 0.0, slope)), np.where(known, 0.0, lift)


def rounding(mass: Floats, lift: Floats) -> Floats:
    """The error of computing ``s z + lift`` coefficient by coefficient; mass: the sum of a form's absolute values.

    Each coefficient rounds once, the constant twice: together at most ``2 u (mass + lift)``. Adding this error and lift
    to a radius or a constant rounds three times more, relative to what is added up. FEW covers the five; TINY covers
    coefficients that underflow, and keeps the error from vanishing where mass does.
    """
    return FEW * (mass + lift) + TINY
