"""Intervals in floats as midpoints and radii, in batches: a ring without symbols, for what need not be told as forms.

The first guess at where a flow goes on within a step, and the remainder of its series, are small against all else.
Rounding errors are bounded a priori and go into radii (`venmas.bounds.rounding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from venmas.bounds.affine import values
from venmas.bounds.affine.univariate import lines
from venmas.bounds.rounding import FEW, SMALLEST_NORMAL, TINY, Bools, Floats, ball, gamma, outward


class Box:
    """Midpoint, radius, and a bound of their sum but for its rounding: (B,) each."""

    __slots__ = ("mid", "rad", "size")

    def __init__(self, mid: Floats, rad: Floats) -> None:
        self.mid, self.rad = mid, rad
        self.size: Floats = np.abs(mid) + rad

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The interval, rounded outward: (B,) twice."""
        error = FEW * self.size
        return outward(self.mid - self.rad - error, self.mid + self.rad + error)


class Boxes:
    """The ring of intervals of a batch (`venmas.model.evaluation.jets.Ring`)."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.broken: Bools = np.zeros(size, dtype=bool)
        """(B,): where something may have no value."""

    def constant(self, value: Fraction) -> Box:
        """A rational."""
        near = float(value)
        exact = Fraction(near) == value
        return Box(np.full(self._size, near), np.full(self._size, 0.0 if exact else FEW * abs(near) + TINY))

    def between(self, lo: Floats, hi: Floats) -> Box:
        """Anything in an interval, (B,) twice."""
        return Box(*ball(lo, hi))

    def add(self, left: Box, right: Box) -> Box:
        """Sum."""
        return Box(left.mid + right.mid, left.rad + right.rad + (FEW * (left.size + right.size) + TINY))

    def scale(self, value: Box, factor: Fraction) -> Box:
        """Multiple."""
        c = float(factor)
        error = FEW * max(abs(c), SMALLEST_NORMAL) * value.size + TINY
        return Box(c * value.mid, abs(c) * value.rad + error)

    def multiply(self, left: Box, right: Box) -> Box:
        """Product; of one object with itself, its square."""
        most = left.size * right.size * (1 + 2 * FEW) + TINY
        if left is right:
            least = np.maximum(np.abs(left.mid) - left.rad - FEW * left.size, 0.0)
            return self.between(least * least * (1 - FEW), most)
        mid = left.mid * right.mid
        return Box(mid, most - np.abs(mid) + FEW * most)

    def dot(self, terms: Sequence[tuple[int, Box, Box]], divisor: int = 1) -> Box:
        """``sum n left right / divisor``; squares as products. Each term has five roundings, and their sums n more."""
        mid, most = np.zeros(self._size), np.zeros(self._size)
        least = np.zeros(self._size)
        for n, left, right in terms:
            part, size = left.mid * right.mid, left.size * right.size
            f = n / divisor
            if f != 1:
                part, size = f * part, f * size
            mid += part
            most += size
            least += np.abs(part)
        return Box(mid, most * (1 + 2 * gamma(len(terms) + 4)) - least + (gamma(len(terms) + 4) * most + TINY))

    def divide(self, left: Box, right: Box) -> Box:
        """Quotient; broken where the divisor may be 0."""
        return self.multiply(left, self.apply("reciprocal", right))

    def apply(self, function: str, value: Box) -> Box:
        """A function; broken where it may have no value. sin and cos: |f''| <= 1."""
        if function in ("sin", "cos"):
            sine, cosine = values.sin_cos(value.mid)
            at, slope = (sine, cosine) if function == "sin" else (cosine, sine)
            r = value.rad
            rad = np.minimum(r * (np.abs(slope) + 0.5 * r) * (1 + FEW) + 2 * values.WAVE_ERROR * (1 + r), 2.0)
            lost = np.isnan(at) | np.isnan(rad)
            return Box(np.where(lost, 0.0, at), np.where(lost, 1.0, rad))
        rule = lines(function, *value.ends)
        if rule.wrong is not None:
            self.broken |= rule.wrong
        mid, rad = ball(rule.lo, rule.hi)
        a, flat = np.abs(rule.slope), rule.slope == 0
        whole = np.where(flat, 0.0, a * value.size) + np.abs(mid) + rad
        rad = np.where(flat, 0.0, a * value.rad) + rad + (FEW * whole + TINY)
        return Box(np.where(flat, 0.0, rule.slope * value.mid) + mid, rad)
