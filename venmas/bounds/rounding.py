"""Rounding errors of float64 arithmetic, bounded a priori: each constant that an enclosure rests on, derived.

The model (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., 2002, sections 2.1 and 2.2): where nothing
overflows, ``fl(a op b) = (a op b) (1 + d) + t`` with ``abs(d) <= u``, ``abs(t) <= 2**-1075``, and t = 0 for sums. A
fused multiply-add rounds once and another order of additions changes neither bound, so they hold for compiled code as
well. What overflows is infinite or no number, and says nothing.

Compiled kernels repeat these numbers as literals, because numba's cache notices a change of the kernel's own file only;
tests/bounds/test_rounding.py compares them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Index = NDArray[np.intp]

UNIT_ROUNDOFF = 2.0**-53
"""u: half the distance from 1 to the next float; the relative error of one operation (Higham, Theorem 2.2)."""

FEW = 8 * UNIT_ROUNDOFF
"""Relative room for up to six roundings: ``(1 + FEW) (1 - u)**7 >= 1``, the product with ``1 + FEW`` counted in."""

SMALLEST_NORMAL = 2.0**-1022
"""A rational coefficient c below it, as a float f, may have lost all its digits: then ``abs(f - c) <= 2**-1075``, which
is ``u * SMALLEST_NORMAL``. So ``u * max(abs(f), SMALLEST_NORMAL)`` bounds the rounding of any coefficient."""

TINY = 2.0**-1000
"""What underflow may lose in a sum of products: each loses at most ``2**-1075``, so TINY covers ``2**75`` of them, more
than memory holds. Multiplied by u it is still ``2**22`` units of the last place that a float has, so that a bound which
is scaled by a relative error does not vanish."""

UNIT_ROUNDOFF_32 = 2.0**-24
"""The unit roundoff of float32."""
NORMAL_32 = 2.0**-126
"""The least normal float32: at most what flush to zero loses in one operation."""
LOST_32 = 2 * NORMAL_32
"""What underflow loses in one operation, gradual or flushed to zero, and in a result that is flushed as it is read."""
UNIT_ERROR_32 = 2.0**-20
"""Absolute error of tanh and sigmoid in float32, an assumption about runtimes (docs/semantics.md, S2)."""
HUGE_32 = 2.0**126
"""A quarter of where float32 overflows: below it, no partial sum with its rounding errors does."""

EXP_ERROR = 2.0**-46
"""Relative error of exp in `venmas.bounds.affine.values`, which derives these three."""
UNIT_ERROR = 2.0**-44
"""Absolute error of tanh and sigmoid there."""
WAVE_ERROR = 2.0**-46
"""Absolute error of sin and cos there, of angles up to 2^20."""


def gamma(n: int) -> float:
    """The bound of the relative error of a sum or an inner product of n terms in any order, with four roundings more.

    Lemma 3.1 of Higham: a product of n factors ``(1 + d)**(+-1)`` is ``1 + t`` with ``abs(t) <= n u / (1 - n u)``. The
    four roundings are for what surrounds the sum: the addition of a bias, that of the bound itself, and the errors of
    second order, u times a gamma, with which the bound and the sizes in it are computed.
    """
    return (n + 4) * UNIT_ROUNDOFF / (1 - (n + 4) * UNIT_ROUNDOFF)


@lru_cache(maxsize=2)
def gammas(most: int) -> Floats:
    """``gamma(n)`` for n < most, as an array that compiled code reads: (most,)."""
    table = np.array([gamma(n) for n in range(most)])
    table.flags.writeable = False
    return table


def float_beside(value: Fraction, direction: int) -> float:
    """The float next to a rational that is not above it (direction -1), or not below it (1)."""
    near = float(value)
    beyond = Fraction(near) >= value if direction > 0 else Fraction(near) <= value
    return near if beyond else float(np.nextafter(near, direction * np.inf))


def ball(lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
    """Centre and radius of intervals, each of the shape of lo and hi: [lo, hi] lies in [centre - r, centre + r].

    Any centre would do. The radius is the greater of two differences that are rounded once, hence the float after it.
    """
    centre = 0.5 * lo + 0.5 * hi
    return centre, np.nextafter(np.maximum(hi - centre, centre - lo), np.inf)


def outward(lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
    """Ends of intervals in which no number, the result of an overflow, says nothing."""
    return np.where(np.isnan(lo), -np.inf, lo), np.where(np.isnan(hi), np.inf, hi)
