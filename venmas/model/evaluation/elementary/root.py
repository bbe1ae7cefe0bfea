"""The square root."""

from __future__ import annotations

from math import isqrt

import numpy as np

from venmas.model.evaluation.elementary.function import DomainError, Floats, Increasing, Pair


class Root(Increasing):
    """sqrt: concave; it has no derivative at 0."""

    name, ulps = "sqrt", 1

    def at(self, x: Floats) -> Floats:
        """See `Function`."""
        with np.errstate(invalid="ignore"):
            return np.sqrt(x)

    def value(self, x: int, bits: int) -> Pair:
        """See `Function`."""
        if x < 0:
            raise DomainError("the square root of a negative number")
        low = isqrt(x << bits)
        return low, low + (low * low != x << bits)

    def slope(self, x: int, bits: int) -> Pair:
        """See `Function`. 1 / (2 sqrt(x))."""
        if x <= 0:
            raise DomainError("the square root has no derivative at 0")
        low, high = self.value(x << bits, 2 * bits)  # as many bits again: small roots keep their digits
        one = 1 << (3 * bits)
        return one // (2 * high), -(-one // (2 * low))

    def curvature(self, low: int, high: int, bits: int) -> int:
        """See `Function`."""
        return -1


SQRT = Root()
