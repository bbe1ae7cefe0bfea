"""Balls: integer midpoints and radii in units of 2^-bits, rounded outward; a ring for values of any width.

What is computed holds for every choice of points in the operands. Where an operation may have no value, or may have
one, `OpenValueError` says that this many bits do not tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm
from operator import mul

from venmas.errors import ModelError, VenmasError
from venmas.model.evaluation.elementary.function import DomainError
from venmas.model.evaluation.elementary.registry import FUNCTIONS
from venmas.nn import Layer, Network
from venmas.nn.network import SMOOTH


class OpenValueError(VenmasError):
    """A value, a comparison or a choice that enclosures of this precision leave open."""


@dataclass(frozen=True)
class Ball:
    """The numbers within ``rad`` of ``mid``, in units of 2^-bits."""

    mid: int
    rad: int
    bits: int

    @property
    def low(self) -> Fraction:
        """The lower end."""
        return Fraction(self.mid - self.rad, 1 << self.bits)

    @property
    def high(self) -> Fraction:
        """The upper end."""
        return Fraction(self.mid + self.rad, 1 << self.bits)


class Balls:
    """The ring of balls of one precision (`venmas.model.evaluation.jets.Ring`)."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def of(self, low: int, high: int) -> Ball:
        """The ball of two ends."""
        mid = (low + high) >> 1
        return Ball(mid, high - mid, self.bits)

    def constant(self, value: Fraction) -> Ball:
        """A rational."""
        mid, rest = divmod(value.numerator << self.bits, value.denominator)
        return Ball(mid, 1 if rest else 0, self.bits)

    def taken(self, ball: Ball) -> Ball:
        """A ball of another precision, in this one."""
        by = ball.bits - self.bits
        if by <= 0:
            return Ball(ball.mid << -by, ball.rad << -by, self.bits)
        return Ball(ball.mid >> by, (ball.rad >> by) + 2, self.bits)

    def add(self, left: Ball, right: Ball) -> Ball:
        """Sum."""
        return Ball(left.mid + right.mid, left.rad + right.rad, self.bits)

    def scale(self, value: Ball, factor: Fraction) -> Ball:
        """Multiple."""
        top, bottom = factor.numerator, factor.denominator
        if bottom == 1:
            return Ball(value.mid * top, value.rad * abs(top), self.bits)
        return Ball(value.mid * top // bottom, value.rad * abs(top) // bottom + 2, self.bits)

    def multiply(self, left: Ball, right: Ball) -> Ball:
        """Product; a square where both are one object."""
        a, b = abs(left.mid), abs(right.mid)
        if left is right and a < left.rad:
            return self.of(0, ((a + left.rad) ** 2 >> self.bits) + 1)
        spread = a * right.rad + b * left.rad + left.rad * right.rad
        inexact = 1 if left.mid and right.mid else 0
        return Ball(left.mid * right.mid >> self.bits, (spread >> self.bits) + inexact + bool(spread), self.bits)

    def dot(self, terms: Sequence[tuple[int, Ball, Ball]], divisor: int = 1) -> Ball:
        """``sum n left right / divisor``, rounded once; squares as products."""
        mid = rad = 0
        for n, left, right in terms:
            mid += n * left.mid * right.mid
            rad += n * (abs(left.mid) * right.rad + abs(right.mid) * left.rad + left.rad * right.rad)
        unit = divisor << self.bits
        middle, rest = divmod(mid, unit)
        return Ball(middle, -(-rad // unit) + bool(rest), self.bits)

    def divide(self, left: Ball, right: Ball) -> Ball:
        """Quotient. Raises `ModelError` for a divisor of 0, `OpenValueError` for one that may be 0."""
        if abs(right.mid) <= right.rad:
            if not right.rad:
                raise ModelError("a quotient divides by 0; guard the branch, or bound the divisor away from 0")
            raise OpenValueError("a divisor may be 0")
        low, high = right.mid - right.rad, right.mid + right.rad
        ends = [(n << self.bits, d) for n in (left.mid - left.rad, left.mid + left.rad) for d in (low, high)]
        return self.of(min(n // d for n, d in ends), max(-(-n // d) for n, d in ends))

    def apply(self, function: str, value: Ball) -> Ball:
        """A function. Raises `ModelError` outside of its domain, `OpenValueError` for what may lie outside."""
        low, high = value.mid - value.rad, value.mid + value.rad
        if function == "sqrt" and high < 0:
            raise ModelError("sqrt's operand is negative; guard the branch, or bound the operand by maximum(x, 0)")
        try:
            return self.of(*FUNCTIONS[function].over(low, high, self.bits))
        except DomainError as error:
            raise OpenValueError(f"{function} may have no value: {error}") from error

    def greatest(self, values: Sequence[Ball]) -> Ball:
        """The greatest of several."""
        return self.of(max(v.mid - v.rad for v in values), max(v.mid + v.rad for v in values))

    def network(self, network: Network, inputs: Sequence[Ball]) -> list[Ball]:
        """The outputs of a network."""
        values = list(inputs)
        for layer in network.layers:
            rows, bias, scale = _integers(layer)
            mids, rads = [v.mid for v in values], [v.rad for v in values]
            values = []
            for row, b in zip(rows, bias, strict=True):
                mid = sum(map(mul, row, mids), b << self.bits) // scale
                spread = sum(map(mul, map(abs, row), rads))
                values.append(Ball(mid, -(-spread // scale) + 1, self.bits))
            if layer.activation in SMOOTH:
                values = [self.apply(layer.activation, v) for v in values]
            elif layer.rectified:
                values = [_rectified(v) for v in values]
        return values


def _rectified(value: Ball) -> Ball:
    if value.mid >= value.rad:
        return value
    high = max(0, value.mid + value.rad)
    return Ball(high >> 1, high - (high >> 1), value.bits)


@lru_cache(maxsize=64)
def _integers(layer: Layer) -> tuple[list[list[int]], list[int], int]:
    """Weights and bias of a layer as integers over one denominator."""
    ratios = [[v.as_integer_ratio() for v in row] for row in (*layer.exact_weight, layer.exact_bias)]
    scale = lcm(*{d for row in ratios for _, d in row})
    whole = [[n * (scale // d) for n, d in row] for row in ratios]
    return whole[:-1], whole[-1], scale
