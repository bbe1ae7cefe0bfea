"""Relaxation of a unit ``y = f(z)`` over forms, in both directions; the seat for other functions than ReLU.

Everything is in integers: z, y and the ends l <= z <= h in the unit of values, slopes over ``2**SLOPE_BITS``, the
coefficients a, a' of rows over ``2**ROW_BITS``. A unit gives two lines, and says for a row what it may become:

    lines(l, h) = (s, t-, t+)         s z + t- <= f(z) <= s z + t+  on [l, h]
    through(a, l, h) = (a', gain)     a f(z) - a' z >= gain         on [l, h]

Any a' is sound with its gain, as f enters by the ends alone. For ReLU, a f(z) - a' z is piecewise linear with its one
bend at 0, so its least value on [l, h] is one of those at l, h and, if it is between them, 0:

    l < 0 < h:  min(0, -a' l, (a - a') h)      l >= 0:  min((a - a') l, (a - a') h)      h <= 0:  min(-a' l, -a' h)

Where the sign of z is known, a' = a or 0 has the gain 0. In between, a' = floor(a s) for a < 0, which is s z + t+; for
a >= 0 it is a or 0, whichever of the two lower lines y >= z, y >= 0 leaves less between, with the gain 0.
"""

from __future__ import annotations

from typing import Protocol

SLOPE_BITS = 16
ROW_BITS = 32


class Unit(Protocol):
    """A function of one variable."""

    def lines(self, low: int, high: int) -> tuple[int, int, int]:
        """Slope and two offsets, over low < high."""
        ...

    def through(self, a: int, low: int, high: int) -> tuple[int, int]:
        """A coefficient of z for one of f(z), and the gain, over low <= z <= high."""
        ...


class Rectified:
    """``max(z, 0)`` over an interval with 0 within."""

    def lines(self, low: int, high: int) -> tuple[int, int, int]:
        """The chord's slope, rounded; from 0 to the greater one of the two ends' distances."""
        slope = ((high >> 4) << SLOPE_BITS) // (((high - low) >> 4) + 1)
        rest = (1 << SLOPE_BITS) - slope
        # an even offset, so that its middle is a whole number
        return slope, 0, 2 * max(-((low * slope) >> (SLOPE_BITS + 1)), -((-high * rest) >> (SLOPE_BITS + 1)))

    def through(self, a: int, low: int, high: int) -> tuple[int, int]:
        """See the module."""
        if a >= 0:
            return (a if high > -low else 0), 0
        slope, _, _ = self.lines(low, high)
        kept = (a * slope) >> SLOPE_BITS
        return kept, min((-kept * low) >> ROW_BITS, ((a - kept) * high) >> ROW_BITS)
