"""Conditions over boxes of integers, many at once: each box shrinks to one that holds its states that meet them.

Everything is in 64-bit integers, whose size is bounded beforehand, so that nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.logic.linear import Comparison, Relation
from venmas.model.expressions.expr import All, Any, Compare, Condition, Truth, to_comparison

Ends: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

LARGEST = 2**52
"""Sums of at most this size are computed."""

Shrink: TypeAlias = Callable[["Boxes"], None]


class Boxes:
    """Boxes of integers, ``low <= x <= high`` (B, variables), and which of them may hold a state at all: `alive` (B,).

    Those that do not have ends without meaning, of moderate size.
    """

    def __init__(self, low: Ends, high: Ends, alive: Bools | None = None) -> None:
        self.low, self.high = low, high
        self.alive = np.all(low <= high, axis=1) if alive is None else alive

    def copy(self) -> Boxes:
        """The same, to be changed."""
        return Boxes(self.low.copy(), self.high.copy(), self.alive.copy())

    def __getitem__(self, which: NDArray[np.generic]) -> Boxes:
        return Boxes(self.low[which], self.high[which], self.alive[which])

    def at_least(self, at: int, end: Ends | int) -> None:
        """Cut variable `at` from below."""
        high = self.high[:, at]
        np.maximum(self.low[:, at], np.minimum(end, high + 1), out=self.low[:, at])
        self.alive &= self.low[:, at] <= high

    def at_most(self, at: int, end: Ends | int) -> None:
        """Cut it from above."""
        low = self.low[:, at]
        np.minimum(self.high[:, at], np.maximum(end, low - 1), out=self.high[:, at])
        self.alive &= low <= self.high[:, at]


class Linear:
    """``constant + sum(factors * x[places])`` with integer numbers, whatever the box within declared ranges."""

    def __init__(self, places: Sequence[int], factors: Sequence[int], constant: int) -> None:
        self.places, self.factors, self.constant = list(places), list(factors), constant

    @staticmethod
    def of(comparison: Comparison, number: dict[str, int], ranges: Ends) -> Linear | None:
        """A positive multiple of the left side; None where its values may be too large. ranges: (2, variables)."""
        expr = comparison.expr
        by = lcm(expr.constant.denominator, *(c.denominator for _, c in expr.terms))
        places, factors = [number[n] for n, _ in expr.terms], [int(c * by) for _, c in expr.terms]
        constant = int(expr.constant * by)
        size = abs(constant) + sum(
            abs(f) * (1 + max(abs(int(ranges[0, p])), abs(int(ranges[1, p]))))
            for p, f in zip(places, factors, strict=True)
        )
        return Linear(places, factors, constant) if size <= LARGEST else None

    def greatest(self, boxes: Boxes, sign: int) -> list[Ends]:
        """The greatest values of the terms of ``sign * linear``."""
        pairs = zip(self.places, self.factors, strict=True)
        return [sign * f * (boxes.high if sign * f > 0 else boxes.low)[:, p] for p, f in pairs]

    def keep(self, boxes: Boxes, sign: int, least: int) -> None:
        """Shrink to where ``sign * linear >= least``."""
        if not self.places:
            boxes.alive &= sign * self.constant >= least
            return
        terms = self.greatest(boxes, sign)
        room = sign * self.constant - least + sum(terms[1:], terms[0])
        boxes.alive &= room >= 0
        for p, f, most in zip(self.places, self.factors, terms, strict=True):
            factor, rest = sign * f, most - room  # factor * x >= rest
            if factor > 0:
                boxes.at_least(p, -(-rest // factor))
            else:
                boxes.at_most(p, -rest // -factor)

    def unequal(self, boxes: Boxes) -> None:
        """Shrink to where ``linear != 0``: by an end, or not at all."""
        high = self.constant + sum(self.greatest(boxes, 1))
        low = self.constant - sum(self.greatest(boxes, -1))
        boxes.alive &= ~((low == 0) & (high == 0))
        if len(self.places) == 1:
            at, factor = self.places[0], self.factors[0]
            if self.constant % factor == 0:
                root = -self.constant // factor
                boxes.at_least(at, np.where(boxes.low[:, at] == root, root + 1, boxes.low[:, at]))
                boxes.at_most(at, np.where(boxes.high[:, at] == root, root - 1, boxes.high[:, at]))


class Shrinker:
    """Compiles conditions. opaque: what is made of a comparison that is not linear, or of numbers too large."""

    def __init__(self, number: dict[str, int], ranges: Ends, opaque: Callable[[Compare], Shrink]) -> None:
        self._number, self._ranges, self._opaque = number, ranges, opaque

    def compile(self, condition: Condition) -> Shrink:
        """Contractor of boxes to their states that meet the condition."""
        match condition:
            case Truth(value):
                return _keep if value else _drop
            case Compare():
                return self._compare(condition)
            case All(operands):
                # what is linear first: it is cheap, and the rest is told better of smaller boxes
                parts = sorted(operands, key=lambda c: not isinstance(c, Compare) or to_comparison(c) is None)
                return _all([self.compile(p) for p in parts])
            case Any(operands):
                return _any([self.compile(p) for p in operands])
        raise TypeError(type(condition))

    def _compare(self, condition: Compare) -> Shrink:
        comparison = to_comparison(condition)
        linear = None if comparison is None else Linear.of(comparison, self._number, self._ranges)
        if linear is None:
            return self._opaque(condition)
        match condition.relation:
            case Relation.GE:
                return lambda boxes: linear.keep(boxes, 1, 0)
            case Relation.GT:
                return lambda boxes: linear.keep(boxes, 1, 1)
            case Relation.LE:
                return lambda boxes: linear.keep(boxes, -1, 0)
            case Relation.LT:
                return lambda boxes: linear.keep(boxes, -1, 1)
            case Relation.EQ:
                return _all([lambda boxes: linear.keep(boxes, 1, 0), lambda boxes: linear.keep(boxes, -1, 0)])
            case Relation.NE:
                return linear.unequal


def _keep(_boxes: Boxes) -> None:
    pass


def _drop(boxes: Boxes) -> None:
    boxes.alive[:] = False


def _all(parts: Sequence[Shrink]) -> Shrink:
    def shrink(boxes: Boxes) -> None:
        for part in parts:
            if not boxes.alive.any():
                return
            part(boxes)

    return shrink


def _any(parts: Sequence[Shrink]) -> Shrink:
    def shrink(boxes: Boxes) -> None:
        low, high, alive = boxes.high + 1, boxes.low - 1, np.zeros_like(boxes.alive)
        for part in parts:
            one = boxes.copy()
            part(one)
            some = one.alive
            low[some] = np.minimum(low[some], one.low[some])
            high[some] = np.maximum(high[some], one.high[some])
            alive |= some
        boxes.alive &= alive
        boxes.low[alive], boxes.high[alive] = low[alive], high[alive]

    return shrink
