"""Sine and cosine, by Taylor series after a reduction with an enclosure of pi."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from venmas.model.evaluation.elementary.function import Floats, Pair, narrowed

_FAR = 64
"""Bits before the point from which on nothing is computed: the values are between -1 and 1."""
_GUARD = 24


@lru_cache(64)
def pi_enclosure(bits: int) -> Pair:
    """Ends of pi, in units of 2^-bits, by Machin's formula: pi = 16 atan(1/5) - 4 atan(1/239)."""
    work = bits + _GUARD
    (a, b), (c, d) = _atan_of_inverse(5, work), _atan_of_inverse(239, work)
    return narrowed((16 * a - 4 * d, 16 * b - 4 * c), _GUARD)


def _atan_of_inverse(n: int, work: int) -> Pair:
    """atan(1/n) = sum of (-1)^k / ((2k+1) n^(2k+1)): alternating, falling; what is left is below the next term."""
    low = high = 0
    k, power = 0, n
    while True:
        term = (1 << work) // (power * (2 * k + 1))
        if not term:
            return low - 1, high + 1
        if k % 2:
            low, high = low - term - 1, high - term
        else:
            low, high = low + term, high + term + 1
        k, power = k + 1, power * n * n


def _series(r: int, work: int, first: int) -> Pair:
    """sin (first 1) or cos (first 0) of 0 <= r < 1: the terms alternate and fall, so the rest is below the next one."""
    square_low, square_high = r * r >> work, -(-r * r >> work)
    least = most = r if first else 1 << work
    low = high = least
    n, sign = first, 1
    while most > 1:
        least = (least * square_low >> work) // ((n + 1) * (n + 2))
        most = -((-most * square_high >> work) // ((n + 1) * (n + 2)))
        n, sign = n + 2, -sign
        low, high = (low + least, high + most) if sign > 0 else (low - most, high - least)
    return low - most, high + most


def _sine(x: int, bits: int, quarters: int) -> Pair:
    """sin(x + quarters pi / 2)."""
    if abs(x) >> bits >= 1 << _FAR:
        return -(1 << bits), 1 << bits
    work = bits + _GUARD + max(0, x.bit_length() - bits)
    scaled = x << (work - bits)
    least, most = pi_enclosure(work)
    n = (2 * scaled + (least >> 1)) // least  # the nearest multiple of pi / 2, or one beside it: |r| < 0.8
    ends = sorted((2 * scaled - n * least, 2 * scaled - n * most))
    low, high = ends[0] >> 1, -(-ends[1] >> 1)
    turn = (n + quarters) % 4
    if turn % 2:  # cos falls with |r|
        far = max(abs(low), abs(high))
        near = 0 if low <= 0 <= high else min(abs(low), abs(high))
        low, high = _series(far, work, 0)[0], _series(near, work, 0)[1]
    else:
        low, high = _signed(low, work)[0], _signed(high, work)[1]
    if turn >= 2:
        low, high = -high, -low
    one = 1 << bits
    low, high = narrowed((low, high), work - bits)
    return max(low, -one), min(high, one)


def _signed(r: int, work: int) -> Pair:
    if r >= 0:
        return _series(r, work, 1)
    low, high = _series(-r, work, 1)
    return -high, -low


class Sine:
    """sin(x + quarters pi / 2), in radians: the sine, and with one quarter the cosine."""

    ulps = 16

    def __init__(self, name: str, quarters: int) -> None:
        self.name, self.quarters = name, quarters

    def at(self, x: Floats) -> Floats:
        """See `Function`."""
        with np.errstate(invalid="ignore"):
            return np.cos(x) if self.quarters else np.sin(x)

    def value(self, x: int, bits: int) -> Pair:
        """See `Function`."""
        return (1 << bits, 1 << bits) if self.quarters and not x else _sine(x, bits, self.quarters)

    def slope(self, x: int, bits: int) -> Pair:
        """See `Function`."""
        return _sine(x, bits, self.quarters + 1)

    def over(self, low: int, high: int, bits: int) -> Pair:
        """See `Function`. Between the values at the ends, unless it turns in between."""
        one = 1 << bits
        (a, b), (c, d) = self.value(low, bits), self.value(high, bits)
        first, last = self._halves(low, bits, 1)[0], self._halves(high, bits, 1)[1]
        tops = range(first + 1, last + 1)  # half turns pi / 2 + m pi that may lie between; m even: greatest values
        most = one if any(m % 2 == 0 for m in tops[:2]) else max(b, d)
        least = -one if any(m % 2 for m in tops[:2]) else min(a, c)
        return least, most

    def _halves(self, x: int, bits: int, shift: int) -> Pair:
        """Ends of floor((x + (quarters - shift) pi / 2) / pi): between which multiples of pi it lies."""
        work = bits + _GUARD + max(0, x.bit_length() - bits)
        scaled = 2 * (x << (work - bits))
        ends = [(scaled + (self.quarters - shift) * pi) // (2 * pi) for pi in pi_enclosure(work)]
        return min(ends), max(ends)

    def curvature(self, low: int, high: int, bits: int) -> int:
        """See `Function`. It is concave where it is positive: between an even multiple of pi and the next one."""
        first, last = self._halves(low, bits, 0), self._halves(high, bits, 0)
        if first[0] != last[1]:
            return 0
        return 1 if first[0] % 2 else -1


SIN, COS = Sine("sin", 0), Sine("cos", 1)
