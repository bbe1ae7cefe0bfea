"""Interface of elementary functions of one real variable: values, slope and curvature, all rigorous.

Scaled integers: x stands for ``x * 2**-bits``. Pairs are lower and upper ends, rounded outward.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Pair = tuple[int, int]


class DomainError(ArithmeticError):
    """An operand at which a function has no value, such as the square root of a negative number."""


class Function(Protocol):
    """A function that is differentiable inside its domain.

    name: in expressions and files. ulps: how far `at` may be off, in units in the last place of the value; what C
    libraries and numpy's own loops stay below, by a wide margin (numpy tests its loops against 4).
    """

    name: str
    ulps: int

    def at(self, x: Floats) -> Floats:
        """Values in floats; NaN outside of the domain."""

    def value(self, x: int, bits: int) -> Pair:
        """Enclosure of the value, both in units of 2^-bits. Raises `DomainError`."""

    def slope(self, x: int, bits: int) -> Pair:
        """Enclosure of the derivative. Raises `DomainError`, also at an end of the domain where there is none."""

    def over(self, low: int, high: int, bits: int) -> Pair:
        """Enclosure of all values between low and high. Raises `DomainError`."""

    def curvature(self, low: int, high: int, bits: int) -> int:
        """1: convex from low to high; -1: concave; 0: neither is known."""


class Increasing:
    """Base of functions that do not decrease: the range is that of the ends."""

    def value(self, x: int, bits: int) -> Pair:
        """See `Function`."""
        raise NotImplementedError

    def over(self, low: int, high: int, bits: int) -> Pair:
        """See `Function`."""
        return self.value(low, bits)[0], self.value(high, bits)[1]


def narrowed(pair: Pair, by: int) -> Pair:
    """A pair in units that are 2**by times as large, rounded outward."""
    low, high = pair
    return (low >> by, -(-high >> by)) if by >= 0 else (low << -by, high << -by)
