"""Values of functions in floats with proven error bounds.

The functions of libm have no bound that all of them honour, so these are computed by additions, products and divisions
alone, of which IEEE 754 bounds each one (`venmas.bounds.rounding`). With u = 2**-53:

- exp: ``x = k ln 2 + r`` with ``|r| <= 0.347``; ln 2 is a sum of two floats, the first of 42 bits, so that its product
  with k (11 bits) is exact; r is off by less than u. Taylor's polynomial of degree 13 leaves ``r**14 / 14! < u / 16``;
  Horner's rule is off by less than ``gamma(30) exp(|r|)``. Relative to exp(r) >= 0.7 all of it is below ``2**-46``.
- tanh, sigmoid: from exp(-2 |x|), exp(-|x|), at which their derivatives are at most 2: below ``2**-44``.
- sin, cos: ``x = n pi/2 + r`` with ``|r| <= 0.786`` for ``|x| <= 2**20``; pi/2 is a sum of three floats, the first two
  of 33 bits, so that their products with n (20 bits) are exact; r is off by less than 4 u. The polynomials of degree
  17 and 16 leave less than u / 8; Horner's rule is off by less than ``gamma(20) cosh(0.786)``. Below ``2**-46``.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial, floor

import numpy as np

from venmas.bounds.rounding import EXP_ERROR as EXP_ERROR
from venmas.bounds.rounding import UNIT_ERROR as UNIT_ERROR
from venmas.bounds.rounding import WAVE_ERROR as WAVE_ERROR
from venmas.bounds.rounding import Floats

MOST_EXPONENT, MOST_ANGLE = 700.0, 2.0**20

PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
LN2 = Fraction("0.69314718055994530941723212145817656807550013436025525412068000949339362196969471")
"""Cut off after 80 digits: beyond all floats that are made of them."""


def _parts(value: Fraction, bits: tuple[int, ...]) -> list[float]:
    """Floats that add up to the value, each but the last a multiple of ``2**-bits``."""
    pieces = []
    for b in bits:
        part = Fraction(floor(value * 2**b), 2**b)
        pieces.append(float(part))
        value -= part
    return [*pieces, float(value)]


_LN2 = _parts(LN2, (42,))
_HALF_PI = _parts(PI / 2, (32, 65))
_PER_LN2, _PER_HALF_PI = float(1 / LN2), float(2 / PI)
_EXP = [1 / factorial(n) for n in range(14)]
_SIN = [(-1) ** n / factorial(2 * n + 1) for n in range(9)]
_COS = [(-1) ** n / factorial(2 * n) for n in range(9)]


def _horner(coefficients: list[float], x: Floats) -> Floats:
    value = np.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value *= x
        value += c
    return value


def exp(x: Floats) -> Floats:
    """exp of numbers between -700 and 700, others are taken to the nearer end; off by `EXP_ERROR`, relatively."""
    x = np.minimum(np.maximum(x, -MOST_EXPONENT), MOST_EXPONENT)
    k = np.rint(x * _PER_LN2)
    value = _horner(_EXP, (x - k * _LN2[0]) - k * _LN2[1])
    return np.ldexp(value, np.nan_to_num(k).astype(np.int32))


def tanh(x: Floats) -> Floats:
    """tanh, off by `UNIT_ERROR`; beyond 350 it is nearer to 1 than any float."""
    e = exp(-2 * np.abs(x))
    return np.copysign((1 - e) / (1 + e), x)


def sigmoid(x: Floats) -> Floats:
    """``1 / (1 + exp(-x))``, off by `UNIT_ERROR`."""
    e = exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1 + e)


def sin_cos(x: Floats) -> tuple[Floats, Floats]:
    """sin and cos, off by `WAVE_ERROR` where ``|x| <= MOST_ANGLE``, and no numbers elsewhere."""
    x = np.where(np.abs(x) <= MOST_ANGLE, x, np.nan)
    n = np.rint(x * _PER_HALF_PI)
    r = ((x - n * _HALF_PI[0]) - n * _HALF_PI[1]) - n * _HALF_PI[2]
    square = r * r
    sine, cosine = r * _horner(_SIN, square), _horner(_COS, square)
    quarter = np.nan_to_num(n).astype(np.int64) & 3
    odd = (quarter & 1).astype(bool)
    sine, cosine = np.where(odd, cosine, sine), np.where(odd, sine, cosine)
    return np.where(quarter >= 2, -sine, sine), np.where((quarter == 1) | (quarter == 2), -cosine, cosine)
