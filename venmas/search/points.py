"""The points of an initial set over integers: bound propagation and search, on columns of integers.

The search fixes one variable after another at the greatest value that is left and then excludes that value; what a
choice changes is undone from a trail, so that a set such as "exactly one of 10,000 Booleans" needs memory for one box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import lcm, prod

import numpy as np
from numpy.typing import NDArray

from venmas.linear import Comparison, Relation
from venmas.model.system import Region, System
from venmas.search.columns import LARGEST, NotExplicitError

_Longs = NDArray[np.int64]
_BLOCK = 1 << 20


class _Row:
    """``factors . x[index] + constant  relation  0`` over integers, kept up by the search: least and greatest value."""

    def __init__(self, comparison: Comparison, number: dict[str, int], low: _Longs, high: _Longs) -> None:
        terms, constant = comparison.expr.terms, comparison.expr.constant
        by = lcm(constant.denominator, *(c.denominator for _, c in terms))
        whole = [int(c * by) for _, c in terms]
        self.index = np.array([number[n] for n, _ in terms], dtype=np.intp)
        ends = np.maximum(np.abs(low[self.index]), np.abs(high[self.index])).tolist()
        self.constant, self.relation = int(constant * by), comparison.relation
        if sum((abs(f) * e for f, e in zip(whole, ends, strict=True)), abs(self.constant)) > LARGEST:
            raise NotExplicitError
        self.factors = np.array(whole, dtype=np.int64)
        self.above = self.relation in (Relation.GT, Relation.GE, Relation.EQ)
        self.below = self.relation in (Relation.LT, Relation.LE, Relation.EQ)
        if self.relation.strict:  # of integers
            self.constant += 1 if self.below else -1

    def tighten(self, low: _Longs, high: _Longs) -> tuple[_Longs, _Longs] | None:
        """New bounds of its variables, or None when no point in the box satisfies it."""
        lo, hi, f = low[self.index], high[self.index], self.factors
        small, large = np.minimum(f * lo, f * hi), np.maximum(f * lo, f * hi)
        least, most = int(small.sum()) + self.constant, int(large.sum()) + self.constant
        if (self.below and least > 0) or (self.above and most < 0):
            return None
        if self.relation is Relation.NE:
            return None if least == most == 0 else (lo, hi)
        widest = int((large - small).max(initial=0))
        if self.below and least + widest > 0:  # f x <= f x_small - least
            room = small - least
            hi = np.where(f > 0, np.minimum(hi, room // f), hi)
            lo = np.where(f < 0, np.maximum(lo, -(room // -f)), lo)
        if self.above and most - widest < 0:  # f x >= f x_large - most
            room = large - most
            lo = np.where(f > 0, np.maximum(lo, -(-room // f)), lo)
            hi = np.where(f < 0, np.minimum(hi, -room // -f), hi)
        return (lo, hi) if bool(np.all(lo <= hi)) else None


def integer_points(
    system: System, region: Region, ranges: _Longs, limit: int, tick: Callable[[], None]
) -> Iterator[_Longs]:
    """The points of a region in blocks (B, variables); `ranges` (2, variables) are the declared ones.

    Raises `NotExplicitError` when there are more than `limit` of them by the ranges alone, when more than `limit`
    choices lead to none, and for numbers too large for the search.
    """
    number = {name: i for i, name in enumerate(system.variables)}
    low, high = ranges[0].copy(), ranges[1].copy()
    if bool(np.any(low > high)):
        return
    rows = [_Row(c, number, low, high) for c in region if c.expr.terms]
    if any(not c.holds({}) for c in region if not c.expr.terms):
        return
    uses: dict[int, list[_Row]] = {}
    shared = [r for r in rows if len(r.index) > 1 or r.relation is Relation.NE]  # the others are settled once
    for row in shared:
        for i in row.index.tolist():
            uses.setdefault(i, []).append(row)
    trail: list[tuple[_Longs, _Longs, _Longs]] = []
    frames: list[tuple[int, int]] = []  # variable, length of the trail before its choice

    def settle(waiting: dict[int, _Row]) -> bool:
        while waiting:
            row = waiting.pop(next(iter(waiting)))
            new = row.tighten(low, high)
            if new is None:
                return False
            old = low[row.index], high[row.index]
            changed = np.flatnonzero((new[0] != old[0]) | (new[1] != old[1]))
            if changed.size:
                where = row.index[changed]
                record(where)
                low[where], high[where] = new[0][changed], new[1][changed]
                if changed.size > len(shared):
                    waiting.update((id(r), r) for r in shared)
                else:
                    waiting.update((id(r), r) for i in where.tolist() for r in uses.get(i, ()))
        return True

    def record(where: NDArray[np.intp]) -> None:
        if frames:
            trail.append((where, low[where], high[where]))

    def fix(i: int, least: int, most: int) -> bool:
        record(np.array([i]))
        low[i], high[i] = least, most
        return settle({id(r): r for r in uses.get(i, ())})

    fine, failures, combinations = settle({id(r): r for r in rows}), 0, np.zeros((1, 0), np.int64)
    single = [i for i in np.flatnonzero(low < high).tolist() if i not in uses] if fine else []
    if single:  # no row relates them to others: every combination will do
        sizes = [int(high[i] - low[i]) + 1 for i in single]
        if prod(sizes) > limit:
            raise NotExplicitError
        combinations = np.indices(sizes).reshape(len(single), -1).T + low[single]
        high[single] = low[single]
    step = max(1, _BLOCK // len(low))
    while True:
        tick()
        if fine:
            free = _first(low, high, frames[-1][0] if frames else 0)
            if free is not None:
                frames.append((free, len(trail)))
                fine = fix(free, int(high[free]), int(high[free]))
                continue
            for start in range(0, len(combinations), step):
                block = np.tile(low, (len(combinations[start : start + step]), 1))
                block[:, single] = combinations[start : start + step]
                yield block
        else:
            failures += 1
            if failures > limit:
                raise NotExplicitError
        if not frames:
            return
        variable, mark = frames.pop()
        while len(trail) > mark:
            where, lo, hi = trail.pop()
            low[where], high[where] = lo, hi
        fine = fix(variable, int(low[variable]), int(high[variable]) - 1)


def _first(low: _Longs, high: _Longs, start: int) -> int | None:
    """The first variable from `start` on that is not fixed: those before it are."""
    step = 64
    while start < len(low):
        found = np.flatnonzero(low[start : start + step] < high[start : start + step])
        if found.size:
            return start + int(found[0])
        start, step = start + step, step * 4
    return None
