"""Affine forms over boxes of integers, many boxes at once and exactly; in 64 bits, or in Python's integers where short.

Boxes are arrays low, high (B, n) of coordinates up to `MAX_COORDINATE` in size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.checker.exact.cell import Form
from venmas.checker.fixed_point.limbs import Ints
from venmas.checker.fixed_point.networks import LARGEST, VALUE_BITS

MAX_COORDINATE = 2**50
_ROOM = 62
MOST_LOOKS = 10_000
"""Boxes that are looked at to cover one, at most."""


class Lattice:
    """k forms over n coordinates, each in integers over a scale of its own: ``(weight @ y + constant) / scale``."""

    def __init__(self, forms: Sequence[Form], size: int) -> None:
        scales = [lcm(*(int(c.denominator) for c in form)) for form in forms]
        whole = [
            [int(c.numerator) * (s // int(c.denominator)) for c in form] for form, s in zip(forms, scales, strict=True)
        ]
        reach = [2 * (sum(map(abs, row[1:])) * MAX_COORDINATE + abs(row[0])) for row in whole]
        self.long = max([*reach, *scales], default=0) >= 2 ** (_ROOM - 1)
        self.kind: Any = object if self.long else np.int64
        weight = np.array([row[1:] for row in whole], dtype=self.kind).reshape(len(whole), size)
        self.weight = np.ascontiguousarray(weight.T)
        self.plus, self.minus = np.maximum(self.weight, 0), np.minimum(self.weight, 0)
        self.constant = np.array([row[0] for row in whole], dtype=self.kind)
        self.scale = np.array(scales, dtype=self.kind)
        self.steps = _ROOM - max(scales, default=1).bit_length() - 1

    def ends(self, low: Ints, high: Ints) -> tuple[NDArray[Any], NDArray[Any]]:
        """Least and greatest values over boxes, times the scales, (B, k) twice."""
        if self.long:
            low, high = low.astype(object), high.astype(object)
        least = low @ self.plus + high @ self.minus + self.constant
        return least, high @ self.plus + low @ self.minus + self.constant

    def around(self, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """The least integers boxes around the values. Raises `OverflowError` for coordinates that are too large."""
        least, greatest = self.ends(low, high)
        least, greatest = least // self.scale, -(-greatest // self.scale)
        if len(least) and max(int(greatest.max()), -int(least.min())) > MAX_COORDINATE:
            raise OverflowError("coordinates are too large for a table")
        return least.astype(np.int64), greatest.astype(np.int64)

    def fixed(self, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """The forms over places s in [-1, 1]^n in boxes, as `venmas.checker.fixed_point.networks` has them: (B, n + 1,
        k), (B, k).

        Twice the value is ``weight @ (low + high) + 2 constant + sum_k weight_k (high_k - low_k) s_k`` over the scale.
        Every coefficient is rounded down and so off by less than a unit, all together by less than n + 1.
        """
        if self.long:
            low, high = low.astype(object), high.astype(object)
        twice = np.empty((len(low), low.shape[1] + 1, len(self.scale)), dtype=self.kind)
        twice[:, 0] = (low + high) @ self.weight + 2 * self.constant
        twice[:, 1:] = (high - low)[:, :, None] * self.weight[None]
        z = self._in_units(twice)
        return z, np.full((len(low), len(self.scale)), low.shape[1] + 1, dtype=np.int64)

    def _in_units(self, twice: NDArray[Any]) -> Ints:
        """``floor(twice 2^40 / (2 scale))``: by long division with as many bits at a time as there is room for."""
        scale, bits = 2 * self.scale, VALUE_BITS
        step = bits if self.long else min(bits, self.steps)
        rounded = twice // scale
        if rounded.size and max(int(rounded.max()), -int(rounded.min())) >= LARGEST >> VALUE_BITS:
            raise OverflowError("inputs of a network are too large for the integers of tables")
        rest = twice - rounded * scale
        while bits:
            step = min(step, bits)
            rest = rest << step
            digit = rest // scale
            rounded, rest, bits = (rounded << step) + digit, rest - digit * scale, bits - step
        units: Ints = rounded.astype(np.int64)
        return units


def cover(low: Sequence[int], high: Sequence[int], boxes: Sequence[tuple[Sequence[int], Sequence[int]]]) -> bool:
    """Do closed boxes cover a box? What sticks out of one, side by side, is looked for in those after it."""
    waiting, looks = [(list(low), list(high), 0)], 0
    while waiting:
        low_, high_, first = waiting.pop()
        for at in range(first, len(boxes)):
            looks += 1
            a, b = boxes[at]
            ends = zip(low_, high_, a, b, strict=True)
            if all(max(p, r) < min(q, s) if p < q else r <= p <= s for p, q, r, s in ends):
                break
        else:
            return False
        if looks > MOST_LOOKS:
            return False
        for i in range(len(low_)):
            if low_[i] == high_[i]:
                continue
            for low_end, high_end in ((low_[i], a[i]), (b[i], high_[i])):
                if low_end < high_end:
                    left, right = list(low_), list(high_)
                    left[i], right[i] = low_end, high_end
                    waiting.append((left, right, at + 1))
            low_[i], high_[i] = max(low_[i], a[i]), min(high_[i], b[i])
    return True
