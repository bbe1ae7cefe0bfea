"""Two lines of one slope around a function over an interval: the rule of every function that is not linear.

``a x + low <= f(x) <= a x + high`` for all x from l to u. The slope is a whole multiple of 2^-16; any would be right,
as `low` and `high` are found for the one that is taken, in integers that are rounded outward. With h(x) = f(x) - a x:

- f convex: h is greatest at an end, and above its tangent at any point, whose least value is at an end. Concave: the
  same upside down. (The slope is that of the chord.)
- tanh and sigmoid around 0: f' falls on both sides of 0, so with a the least of f' at both ends h does not fall.
- sine and cosine at a turn: f'' is -f, and |f^(k)| <= 1, so with h half of the width, f is within h^2 / 2 times the
  lesser of 1 and |f(t)| + h / 3 of its tangent at the middle t.
- otherwise, and where the interval is tiny: a = 0, and the range of f.
"""

from __future__ import annotations

from collections.abc import Callable

from venmas.model.evaluation.elementary.function import DomainError, Function, Pair
from venmas.model.evaluation.elementary.registry import FUNCTIONS

SLOPE_BITS = 16
_TINY = 1 << 6
"""Width, in units, from which on nothing is gained by a slope."""
STEEPEST = ("tanh", "sigmoid")
"""Slopes of both are from 0 to 1, as networks need them."""
Lines = tuple[int, int, int]
Point = Callable[[int], Pair]


class OutsideError(ArithmeticError):
    """A value that may not exist: outside of a domain, or of a box that a flow stays in."""


def relaxed(name: str, low: int, high: int, bits: int) -> Lines:
    """Slope, in units of 2^-16, and both constants, in units of 2^-bits. Raises `OutsideError`."""
    if name == "relu":
        return _relu(low, high)
    if name == "reciprocal":
        return _reciprocal(low, high, bits)
    function = FUNCTIONS[name]
    try:
        if high - low < _TINY:
            return 0, *function.over(low, high, bits)
        return _function(function, low, high, bits)
    except DomainError as error:
        raise OutsideError(str(error)) from error


def _function(f: Function, low: int, high: int, bits: int) -> Lines:
    bent = f.curvature(low, high, bits)
    at: dict[int, Pair] = {}

    def value(x: int) -> Pair:
        if x not in at:
            at[x] = f.value(x, bits)
        return at[x]

    if bent:
        slope = ((value(high)[0] - value(low)[0]) << SLOPE_BITS) // (high - low)
        if f.name in STEEPEST:  # rounding may lead beyond the slopes that there are
            slope = min(max(slope, 0), 1 << SLOPE_BITS)
        return _bent(value, lambda x: f.slope(x, bits), slope, (low, high), bits, bent)
    if f.name in STEEPEST:
        slope = max(0, min(f.slope(low, bits)[0], f.slope(high, bits)[0]) >> (bits - SLOPE_BITS))
        return slope, _above(value, slope, low)[0], _above(value, slope, high)[1]
    if high - low > 3 << bits:
        return 0, *f.over(low, high, bits)
    middle = (low + high) >> 1
    least, most = f.slope(middle, bits)
    slope = least >> (bits - SLOPE_BITS)
    half = max(high - middle, middle - low)
    gap = most - (slope << (bits - SLOPE_BITS))  # the tangent's slope is less than so much above the one taken
    turn = min(max(map(abs, value(middle))) - (-half // 3), 1 << bits)
    rest = -(-half * gap >> bits) + -(-half * half * turn >> (2 * bits + 1))
    a, b = _above(value, slope, middle)
    return slope, a - rest, b + rest


def _bent(value: Point, derivative: Point, slope: int, ends: Pair, bits: int, bent: int) -> Lines:
    """A function that is convex (bent 1) or concave (-1) between the ends."""
    low, high = ends
    (a, b), (c, d) = (_above(value, slope, x) for x in ends)
    middle = (low + high) >> 1
    (v, w), (p, q) = value(middle), derivative(middle)
    before, after = low - middle, high - middle  # the first is negative
    if bent > 0:
        tangent = [v + (q * before >> bits), v + (p * after >> bits)]
        least = min(t + (-slope * x >> SLOPE_BITS) for t, x in zip(tangent, ends, strict=True))
        return slope, least, max(b, d)
    tangent = [w - (-p * before >> bits), w - (-q * after >> bits)]
    most = max(t - (slope * x >> SLOPE_BITS) for t, x in zip(tangent, ends, strict=True))
    return slope, min(a, c), most


def _above(value: Point, slope: int, x: int) -> Pair:
    """Ends of ``f(x) - slope x``."""
    low, high = value(x)
    return low + (-slope * x >> SLOPE_BITS), high - (slope * x >> SLOPE_BITS)


def _relu(low: int, high: int) -> Lines:
    """max(x, 0) - a x with 0 <= a <= 1 is convex: greatest at an end, and least, 0, at 0."""
    if low >= 0:
        return 1 << SLOPE_BITS, 0, 0
    if high <= 0:
        return 0, 0, 0
    slope = (high << SLOPE_BITS) // (high - low)
    return slope, 0, max(-(slope * low >> SLOPE_BITS), -(-((1 << SLOPE_BITS) - slope) * high >> SLOPE_BITS))


def _reciprocal(low: int, high: int, bits: int) -> Lines:
    """1 / x is convex above 0 and concave below."""
    if low <= 0 <= high:
        raise OutsideError("a divisor may be 0")
    one = 1 << (2 * bits)

    def value(x: int) -> Pair:
        return one // x, -(-one // x)

    if high - low < _TINY:
        return 0, value(high)[0], value(low)[1]

    def derivative(x: int) -> Pair:
        cube = 1 << (3 * bits)
        return -cube // (x * x), -(cube // (x * x))

    slope = ((value(high)[0] - value(low)[0]) << SLOPE_BITS) // (high - low)
    return _bent(value, derivative, slope, (low, high), bits, 1 if low > 0 else -1)
