"""The univariate rule: a function over intervals between two parallel lines (docs/certificates.md).

For x in [low, high], ``lo <= f(x) - a x <= hi``:

- f convex on [low, high]: a is the slope of the chord; f - a x is greatest at an end, and nowhere below the tangent in
  the middle. Concave: the other way round. Sound for any a, so its rounding costs nothing.
- tanh, sigmoid with 0 inside: a is the lesser slope at the ends; the derivative rises up to 0 and falls from there, so
  that f - a x does not fall: its ends are those of f(low) - a low and f(high) - a high.
- sin, cos over an inflection: a is the slope in the middle t; the second derivative there is -f(t), and the third is at
  most 1, so that with h half of the width the remainder is at most h^2 / 2 times the lesser of 1 and |f(t)| + h / 3.
  Beyond a width of 3: a = 0, within [-1, 1].

Boxes too narrow for a chord take the slope in the middle. Values come from `venmas.bounds.affine.values`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from venmas.bounds.affine import values
from venmas.bounds.relaxation import chord
from venmas.bounds.rounding import FEW, TINY, UNIT_ROUNDOFF, Bools, Floats, outward

_NARROW = 1 / 2**20
_PI = float(values.PI)
_HALF = _PI / 2
Known = tuple[Floats, Floats, Floats, Floats]
"""Value and derivative at points, each followed by a bound of its error."""


@dataclass(frozen=True)
class Lines:
    """``lo <= f(x) - slope x <= hi``; wrong: where the interval is not inside the function's domain."""

    slope: Floats
    lo: Floats
    hi: Floats
    wrong: Bools | None = None


@dataclass(frozen=True)
class Curve:
    """Value and derivative at points, each with a bound of its error; closed range of the function."""

    at: Callable[[Floats], Known]
    ends: tuple[float, float] = (-np.inf, np.inf)


def _exp(x: Floats) -> Known:
    v = values.exp(x)
    error = v * values.EXP_ERROR
    # beyond the ends it is somewhere between 0 or the greatest number that is computed, and what it is there
    error = np.where(x > values.MOST_EXPONENT, np.inf, np.where(x < -values.MOST_EXPONENT, v, error))
    return v, error, v, error


def _tanh(x: Floats) -> Known:
    v = values.tanh(x)
    return v, np.full_like(v, values.UNIT_ERROR), 1 - v * v, np.full_like(v, 3 * values.UNIT_ERROR)


def _sigmoid(x: Floats) -> Known:
    v = values.sigmoid(x)
    return v, np.full_like(v, values.UNIT_ERROR), v * (1 - v), np.full_like(v, 2 * values.UNIT_ERROR)


def _sin(x: Floats) -> Known:
    sine, cosine = values.sin_cos(x)
    error = np.full_like(sine, values.WAVE_ERROR)
    return sine, error, cosine, error


def _cos(x: Floats) -> Known:
    sine, cosine = values.sin_cos(x)
    error = np.full_like(sine, values.WAVE_ERROR)
    return cosine, error, -sine, error


def _sqrt(x: Floats) -> Known:
    v = np.sqrt(x)  # rounded correctly, as IEEE 754 asks
    slope = 0.5 / v
    return v, v * UNIT_ROUNDOFF + TINY, slope, slope * FEW


def _reciprocal(x: Floats) -> Known:
    v = 1 / x
    return v, np.abs(v) * UNIT_ROUNDOFF + TINY, -v * v, v * v * FEW + TINY


CURVES = {
    "exp": Curve(_exp, (0.0, np.inf)),
    "tanh": Curve(_tanh, (-1.0, 1.0)),
    "sigmoid": Curve(_sigmoid, (0.0, 1.0)),
    "sin": Curve(_sin, (-1.0, 1.0)),
    "cos": Curve(_cos, (-1.0, 1.0)),
    "sqrt": Curve(_sqrt, (0.0, np.inf)),
    "reciprocal": Curve(_reciprocal),
    "relu": Curve(_reciprocal, (0.0, np.inf)),  # by `venmas.bounds.relaxation`
}


def lines(function: str, low: Floats, high: Floats) -> Lines:
    """Two parallel lines around a function over intervals [low, high] of one shape; infinite ends say nothing."""
    with np.errstate(all="ignore"):
        curve = CURVES[function]
        wrong = ~(low > 0) & ~(high < 0) if function == "reciprocal" else ~(low >= 0) if function == "sqrt" else None
        rule = _RULES[function](curve, low, high)
        usable = np.isfinite(low) & np.isfinite(high) & np.isfinite(rule.slope)
        lo, hi = outward(rule.lo, rule.hi)
        flat = ~usable | ~np.isfinite(lo) | ~np.isfinite(hi)
        least, most = curve.ends
        return Lines(np.where(flat, 0.0, rule.slope), np.where(flat, least, lo), np.where(flat, most, hi), wrong)


def _three(curve: Curve, low: Floats, high: Floats) -> tuple[Floats, Known]:
    """The middle, and what is known at both ends and there: (3, ...) each."""
    t = 0.5 * low + 0.5 * high
    return t, curve.at(np.stack([low, high, t]))


def _curved(known: tuple[Floats, Known], low: Floats, high: Floats, convex: Bools) -> Lines:
    """The rule of functions that are convex, or else concave, on the interval."""
    t, (value, error, slopes, bents) = known
    (fl, fu, ft), (el, eu, et), slope, bent = value, error, slopes[2], bents[2]
    a = (fu - fl) / (high - low)
    a = np.where((high - low > _NARROW * np.maximum(np.abs(low), np.abs(high))) & (high - low > _NARROW), a, slope)
    size = np.abs(a) * np.maximum(np.abs(low), np.abs(high))
    # each of the sums below has at most seven roundings, relative to what is added up; FEW is room for six
    chord = 2 * FEW * (np.maximum(np.abs(fl), np.abs(fu)) + size) + np.maximum(el, eu) + TINY
    up, down = np.maximum(fl - a * low, fu - a * high) + chord, np.minimum(fl - a * low, fu - a * high) - chord
    back, ahead = low - t, high - t
    reach = np.maximum(np.abs(back), np.abs(ahead))
    tangent = 2 * FEW * (np.abs(ft) + np.abs(slope) * (reach + np.abs(t)) + size) + 2 * (et + bent * reach) + TINY
    first, second = ft + slope * back - a * low, ft + slope * ahead - a * high
    return Lines(
        a,
        np.where(convex, np.minimum(first, second) - tangent, down),
        np.where(convex, up, np.maximum(first, second) + tangent),
    )


def _convex(curve: Curve, low: Floats, high: Floats) -> Lines:
    return _curved(_three(curve, low, high), low, high, np.ones(low.shape, dtype=bool))


def _unit(curve: Curve, low: Floats, high: Floats) -> Lines:
    """tanh and sigmoid."""
    known = _three(curve, low, high)
    rule = _curved(known, low, high, high <= 0)
    inside = (low < 0) & (high > 0)
    if not inside.any():
        return rule
    (fl, fu, _), (el, eu, _), (sl, su, _), (bl, bu, _) = known[1]
    a = np.maximum(np.minimum(sl - bl, su - bu) * (1 - FEW), 0.0)
    lo = fl - a * low - el - FEW * (np.abs(fl) + a * np.abs(low)) - TINY
    hi = fu - a * high + eu + FEW * (np.abs(fu) + a * np.abs(high)) + TINY
    return Lines(
        np.where(inside, a, rule.slope), np.where(inside, lo, rule.lo), np.where(inside, hi, rule.hi), rule.wrong
    )


def _wave(curve: Curve, low: Floats, high: Floats, shift: float) -> Lines:
    """sin (shift 0) and cos (pi/2): concave on [k pi, (k+1) pi] - shift for even k, convex for odd k."""
    t, known = _three(curve, low, high)
    k = np.floor((t + shift) / _PI)
    margin = 8 * UNIT_ROUNDOFF * (np.abs(k) + 2) * _PI  # the roundings of k pi - shift, and that of pi
    one = (low >= k * _PI - shift + margin) & (high <= (k + 1) * _PI - shift - margin)
    rule = _curved((t, known), low, high, np.remainder(k, 2) == 1)
    ft, et, a, bent = (part[2] for part in known)
    half = np.maximum(high - t, t - low) * (1 + FEW)
    turn = np.minimum((np.abs(ft) + et + half / 3) * (1 + FEW), 1.0)
    rest = (0.5 * half * half * turn + bent * half + et + FEW * (np.abs(ft) + np.abs(a * t))) * (1 + FEW) + TINY
    flat = ~(high - low <= 3.0)
    return Lines(
        np.where(flat, 0.0, np.where(one, rule.slope, a)),
        np.where(flat, -1.0, np.where(one, rule.lo, ft - a * t - rest)),
        np.where(flat, 1.0, np.where(one, rule.hi, ft - a * t + rest)),
    )


def _sine(curve: Curve, low: Floats, high: Floats) -> Lines:
    return _wave(curve, low, high, 0.0)


def _cosine(curve: Curve, low: Floats, high: Floats) -> Lines:
    return _wave(curve, low, high, _HALF)


def _root(curve: Curve, low: Floats, high: Floats) -> Lines:
    rule = _curved(_three(curve, low, high), low, high, np.zeros(low.shape, dtype=bool))
    vertical = ~(low > 0)  # no tangent is known there
    least, most = np.sqrt(np.maximum(low, 0.0)), np.sqrt(np.maximum(high, 0.0))
    return Lines(
        np.where(vertical, 0.0, rule.slope),
        np.where(vertical, np.nextafter(least, -1.0), rule.lo),
        np.where(vertical, np.nextafter(most, np.inf), rule.hi),
    )


def _ramp(curve: Curve, low: Floats, high: Floats) -> Lines:
    slope, lift = chord(low, high)
    return Lines(slope, np.zeros(low.shape), lift)


def _inverse(curve: Curve, low: Floats, high: Floats) -> Lines:
    rule = _curved(_three(curve, low, high), low, high, low > 0)
    wrong = ~(low > 0) & ~(high < 0)
    return Lines(rule.slope, np.where(wrong, -np.inf, rule.lo), np.where(wrong, np.inf, rule.hi))


_RULES: dict[str, Callable[[Curve, Floats, Floats], Lines]] = {
    "exp": _convex,
    "tanh": _unit,
    "sigmoid": _unit,
    "sin": _sine,
    "cos": _cosine,
    "sqrt": _root,
    "reciprocal": _inverse,
    "relu": _ramp,
}
