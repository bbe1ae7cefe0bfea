"""Two lines of one slope around a function over many intervals at once, in 64-bit integers.

The rule is that of `venmas.checker.flowpipes.univariate`: ``a x + low <= f(x) <= a x + high`` for x in the interval,
with any slope a that is a whole multiple of 2^-16. Curves which have no rule of many intervals are asked one by one.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.checker.affine.products import floor_product, scaled_down
from venmas.checker.flowpipes.series import SERIES, Series
from venmas.checker.flowpipes.univariate import SLOPE_BITS, STEEPEST, OutsideError, relaxed

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Lines: TypeAlias = tuple[Ints, Ints, Ints]

ONE = 1 << SLOPE_BITS
"""The slope 1."""
_TINY = 1 << 6
_FITS = 1 << 60


class BeyondError(ArithmeticError):
    """Integers too large for 64 bits, or a value that may not exist: other ways may do."""


class UnsupportedError(Exception):
    """Something that is followed in single sets only."""


def sloped(x: Ints, slope: Ints) -> Ints:
    """``floor(x slope / 2^16)`` for |x| < 2^60 and |slope| < 2^43."""
    if bool(((slope >= 0) & (slope <= ONE)).all()):
        return scaled_down(x, slope, 0, SLOPE_BITS)
    return floor_product(x, slope << SLOPE_BITS, 2 * SLOPE_BITS)


def lines(function: str, low: Ints, high: Ints, bits: int) -> Lines:
    """Slopes, in units of 2^-16, and both constants, in units of 2^-bits, for intervals of any shape.

    low, high: below 2^59 in size, and in order. Raises `BeyondError`.
    """
    if function == "relu":
        return rectified(low, high)
    series = SERIES.get(function)
    if series is not None and series.reaches(low, high, bits):
        return _curved(series, low, high, bits)
    return _one_by_one(function, low, high, bits)


def rectified(low: Ints, high: Ints) -> Lines:
    """max(x, 0) - a x with 0 <= a <= 1 is convex: greatest at an end, and least, 0, at 0. a is rounded as it comes."""
    down = max(int(np.maximum(-low, high).max(initial=0)).bit_length() - 44, 0)
    above, wide = np.maximum(high, 0) >> down, (np.maximum(high, 0) >> down) - (np.minimum(low, 0) >> down)
    slope = (above << SLOPE_BITS) // np.maximum(wide, 1)
    slope = np.where(low >= 0, ONE, np.where(high <= 0, 0, slope))
    most = np.maximum(
        scaled_down(-low, slope, ONE - 1, SLOPE_BITS), scaled_down(high, ONE - slope, ONE - 1, SLOPE_BITS)
    )
    return slope, np.zeros_like(slope), np.where((low >= 0) | (high <= 0), 0, most)


def _one_by_one(function: str, low: Ints, high: Ints, bits: int) -> Lines:
    """The lines of the rule for one interval."""
    known: dict[tuple[int, int], tuple[int, int, int]] = {}
    made = []
    for ends in zip(low.reshape(-1).tolist(), high.reshape(-1).tolist(), strict=True):
        if ends not in known:
            try:
                known[ends] = relaxed(function, *ends, bits)
            except OutsideError as error:
                raise BeyondError(str(error)) from error
            if max(map(abs, known[ends])) >= _FITS:
                raise BeyondError("a function is too large")
        made.append(known[ends])
    slope, least, most = np.array(made, dtype=np.int64).reshape(-1, 3).T
    return slope.reshape(low.shape), least.reshape(low.shape), most.reshape(low.shape)


def _curved(f: Series, low: Ints, high: Ints, bits: int) -> Lines:
    """tanh, the sigmoid, sine, cosine: each is between its values, and their chords and tangents, with |f'| <= 1.

    Sine and cosine f'' = -f: where they are of one sign at both ends of less than half a turn, they are so between.
    """
    steep = f.name in STEEPEST
    wide, middle = high - low, (low + high) >> 1
    at_low, at_high, at_middle = f.value(low, bits), f.value(high, bits), f.value(middle, bits)
    slope_middle = steepness(f.name, at_middle, bits) if steep else f.slope(middle, bits)
    if steep:
        concave, convex = low >= 0, high <= 0
    else:
        near = wide < 3 << bits
        concave = near & (at_low[0] > 0) & (at_high[0] > 0)
        convex = near & (at_low[1] < 0) & (at_high[1] < 0)
    down = max(bits - 44, 0)
    chord = (((at_high[0] - at_low[0]) >> down) << SLOPE_BITS) // np.maximum(wide >> down, 1)
    chord = np.minimum(np.maximum(chord, 0 if steep else -ONE), ONE)
    if steep:
        ends = np.minimum(steepness(f.name, at_low, bits)[0], steepness(f.name, at_high, bits)[0])
        other = np.minimum(np.maximum(ends >> (bits - SLOPE_BITS), 0), ONE)
    else:
        other = np.minimum(np.maximum(slope_middle[0] >> (bits - SLOPE_BITS), -ONE), ONE)
    slope = np.where(concave | convex, chord, other)
    above_low, above_high = _above(at_low, slope, low), _above(at_high, slope, high)
    least, most = _bent(at_middle, slope_middle, (low, middle, high), slope, bits)
    lower = np.where(convex, least, np.minimum(above_low[0], above_high[0]))
    upper = np.where(concave, most, np.maximum(above_low[1], above_high[1]))
    if steep:  # around 0, with the least slope at both ends, f(x) - a x does not fall: its ends are those at both ends
        # without a slope f rises, wherever it is: what the tangent, or the width, says of it may be more
        return _flat(slope, lower, upper, (wide < _TINY) | (slope == 0), at_low[0], at_high[1])
    turn = ~(concave | convex)
    least, most = _turning(at_middle, slope_middle, (low, middle, high), slope, bits)
    lower, upper = np.where(turn, least, lower), np.where(turn, most, upper)
    far = turn & (wide > 3 << bits)
    tiny = wide < _TINY
    one = np.int64(1 << bits)
    first, last = np.where(far, -one, at_middle[0] - wide), np.where(far, one, at_middle[1] + wide)
    return _flat(slope, lower, upper, far | tiny, first, last)


def steepness(name: str, value: tuple[Ints, Ints], bits: int) -> tuple[Ints, Ints]:
    """Ends of the derivative of tanh, 1 - t^2, or the sigmoid, 1/4 - (s - 1/2)^2, from those of its values."""
    half, top = (0, 1 << bits) if name == "tanh" else (1 << bits >> 1, 1 << bits >> 2)
    low, high = value[0] - half, value[1] - half
    far = np.maximum(-low, high)
    near = np.maximum(np.maximum(low, -high), 0)
    return top - _times(far, far, bits) - 1, top - _times(near, near, bits)


def _flat(slope: Ints, lower: Ints, upper: Ints, flat: Bools, first: Ints, last: Ints) -> Lines:
    """The same, without a slope where it is flat."""
    return np.where(flat, 0, slope), np.where(flat, first, lower), np.where(flat, last, upper)


def _bent(
    at: tuple[Ints, Ints], slopes: tuple[Ints, Ints], points: tuple[Ints, Ints, Ints], slope: Ints, bits: int
) -> tuple[Ints, Ints]:
    """Ends of the tangent in the middle less a x: the lower one where f is convex, the upper one of a concave f."""
    (v, w), (p, q), (low, middle, high) = at, slopes, points
    before, after = low - middle, high - middle  # the first is not positive
    least = np.minimum(
        v + _times(q, before, bits) + sloped(-low, slope),
        v + _times(p, after, bits) + sloped(-high, slope),
    )
    most = np.maximum(
        w - _times(-p, before, bits) - sloped(low, slope),
        w - _times(-q, after, bits) - sloped(high, slope),
    )
    return least, most


def _turning(
    at: tuple[Ints, Ints], slopes: tuple[Ints, Ints], points: tuple[Ints, Ints, Ints], slope: Ints, bits: int
) -> tuple[Ints, Ints]:
    """Sine and cosine within h^2 / 2 times the lesser of 1 and |f(t)| + h / 3 of the tangent in the middle t."""
    low, middle, high = points
    half = np.minimum(np.maximum(high - middle, middle - low), 2 << bits)  # those that are wider are flat
    gap = slopes[1] - (slope << (bits - SLOPE_BITS))
    size = np.maximum(np.abs(at[0]), np.abs(at[1])) - (-half // 3)
    turn = np.minimum(size, 1 << bits)
    square = _times(half, half, bits) + 1
    rest = _times(half, gap, bits) + 1 + (_times(square, turn, bits) + 2 >> 1)
    least, most = _above(at, slope, middle)
    return least - rest, most + rest


def _above(at: tuple[Ints, Ints], slope: Ints, x: Ints) -> tuple[Ints, Ints]:
    """Ends of ``f(x) - a x``."""
    return at[0] + sloped(-x, slope), at[1] - sloped(x, slope)


def _times(a: Ints, b: Ints, bits: int) -> Ints:
    """``floor(a b / 2^bits)`` for |a| of at most 2^(bits + 2) and |b| < 2^60, shifted by 30 bits at least."""
    up = max(30 - bits, 0)
    return floor_product(a << up, b, bits + up)
