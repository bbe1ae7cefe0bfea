"""A network over many boxes at once: zonotopes in float64, with bounds on their rounding errors.

A unit is ``centre + sum(generators * e) + slack * d`` for some e and d in [-1, 1], the e shared by all units; the slack
takes what rounding may do. A sum of n products that is computed in any order, fused or not, differs from the exact one
by at most ``n u / (1 - n u)`` times the sum of the absolute products, u = 2^-53 (Higham, Accuracy and Stability of
Numerical Algorithms, section 3.1), and by 2^-1074 for every product that underflows. All bounds here are taken twice as
large as that and more, which covers that they are rounded themselves. What overflows becomes infinite or no number, and
excludes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from venmas.nn import Network

Floats = NDArray[np.float64]

_UNIT = 2.0**-53
_UNDERFLOW = 1e-290
"""More than a million products that underflow may lose."""
_UP = 1 + 2.0**-30
"""What makes a computed sum of at most 2^20 terms that are not negative an upper bound of the exact one."""
MOST_TERMS = 2**20
"""Widest layer that this holds for."""


class Zonotopes:
    """Units (B, m): `centre` and `slack` (B, m), `generators` (B, k, m)."""

    def __init__(self, centre: Floats, generators: Floats, slack: Floats) -> None:
        self.centre, self.generators, self.slack = centre, generators, slack

    @staticmethod
    def independent(low: Floats, high: Floats) -> Zonotopes:
        """Values between ends (B, m), each by itself."""
        centre = low + 0.5 * (high - low)
        reach = np.maximum(high - centre, centre - low)
        rounding = 4 * _UNIT * (np.abs(low) + np.abs(high)) * (reach != 0) + _UNDERFLOW * (reach != 0)
        whole = (np.trunc(low) == low) & (np.trunc(high) == high) & (np.maximum(np.abs(low), np.abs(high)) <= 2.0**51)
        batch, size = low.shape
        generators = np.zeros((batch, size, size))
        generators[:, np.arange(size), np.arange(size)] = reach
        return Zonotopes(centre, generators, np.where(whole | (low == high), 0.0, rounding))

    def _size(self) -> Floats:
        """At least the greatest absolute value of each unit, the slack left out."""
        size: Floats = (np.abs(self.centre) + np.abs(self.generators).sum(1)) * _UP + _UNDERFLOW
        return size

    def ends(self) -> tuple[Floats, Floats]:
        """Least and greatest values (B, m), rounded outward."""
        reach = (np.abs(self.generators).sum(1) + self.slack) * _UP + _UNDERFLOW * (self.slack != 0)
        reach = np.where(np.any(self.generators != 0, axis=1) | (self.slack != 0), reach, 0.0)
        low, high = self.centre - reach, self.centre + reach
        spread = reach != 0
        return np.where(spread, np.nextafter(low, -np.inf), low), np.where(spread, np.nextafter(high, np.inf), high)

    def affine(self, weight: Floats, bias: Floats, error: float) -> Zonotopes:
        """``weight @ x + bias``; error: a bound on the relative error of the weights."""
        size, absolute = self._size(), np.abs(weight).T
        terms = weight.shape[1] + 4
        relative = 2 * (terms * _UNIT / (1 - terms * _UNIT)) + 2 * error
        lost = relative * (size @ absolute + np.abs(bias)) * _UP + _UNDERFLOW
        return Zonotopes(
            self.centre @ weight.T + bias,
            self.generators @ weight.T,
            (self.slack @ absolute * (1 + 2 * error) + lost) * _UP,
        )

    def rectified(self) -> Zonotopes:
        """``max(x, 0)``: exact where a sign is known, else between ``s x`` and ``s x + most`` with 0 <= s <= 1."""
        low, high = self.ends()
        slope = np.where(low >= 0, 1.0, np.where(high <= 0, 0.0, np.clip(high / (high - low), 0.0, 1.0)))
        open_ = ~((low >= 0) | (high <= 0))
        most = np.where(open_, np.maximum(-slope * low, (1 - slope) * high) * _UP + _UNDERFLOW, 0.0)
        half = 0.5 * most
        lost = np.where(open_, 8 * _UNIT * (slope * self._size() + most) * _UP + _UNDERFLOW, 0.0)
        columns = np.flatnonzero(open_.any(0))
        fresh = np.zeros((len(low), len(columns), low.shape[1]))
        fresh[:, np.arange(len(columns)), columns] = half[:, columns]
        return Zonotopes(
            slope * self.centre + half,
            np.concatenate([slope[:, None, :] * self.generators, fresh], axis=1),
            (slope * self.slack) * _UP + lost,
        )


class Enclosed:
    """A network over many boxes: its outputs, and their differences."""

    def __init__(self, network: Network, inputs: Zonotopes) -> None:
        hidden, self._last = network.hidden_and_last
        self._units = inputs
        with np.errstate(all="ignore"):
            for layer in hidden:
                self._units = self._units.affine(layer.weight, layer.bias, layer.weight_error)
                if layer.rectified:
                    self._units = self._units.rectified()

    def output(self, index: int) -> tuple[Floats, Floats]:
        """Ends of an output (B,)."""
        last, only = self._last, slice(index, index + 1)
        with np.errstate(all="ignore"):
            low, high = self._units.affine(last.weight[only], last.bias[only], last.weight_error).ends()
        return low[:, 0], high[:, 0]

    def influence(self, inputs: int) -> Floats:
        """Greatest difference between what each input moves two outputs by, roughly: (inputs, B)."""
        with np.errstate(all="ignore"):
            moved = self._units.generators[:, :inputs] @ self._last.weight.T
        spread: Floats = (moved.max(2) - moved.min(2)).T
        return spread

    def differences(self, pairs: Sequence[tuple[int, int]]) -> tuple[Floats, Floats]:
        """Ends of ``output[i] - output[j]`` for pairs (i, j): (B, pairs)."""
        left, right = [i for i, _ in pairs], [j for _, j in pairs]
        weight, bias = self._last.weight, self._last.bias
        # each entry is rounded once more; where both are large and cancel, the error is of the size of the result
        with np.errstate(all="ignore"):
            error = 2 * self._last.weight_error
            if error:  # a relative error of the parts is none of the difference
                low_i, high_i = self._units.affine(weight[left], bias[left], error).ends()
                low_j, high_j = self._units.affine(weight[right], bias[right], error).ends()
                return np.nextafter(low_i - high_j, -np.inf), np.nextafter(high_i - low_j, np.inf)
            rows, offsets = weight[left] - weight[right], bias[left] - bias[right]
            return self._units.affine(rows, offsets, _UNIT).ends()
