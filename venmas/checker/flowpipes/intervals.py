"""Intervals in integers of units of 2^-bits, rounded outward: for Picard boxes and remainders of flows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from venmas.checker.flowpipes.univariate import OutsideError
from venmas.model.evaluation.elementary.function import DomainError, Pair
from venmas.model.evaluation.elementary.registry import FUNCTIONS


class Intervals:
    """The ring of intervals (`venmas.model.evaluation.jets.Ring`). Different quantities must be different objects."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def constant(self, value: Fraction) -> Pair:
        """A rational."""
        low = (value.numerator << self.bits) // value.denominator
        return low, low + (low * value.denominator != value.numerator << self.bits)

    def add(self, left: Pair, right: Pair) -> Pair:
        """Sum, exactly."""
        return left[0] + right[0], left[1] + right[1]

    def scale(self, value: Pair, factor: Fraction) -> Pair:
        """Multiple."""
        p, q = factor.numerator, factor.denominator
        low, high = (value[0] * p, value[1] * p) if p >= 0 else (value[1] * p, value[0] * p)
        return low // q, -(-high // q)

    def multiply(self, left: Pair, right: Pair) -> Pair:
        """Product; of one object with itself, its square."""
        return self.dot(((1, left, right),))

    def dot(self, terms: Sequence[tuple[int, Pair, Pair]], divisor: int = 1) -> Pair:
        """``sum n left right / divisor``, rounded once."""
        low = high = 0
        for n, left, right in terms:
            least, most = _product(left, right)
            low, high = low + n * least, high + n * most
        unit = divisor << self.bits
        return low // unit, -(-high // unit)

    def divide(self, left: Pair, right: Pair) -> Pair:
        """Quotient. Raises `OutsideError` where the divisor may be 0."""
        a, b = right
        if a <= 0 <= b:
            raise OutsideError("a divisor may be 0")
        one = 1 << (2 * self.bits)
        return self.multiply(left, (one // b, -(-one // a)))

    def apply(self, function: str, value: Pair) -> Pair:
        """A function of one variable. Raises `OutsideError` where it may have no value."""
        try:
            return FUNCTIONS[function].over(*value, self.bits)
        except DomainError as error:
            raise OutsideError(str(error)) from error


def _product(left: Pair, right: Pair) -> Pair:
    """Ends in units of 2^-(2 bits), exactly."""
    (a, b), (c, d) = left, right
    if left is right:
        far, near = max(-a, b), 0 if a <= 0 <= b else min(abs(a), abs(b))
        return near * near, far * far
    ends = (a * c, a * d, b * c, b * d)
    return min(ends), max(ends)
