"""The points of a condition over integers: one variable after another takes its values, on columns of boxes.

A box, a row of least and of greatest values, is dropped as soon as interval arithmetic shows that a part of the
condition which has to hold fails in it; a point is decided exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.logic import And, Atom, Bottom, Formula, Or, Top, conjunction, subformulas
from venmas.logic.linear import Comparison, Relation
from venmas.model.system.propagation import propagate
from venmas.model.system.system import System

_Longs = NDArray[np.int64]
_Bools = NDArray[np.bool_]
LARGEST = 2**53
"""Largest integers that are computed with."""

_ROWS = 1 << 14
_EFFORT = 64
"""Boxes that may be looked at for each point that is allowed."""


class TooManyError(Exception):
    """There are more points than are wanted, or many boxes without any, or numbers that are too large."""


@dataclass(frozen=True)
class _Block:
    """Boxes (B, variables) in which the first `depth` variables of the order have one value."""

    low: _Longs
    high: _Longs
    depth: int


class _Part:
    """A formula that has to hold, on boxes: what of it is possible there."""

    def __init__(self, formula: Formula, number: dict[str, int], ranges: _Longs) -> None:
        self._nodes = list(subformulas(formula))
        self._rows = {n: _row(n.comparison, number, ranges) for n in self._nodes if isinstance(n, Atom)}
        self.variables = {number[v] for n in self._rows for v in n.comparison.expr.variables}

    def possible(self, low: _Longs, high: _Longs) -> _Bools:
        """Rows of boxes (B, variables) in which interval arithmetic does not exclude it: (B,); exact for points."""
        known: dict[Formula, _Bools] = {}
        for node in self._nodes:
            match node:
                case Atom():
                    index, factors, constant, relation = self._rows[node]
                    one, other = factors * low[:, index], factors * high[:, index]
                    least = np.minimum(one, other).sum(1) + constant
                    known[node] = ~relation.negated.certain(least, np.maximum(one, other).sum(1) + constant)
                case And(operands):
                    known[node] = np.logical_and.reduce([known[o] for o in operands])
                case Or(operands):
                    known[node] = np.logical_or.reduce([known[o] for o in operands])
                case Top() | Bottom():
                    known[node] = np.full(len(low), isinstance(node, Top))
                case _:
                    raise TooManyError
        return known[self._nodes[-1]]


def initial_points(system: System, limit: int, tick: Callable[[], None] = ask) -> Iterator[_Longs]:
    """The initial states of a system of integers with a condition, in blocks (B, variables), none twice in a region.

    Raises `TooManyError` when more than `limit` of them are met, many more boxes, or numbers too large.
    """
    for region in system.initial_set.regions:
        box = propagate(system.variables, region, system.box)
        if box is None:
            continue
        if max((abs(end) for ends in box.values() for end in ends), default=0) > LARGEST:
            raise TooManyError
        ranges = np.array([[int(end) for end in box[name]] for name in system.variables], np.int64).T
        condition = conjunction((*map(Atom, region), system.initial_condition))
        yield from _points(list(system.variables), condition, ranges, limit, tick)


def _points(
    variables: list[str], formula: Formula, ranges: _Longs, limit: int, tick: Callable[[], None]
) -> Iterator[_Longs]:
    """The points of a formula about one state in blocks (B, variables); `ranges` (2, variables) hold them.

    Raises `TooManyError` when more than `limit` of them are met.
    """
    number = {name: i for i, name in enumerate(variables)}
    conjuncts = formula.operands if isinstance(formula, And) else (formula,)
    parts = [_Part(part, number, ranges) for part in conjuncts]
    order = _order(parts, len(variables))
    stack = [_Block(ranges[:1].copy(), ranges[1:].copy(), 0)]
    left, count = _EFFORT * limit, 0
    while stack:
        tick()
        block = stack.pop()
        if block.depth == len(order):  # every part was met when the last of its variables took its value
            count += len(block.low)
            if count > limit:
                raise TooManyError
            yield block.low
            continue
        for new in _split(block, order[block.depth]):
            left -= len(new.low)
            if left < 0:
                raise TooManyError
            kept = np.full(len(new.low), True)
            for part in parts:
                if block.depth == 0 or order[block.depth] in part.variables:
                    kept &= part.possible(new.low, new.high)
            if kept.any():
                stack.append(_Block(new.low[kept], new.high[kept], new.depth))


def _split(block: _Block, variable: int) -> Iterator[_Block]:
    """Each box by the values of a variable, some at a time."""
    count = int(block.high[0, variable] - block.low[0, variable]) + 1  # the same in all: it was not touched before
    step = max(1, _ROWS // count)
    values = np.arange(block.low[0, variable], block.high[0, variable] + 1) if count <= 1 << 20 else None
    if values is None:
        raise TooManyError
    for start in range(0, len(block.low), step):
        low = np.repeat(block.low[start : start + step], count, axis=0)
        high = np.repeat(block.high[start : start + step], count, axis=0)
        low[:, variable] = high[:, variable] = np.tile(values, len(low) // count)
        yield _Block(low, high, block.depth + 1)


def _order(parts: list[_Part], count: int) -> list[int]:
    """Variables in the order in which they take values: those first that settle most with the ones before them."""
    order: list[int] = []
    while len(order) < count:
        chosen = set(order)

        def weight(i: int, chosen: set[int] = chosen) -> tuple[float, int]:
            touching = [p for p in parts if i in p.variables]
            return sum(1 / (1 + len(p.variables - chosen - {i})) for p in touching), -i

        order.append(max((i for i in range(count) if i not in chosen), key=weight))
    return order


def _row(comparison: Comparison, number: dict[str, int], ranges: _Longs) -> tuple[_Longs, _Longs, int, Relation]:
    terms, constant = comparison.expr.terms, comparison.expr.constant
    by = lcm(constant.denominator, *(c.denominator for _, c in terms))
    index = np.array([number[n] for n, _ in terms], dtype=np.int64)
    whole, ends = [int(c * by) for _, c in terms], np.abs(ranges[:, index]).max(0, initial=0).tolist()
    if sum((abs(f) * e for f, e in zip(whole, ends, strict=True)), abs(int(constant * by))) > LARGEST:
        raise TooManyError
    return index, np.array(whole, dtype=np.int64), int(constant * by), comparison.relation
