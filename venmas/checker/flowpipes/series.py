"""Values and derivatives of tanh, the sigmoid, sine and cosine at many points at once, in 64-bit integers.

About the nearest multiple t of 1/64, f(t + d) = sum_n c_n d^n with |d| <= 2^-7. The coefficients c_0 to c_7 are in
tables, in units of 2^-56, and off by less than two of these. At no real number is any coefficient greater than 2: by
Cauchy, |c_n| is at most the greatest |f| at complex numbers of distance 1, where |tanh| <= tan(1) < 1.56, as
|tanh(x + i y)| is at most the greater of 1 and tan |y|; the sigmoid is (1 + tanh(x / 2)) / 2; and of sine and cosine
|c_n| <= 1 / n!. So what is left out (Lagrange), c_8 d^8 at some number, is at most 2 2^-56, and of the derivative,
8 c_8 d^7, at most 16 2^-49.

Sums are made from the last coefficient on (Horner), and each product is floored: of the value less than
(2 + 1) (1 + 2^-7 + ..) units are lost, of the derivative less than (2 + 1) + (4 + 1) 2^-7 + (6 + 1) 2^-14 + .. < 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from venmas.checker.affine.products import floor_product
from venmas.checker.flowpipes.intervals import Intervals
from venmas.model.evaluation.elementary.function import Pair

Ints = NDArray[np.int64]

_TERMS, _STEP, _POINT, _WORK, _EXACT = 8, 6, 48, 56, 160
"""Coefficients; bits of the distance of points t, of operands, of coefficients, and of what these are made of."""
_FAR = 40 << _STEP
"""Points t are up to so many steps from 0."""
_LOST, _LOST_SLOPE = 8, (16 << 7) + 8
"""Units that values and derivatives are off by, at most: 3.1 + 2, and 4 + 16 2^7, and a few more."""
_LEAST: Mapping[str, int] = {"tanh": -1, "sigmoid": 0}
"""Functions that rise to 1, slower and slower on each side of 0, and what from."""


class Series:
    """Tables of a function, which are made as they are needed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._table = np.zeros((_TERMS, 2 * _FAR + 1), dtype=np.int64)
        self._made = np.zeros(2 * _FAR + 1, dtype=bool)

    def reaches(self, low: Ints, high: Ints, bits: int) -> bool:
        """Is it known between these ends, in units of 2^-bits?"""
        if bits > _POINT:
            return False
        far = _FAR << bits >> _STEP
        return self.name in _LEAST or bool(low.min(initial=0) >= -far and high.max(initial=0) <= far)

    def value(self, x: Ints, bits: int) -> tuple[Ints, Ints]:
        """Ends of values at points that it reaches, in units of 2^-bits."""
        place, d, beyond = self._near(x, bits)
        total = self._table[_TERMS - 1][place]
        for n in range(_TERMS - 2, -1, -1):
            total = floor_product(total, d, _POINT) + self._table[n][place]
        low, high = (total - _LOST) >> (_WORK - bits), -((-total - _LOST) >> (_WORK - bits))
        if beyond is not None:
            low = np.where(beyond < 0, _LEAST[self.name] << bits, low)
            high = np.where(beyond > 0, 1 << bits, high)
        return low, high

    def slope(self, x: Ints, bits: int) -> tuple[Ints, Ints]:
        """Ends of derivatives."""
        place, d, beyond = self._near(x, bits)
        total = (_TERMS - 1) * self._table[_TERMS - 1][place]
        for n in range(_TERMS - 2, 0, -1):
            total = floor_product(total, d, _POINT) + n * self._table[n][place]
        low, high = (total - _LOST_SLOPE) >> (_WORK - bits), -((-total - _LOST_SLOPE) >> (_WORK - bits))
        return (low if beyond is None else np.where(beyond, 0, low)), high

    def _near(self, x: Ints, bits: int) -> tuple[Ints, Ints, Ints | None]:
        """Places of points in the tables, distances from these, in units of 2^-48, and on which side they are beyond.

        Where functions rise to their ends, what they are beyond all tables is between that and their values there.
        """
        far, beyond = _FAR << bits >> _STEP, None
        if int(np.abs(x).max(initial=0)) > far:
            beyond = np.where(x > far, 1, np.where(x < -far, -1, 0))
            x = np.clip(x, -far, far)
        x = x << (_POINT - bits)
        step = (x + (1 << (_POINT - _STEP - 1))) >> (_POINT - _STEP)
        place = step + _FAR
        if not (ready := self._made[place]).all():
            for at in np.unique(place[~ready]).tolist():
                self._table[:, at], self._made[at] = coefficients(self.name, at - _FAR), True
        return place, x - (step << (_POINT - _STEP)), beyond


def coefficients(name: str, steps: int) -> list[int]:
    """The coefficients about so many 64ths, in units of 2^-56, which are off by at most two units."""
    ring, down = Intervals(_EXACT), _EXACT - _WORK
    at = steps << (_EXACT - _STEP)
    made: list[Pair] = [ring.apply(name, (at, at))]
    if name in ("sin", "cos"):
        sine, cosine = ring.apply("sin", (at, at)), ring.apply("cos", (at, at))
        minus = Fraction(-1)
        turns = [sine, cosine, ring.scale(sine, minus), ring.scale(cosine, minus)]
        made, factor = [], Fraction(1)
        for n in range(_TERMS):
            made.append(ring.scale(turns[(n + (name == "cos")) % 4], factor))
            factor /= n + 1
    while len(made) < _TERMS:  # t' = 1 - t^2, s' = s - s^2
        k = len(made) - 1
        square = ring.constant(Fraction(0))
        for i in range(k + 1):
            square = ring.add(square, ring.multiply(made[i], made[k - i]))
        first = made[k] if name == "sigmoid" else ring.constant(Fraction(int(k == 0)))
        rate = ring.add(first, ring.scale(square, Fraction(-1)))
        made.append(ring.scale(rate, Fraction(1, k + 1)))
    if any(high - low >= 1 << down for low, high in made):
        raise ArithmeticError("coefficients are not known well enough")
    return [low >> down for low, _ in made]


SERIES: Mapping[str, Series] = {name: Series(name) for name in ("tanh", "sigmoid", "sin", "cos")}
