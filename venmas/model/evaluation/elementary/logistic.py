"""The sigmoid and the hyperbolic tangent, by the exponential function of a negative number."""

from __future__ import annotations

import numpy as np

from venmas.model.evaluation.elementary.exponential import exp_enclosure
from venmas.model.evaluation.elementary.function import Floats, Increasing, Pair, narrowed

_GUARD = 8


class _Bent(Increasing):
    """Base of both: convex below 0, concave above."""

    def curvature(self, low: int, high: int, bits: int) -> int:
        """See `Function`."""
        return -1 if low >= 0 else 1 if high <= 0 else 0


class Sigmoid(_Bent):
    """1 / (1 + exp(-x)), with the derivative s (1 - s)."""

    name, ulps = "sigmoid", 32

    def at(self, x: Floats) -> Floats:
        """See `Function`. Of exp(-|x|), so that nothing overflows and small values keep their digits."""
        e = np.exp(-np.abs(x))
        return np.where(x >= 0, 1.0, e) / (1.0 + e)

    def value(self, x: int, bits: int) -> Pair:
        """See `Function`. For x >= 0 it falls with e = exp(-x); sigmoid(-x) = 1 - sigmoid(x)."""
        work = bits + _GUARD
        low, high = exp_enclosure(-(abs(x) << _GUARD), work)
        one, square = 1 << work, 1 << (2 * work)
        low, high = square // (one + high), -(-square // (one + low))
        if x < 0:
            low, high = one - high, one - low
        return narrowed((low, high), _GUARD)

    def slope(self, x: int, bits: int) -> Pair:
        """See `Function`. s (1 - s) falls as s moves away from 1/2; for x <= 0 it rises with s."""
        work = bits + _GUARD
        low, high = self.value(-(abs(x) << _GUARD), work)
        one = 1 << work
        high = min(high, one >> 1)
        return narrowed((low * (one - low) >> work, -(-high * (one - high) >> work)), _GUARD)


class Tanh(_Bent):
    """(1 - exp(-2 x)) / (1 + exp(-2 x)), with the derivative 1 - t^2."""

    name, ulps = "tanh", 16

    def at(self, x: Floats) -> Floats:
        """See `Function`."""
        return np.tanh(x)

    def value(self, x: int, bits: int) -> Pair:
        """See `Function`. For x >= 0 it falls with exp(-2 x); it is odd."""
        work = bits + _GUARD
        least, most = exp_enclosure(-(abs(x) << (_GUARD + 1)), work)
        one = 1 << work
        if most > one:
            least, most = min(least, one), one
        low, high = ((one - most) << work) // (one + most), -(-((one - least) << work) // (one + least))
        return narrowed((-high, -low) if x < 0 else (low, high), _GUARD)

    def slope(self, x: int, bits: int) -> Pair:
        """See `Function`."""
        work = bits + _GUARD
        low, high = self.value(abs(x) << _GUARD, work)
        one = 1 << (2 * work)
        return narrowed((max(0, one - high * high), one - low * low), work + _GUARD)


SIGMOID, TANH = Sigmoid(), Tanh()
