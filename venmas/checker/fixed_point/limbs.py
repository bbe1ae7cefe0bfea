"""Exact products of integer matrices by float64 BLAS: each factor in limbs so short that no partial sum is rounded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

LARGEST = 2**61
"""Results are less than this in size."""


class Factor:
    """The right factor of products, (n, m) int64, split into limbs once.

    With ``w = (53 - bits of n) // 2`` an integer is ``sum_a limb_a 2^(w a)``, all limbs from 0 to ``2^w - 1`` but the
    highest, which has the sign and is at most ``2^w`` in size. A product of two limbs is at most ``2^(2 w)`` in size,
    and a sum of n < 2^(bits of n) of them less than ``2^53``: every partial sum is an integer that a float64 holds, in
    any order and fused or not, so that the BLAS product is exact.
    """

    def __init__(self, matrix: Ints) -> None:
        rows = max(1, matrix.shape[0])
        self.width = (53 - rows.bit_length()) // 2
        self.limbs = _limbs(matrix, self.width)
        self.sums = float(np.abs(matrix.astype(float)).sum(0).max(initial=0.0))
        self.shape = matrix.shape

    def shifted(self, left: Ints, shift: int) -> Ints:
        """``floor(left @ matrix / 2^shift)``, exactly, for left (B, n) of entries less than 2^62 in size.

        Limbs of equal weight are summed (at most four, far below 2^63) and carried upward from the lowest: a floor of
        a floor is the floor of the whole. What is left of the shift, s < w, acts on the limb that it falls into and on
        higher ones as multiplication by ``2^(w - s)``; these are summed modulo 2^64, which is right since the result
        is small. Raises `OverflowError` where it may not be.
        """
        most = float(max(int(left.max(initial=0)), -int(left.min(initial=0))))
        if most >= 2.0**62 or most * self.sums * 1.0001 >= LARGEST * 2.0**shift:
            raise OverflowError("a product of integers is too large")
        mine = _limbs(left, self.width)
        carried: Ints = np.zeros((left.shape[0], self.shape[1]), dtype=np.int64)
        result: Ints | None = None
        above = 0
        for place in range(len(mine) + len(self.limbs) - 1):
            for a in range(max(0, place - len(self.limbs) + 1), min(place + 1, len(mine))):
                part = (mine[a] @ self.limbs[place - a]).astype(np.int64)
                carried = carried + part if result is None else part
                if result is not None:
                    result += part << above
            if result is not None:
                above += self.width
            elif shift >= self.width:
                carried >>= self.width
                shift -= self.width
            else:
                result, above = carried >> shift, self.width - shift
        return carried >> shift if result is None else result


def _limbs(matrix: Ints, width: int) -> list[NDArray[np.float64]]:
    """The limbs of integers, lowest first, as floats."""
    most = max(int(matrix.max(initial=0)), -int(matrix.min(initial=0)))
    count = max(1, -(-most.bit_length() // width))
    low = [(matrix >> width * i) & ((1 << width) - 1) for i in range(count - 1)]
    return [limb.astype(np.float64) for limb in (*low, matrix >> width * (count - 1))]
