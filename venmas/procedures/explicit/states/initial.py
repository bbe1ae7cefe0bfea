"""The points of an initial set over integers: bound propagation and search, on columns of integers.

The search fixes one variable after another at the greatest value that is left and then excludes that value; what a
choice changes is undone from a trail, so that a set such as "exactly one of 10,000 Booleans" needs memory for one box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import lcm, prod

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Index
from venmas.logic.linear import Comparison, Relation
from venmas.model.system.system import System
from venmas.model.system.variables import Region
from venmas.procedures.explicit.states.integers import LARGEST, NotExplicitError

_Longs = NDArray[np.int64]
_BLOCK = 1 << 18
_FEW = 64


class _Row:
    """``factors . x[index] + constant  relation  0`` over integers."""

    def __init__(self, comparison: Comparison, number: dict[str, int], low: _Longs, high: _Longs) -> None:
        terms, constant = comparison.expr.terms, comparison.expr.constant
        by = lcm(constant.denominator, *(c.denominator for _, c in terms))
        whole = [int(c * by) for _, c in terms]
        self.index = np.array([number[n] for n, _ in terms], dtype=np.intp)
        low, high = low[self.index], high[self.index]
        ends = np.maximum(np.abs(low), np.abs(high)).tolist()
        self.constant, self.relation = int(constant * by), comparison.relation
        if sum((abs(f) * e for f, e in zip(whole, ends, strict=True)), abs(self.constant)) > LARGEST:
            raise NotExplicitError
        self.factors = np.array(whole, dtype=np.int64)
        self.unit = bool(np.all(np.abs(self.factors) == 1))
        self.widest = int((np.abs(self.factors) * (high - low)).max())
        self.above = self.relation in (Relation.GT, Relation.GE, Relation.EQ)
        self.below = self.relation in (Relation.LT, Relation.LE, Relation.EQ)
        if self.relation.strict:  # of integers
            self.constant += 1 if self.below else -1
        self.least = self.most = 0

    def measure(self, low: _Longs, high: _Longs) -> tuple[_Longs, _Longs]:
        """Least and greatest value of each term, and of the whole (`least`, `most`)."""
        one, other = self.factors * low[self.index], self.factors * high[self.index]
        small, large = np.minimum(one, other), np.maximum(one, other)
        self.least, self.most = int(small.sum()) + self.constant, int(large.sum()) + self.constant
        return small, large

    def fails(self) -> bool:
        """True when no point in the box satisfies it."""
        if self.relation is Relation.NE:
            return self.least == self.most == 0
        return (self.below and self.least > 0) or (self.above and self.most < 0)

    def may_tighten(self) -> bool:
        """False when every value of any one variable goes with some values of the others."""
        low, high = self.below and self.least + self.widest > 0, self.above and self.most - self.widest < 0
        return (low or high) and self.least < self.most

    def tighten(self, low: _Longs, high: _Longs) -> tuple[_Longs, _Longs]:
        """New bounds of its variables."""
        small, large = self.measure(low, high)
        lo, hi, f = low[self.index], high[self.index], self.factors
        if self.below:  # f x <= small - least
            room = small - self.least
            most = room * f if self.unit else room // f
            hi = np.where(f > 0, np.minimum(hi, most), hi)
            lo = np.where(f < 0, np.maximum(lo, most if self.unit else -(room // -f)), lo)
        if self.above:  # f x >= large - most
            room = large - self.most
            least = room * f if self.unit else -(-room // f)
            lo = np.where(f > 0, np.maximum(lo, least), lo)
            hi = np.where(f < 0, np.minimum(hi, least if self.unit else -room // -f), hi)
        return lo, hi


class _Search:
    """A box that shrinks by propagation and choices, and grows again when a choice is taken back."""

    def __init__(self, system: System, region: Region, ranges: _Longs) -> None:
        number = {name: i for i, name in enumerate(system.variables)}
        self.low, self.high = ranges[0].copy(), ranges[1].copy()
        rows = [_Row(c, number, self.low, self.high) for c in region if c.expr.terms]
        self.trail: list[tuple[Index, _Longs, _Longs]] = []
        self.frames: list[tuple[int, int]] = []
        """For each choice: the variable, and the length of the trail before."""
        self.rows = [r for r in rows if len(r.index) > 1 or r.relation is Relation.NE]
        self.uses: dict[int, list[tuple[_Row, int]]] = {}
        self.fine = bool(np.all(self.low <= self.high)) and all(c.holds({}) for c in region if not c.expr.terms)
        for row in rows:  # those of one variable are settled once
            if self.fine and len(row.index) == 1 and row.relation is not Relation.NE:
                row.measure(self.low, self.high)
                self.fine = not row.fails() and self._set(row.index, *row.tighten(self.low, self.high))
        for row in self.rows:
            row.measure(self.low, self.high)
            for i, f in zip(row.index.tolist(), row.factors.tolist(), strict=True):
                self.uses.setdefault(i, []).append((row, f))
        self.fine = self.fine and self._settle({id(r): r for r in self.rows})

    def _set(self, where: Index, low: _Longs, high: _Longs) -> bool:
        """Give new bounds to some variables; False when they are none."""
        if len(where) <= _FEW:
            for i, lo, hi in zip(where.tolist(), low.tolist(), high.tolist(), strict=True):
                old_lo, old_hi = int(self.low[i]), int(self.high[i])
                for row, f in self.uses.get(i, ()):
                    row.least += f * (lo - old_lo) if f > 0 else f * (hi - old_hi)
                    row.most += f * (hi - old_hi) if f > 0 else f * (lo - old_lo)
                self.low[i], self.high[i] = lo, hi
        else:
            self.low[where], self.high[where] = low, high
            for row in self.rows:
                row.measure(self.low, self.high)
        return bool(np.all(low <= high))

    def _settle(self, waiting: dict[int, _Row]) -> bool:
        """Propagate; False when the box is seen to be empty."""
        while waiting:
            row = waiting.pop(next(iter(waiting)))
            if row.fails():
                return False
            if not row.may_tighten():
                continue
            low, high = row.tighten(self.low, self.high)
            changed = np.flatnonzero((low != self.low[row.index]) | (high != self.high[row.index]))
            if changed.size:
                where = row.index[changed]
                self._record(where)
                if not self._set(where, low[changed], high[changed]):
                    return False
                several = ((id(r), r) for i in where.tolist() for r, _ in self.uses.get(i, ()))
                waiting.update(several if changed.size <= len(self.rows) else ((id(r), r) for r in self.rows))
        return True

    def _record(self, where: Index) -> None:
        if self.frames:
            self.trail.append((where, self.low[where], self.high[where]))

    def _fix(self, i: int, low: int, high: int) -> None:
        where = np.array([i])
        self._record(where)
        self._set(where, np.array([low]), np.array([high]))
        self.fine = self._settle({id(r): r for r, _ in self.uses.get(i, ())})

    def choose(self) -> bool:
        """Fix the first variable that is not fixed at its greatest value; False when all are fixed."""
        free = _first(self.low, self.high, self.frames[-1][0] if self.frames else 0)
        if free is None:
            return False
        self.frames.append((free, len(self.trail)))
        self._fix(free, int(self.high[free]), int(self.high[free]))
        return True

    def refute(self) -> bool:
        """Take the last choice back and exclude it; False when there is none."""
        if not self.frames:
            return False
        variable, mark = self.frames.pop()
        while len(self.trail) > mark:
            self._set(*self.trail.pop())
        self._fix(variable, int(self.low[variable]), int(self.high[variable]) - 1)
        return True


def integer_points(
    system: System, region: Region, ranges: _Longs, limit: int, tick: Callable[[], None]
) -> Iterator[_Longs]:
    """The points of a region in blocks (B, variables); `ranges` (2, variables) are the declared ones.

    Raises `NotExplicitError` when there are more than `limit` of them by the ranges alone, when more than `limit`
    choices lead to none, and for numbers too large for the search.
    """
    search, failures = _Search(system, region, ranges), 0
    low, high = search.low, search.high
    single = [i for i in np.flatnonzero(low < high).tolist() if i not in search.uses] if search.fine else []
    most = high[single]  # no row relates them to others: every combination will do
    if prod((most - low[single] + 1).tolist()) > limit:
        raise NotExplicitError
    high[single] = low[single]
    going = True
    while going:
        tick()
        if search.fine and search.choose():
            continue
        if search.fine:
            last = low.copy()
            last[single] = most
            yield from grid_points(low, last, limit, tick)
        else:
            failures += 1
            if failures > limit:
                raise NotExplicitError
        going = search.refute()


def grid_points(low: _Longs, high: _Longs, limit: int, tick: Callable[[], None]) -> Iterator[_Longs]:
    """The points of a box in blocks, with a tick after each. Raises `NotExplicitError` for more than `limit`."""
    free = np.flatnonzero(low < high).tolist()
    sizes = [int(high[i]) - int(low[i]) + 1 for i in free]
    count, step = prod(sizes), max(1, _BLOCK // len(low))
    if count > limit:
        raise NotExplicitError
    for start in range(0, count, step):
        states = np.tile(low, (min(count - start, step), 1))
        if free:
            states[:, free] += np.stack(np.unravel_index(np.arange(start, start + len(states)), sizes), axis=1)
        yield states
        tick()


def _first(low: _Longs, high: _Longs, start: int) -> int | None:
    """The first variable from `start` on that is not fixed: those before it are."""
    step = 64
    while start < len(low):
        found = np.flatnonzero(low[start : start + step] < high[start : start + step])
        if found.size:
            return start + int(found[0])
        start, step = start + step, step * 4
    return None
