"""Exact arithmetic of numpy for products that 64 bits do not hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from venmas.checker.affine.scaled import Ints

_LEFT, _RIGHT = 27, 19
"""Bits of the limbs of values, below 2**54, and of weights, at most 2**36."""
_CHUNK = 128
"""As many products of limbs have a sum of at most 2**53, which floats hold exactly in any order of summation."""


class Factor:
    """A matrix of weights (n, m), |w| <= 2**36, that values are multiplied with."""

    def __init__(self, matrix: Ints) -> None:
        self._out = matrix.shape[1]
        limbs = [(0, matrix & ((1 << _RIGHT) - 1)), (_RIGHT, matrix >> _RIGHT)]
        self._limbs = [(place, limb) for place, limb in limbs if limb.any()] or limbs[:1]
        self._right = np.concatenate([limb for _, limb in self._limbs], axis=1).astype(np.float64)
        places = [(_LEFT * high + place, high, i) for high in (0, 1) for i, (place, _) in enumerate(self._limbs)]
        self._terms = sorted(places, key=lambda term: term[0])

    def times(self, left: Ints, add: int, shift: int) -> Ints:
        """``floor((left @ matrix + add) / 2**shift)`` for left (.., n), |left| < 2**54, 0 <= add < 2**63, exactly.

        The sum is split by powers of two, lowest first; what is below the shift is carried by floors of floors, and
        what is above wraps, which does not matter as long as the result is in (-2**63, 2**63).
        """
        n, out = left.shape[-1], self._out
        flat = left.reshape(-1, n)
        both = np.empty((2, len(flat), n))
        both[0], both[1] = flat & ((1 << _LEFT) - 1), flat >> _LEFT
        product = self._exact(both.reshape(-1, n), n).reshape(2, len(flat), -1)
        total, at = np.full((len(flat), out), add, dtype=np.int64), 0
        for place, high, i in self._terms:
            term = product[high, :, i * out : (i + 1) * out]
            if step := min(place, shift) - at:
                total >>= step
                at += step
            total += term if place <= shift else term << (place - shift)
        total >>= shift - at
        return total.reshape(*left.shape[:-1], out)

    def _exact(self, both: NDArray[np.float64], n: int) -> Ints:
        if n <= _CHUNK:
            return (both @ self._right).astype(np.int64)
        total = np.zeros((len(both), self._right.shape[1]), dtype=np.int64)
        for first in range(0, n, _CHUNK):
            part = slice(first, first + _CHUNK)
            total += (both[:, part] @ self._right[part]).astype(np.int64)
        return total


def floor_product(a: Ints, b: Ints, shift: int) -> Ints:
    """``floor(a b / 2**shift)`` for |a|, |b| < 2**60, 30 <= shift <= 60 and a result in (-2**63, 2**63), exactly."""
    a_low, a_high = a & _MASK, a >> 30
    b_low, b_high = b & _MASK, b >> 30
    middle = ((a_low * b_low) >> 30) + a_low * b_high + a_high * b_low
    return np.asarray((middle >> (shift - 30)) + ((a_high * b_high) << (60 - shift)))


_MASK = (1 << 30) - 1


def scaled_down(x: Ints, factor: Ints, add: int, shift: int) -> Ints:
    """``floor((x factor + add) / 2**shift)`` for |x| < 2**60, 0 <= factor <= 2**16, 16 <= shift <= 20, exactly."""
    low = (x & 0xFFFF) * factor + add
    return np.asarray(((low >> 16) + (x >> 16) * factor) >> (shift - 16))
