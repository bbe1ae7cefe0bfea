"""What may follow abstract states: for each operator and successor, the part of the source that leads there.

    source box within the guard box, for all sources and operators at once
    each updated variable: the intervals that its image meets; their product, each choice narrowing the source
    sums of variables and predicates over several variables stay as rows, where intervals do not tell their truth

What is left is a query: is there a state in the part for which the policy picks the operator's label?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from venmas.bounds.rounding import Bools, Ints
from venmas.budget import ask
from venmas.procedures.predicate_abstraction.states.cells import Cells, States
from venmas.procedures.predicate_abstraction.states.points import shrink
from venmas.procedures.predicate_abstraction.states.queries import Queries
from venmas.procedures.predicate_abstraction.states.task import Operator, Task

Screen = Callable[[Queries], Bools]
_CHUNK = 1 << 22
"""Numbers in an array over sources and operators."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Q parts of sources: source (Q,) and operator (Q,) by number, target (Q, n + m), and what the policy is asked.

    leaving: (O, n), operators that may lead out of the range of a variable, from some source.
    """

    source: Ints
    operator: Ints
    target: States
    queries: Queries
    leaving: Bools


@dataclass(frozen=True, eq=False)
class _Parts:
    """Parts of sources on their way to `Moves`: narrow (B, n), the variables whose target narrows the part."""

    source: Ints
    operator: Ints
    low: Ints
    high: Ints
    target: States
    narrow: Bools
    rows: Ints
    constants: Ints

    @staticmethod
    def of(source: Ints, operator: Ints, low: Ints, high: Ints) -> _Parts:
        """Without targets and rows."""
        count, n = low.shape
        rows, constants = np.zeros((count, 0, n), np.int64), np.zeros((count, 0), np.int64)
        return _Parts(source, operator, low, high, np.zeros((count, 0), np.int32), low > high, rows, constants)

    def take(self, at: Ints | Bools | np.bool_) -> _Parts:
        """Some of them; the arrays are new."""
        return _Parts(*(getattr(self, f.name)[at] for f in fields(self)))

    def box(self, at: Ints) -> tuple[Ints, Ints]:
        """The boxes of some."""
        return self.low[at], self.high[at]

    def all(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Boxes and rows."""
        return self.low, self.high, self.rows, self.constants

    def within(self, rows: Ints, constants: Ints) -> _Parts:
        """With these rows, and without the parts that they leave nothing of."""
        low, high = shrink(self.low, self.high, rows, constants)
        return replace(self, low=low, high=high, rows=rows, constants=constants).take((low <= high).all(1))


class Steps:
    """The operators of a task over some cells."""

    def __init__(self, task: Task, cells: Cells) -> None:
        self.task, self.cells = task, cells
        operators, n, m = task.operators, len(task.low), len(cells.relational)
        shape = (len(operators), n)
        self.low = np.array([o.low for o in operators], np.int64).reshape(shape)
        self.high = np.array([o.high for o in operators], np.int64).reshape(shape)
        self.source = np.array([o.source for o in operators], np.int64).reshape(shape)
        self.factor = np.array([o.factor for o in operators], np.int64).reshape(shape)
        self.offset = np.array([o.offset for o in operators], np.int64).reshape(shape)
        self.label = np.array([o.label for o in operators], np.int64)
        most = max((len(o.rows) for o in operators), default=0)
        sums = sorted({v for o in operators for v in o.sums})
        self.rows, self.constants = _rows(len(operators), most, n)
        self.pulled, self.shift = _rows(len(operators), m, n)
        self.sums, self.added = _rows(len(operators), len(sums), n)
        self.summed = np.array(sums, np.int64)
        self.is_sum = np.zeros((len(operators), len(sums)), bool)
        for i, o in enumerate(operators):
            self.rows[i, : len(o.rows)], self.constants[i, : len(o.rows)] = o.rows, o.constants
            for j, v in enumerate(sums):
                if v in o.sums:
                    self.sums[i, j], self.added[i, j] = o.sums[v]
                    self.is_sum[i, j] = True
            for j, p in enumerate(cells.relational):
                terms, constant = o.pull(dict(p.terms), -p.bound)
                self.shift[i, j] = constant
                for v, c in terms.items():
                    self.pulled[i, j, v] = c
        self.plain = not most and not sums and not m
        self.may_leave = np.array([may_leave(o, task) for o in operators], bool).reshape(shape)

    def moves(self, states: States, screen: Screen | None = None, tests: str = "none") -> Iterator[Moves]:
        """All parts of the sources, some sources at a time.

        screen, tests: asked first whether the label is picked in the source at all (selection), or within the guard
        (applicability), or both (Vinzent, Steinmetz, Hoffmann, ICAPS 2022, Algorithm 1).
        """
        wide = max(1, _CHUNK // max(1, self.low.size))
        for start in range(0, len(states), wide):
            ask()
            part = states[start : start + wide]
            able = self._enabled(part)
            if screen is not None and tests != "none":
                able = self._screened(part, able, screen, tests)
            found, leaving = self._reached(able)
            if not self.plain:
                found = self._with_rows(part, found)
            queries = Queries(self.label[found.operator], found.low, found.high, found.rows, found.constants)
            yield Moves(found.source + start, found.operator, found.target, queries, leaving)

    def _enabled(self, states: States) -> _Parts:
        """Sources within the guards of operators."""
        low, high = self.cells.box(states)
        a, b = np.maximum(low[:, None], self.low), np.minimum(high[:, None], self.high)
        s, o = np.nonzero((a <= b).all(2))
        found = _Parts.of(s.astype(np.int64), o.astype(np.int64), a[s, o], b[s, o])
        if self.plain:
            return found
        low, high = shrink(found.low, found.high, *self._given(states, found))
        return replace(found, low=low, high=high).take((low <= high).all(1))

    def _given(self, states: States, parts: _Parts) -> tuple[Ints, Ints]:
        """The rows of guards and those of the sources' own bits."""
        bits, constants = self.cells.literals(states)
        s, o = parts.source, parts.operator
        return np.concatenate([self.rows[o], bits[s]], 1), np.concatenate([self.constants[o], constants[s]], 1)

    def _screened(self, states: States, parts: _Parts, screen: Screen, tests: str) -> _Parts:
        """Those whose label is picked somewhere in the source, or within the guard."""
        if tests in ("selection", "both"):
            low, high = self.cells.box(states)
            pairs = np.stack([parts.source, self.label[parts.operator]], 1)
            unique, back = np.unique(pairs, axis=0, return_inverse=True)
            rows, constants = self.cells.literals(states)
            at = unique[:, 0]
            met = screen(Queries(unique[:, 1], low[at], high[at], rows[at], constants[at]))
            parts = parts.take(met[back.reshape(-1)])
        if tests in ("applicability", "both"):
            rows, constants = self._given(states, parts)
            parts = parts.take(screen(Queries(self.label[parts.operator], parts.low, parts.high, rows, constants)))
        return parts

    def _reached(self, parts: _Parts) -> tuple[_Parts, Bools]:
        """One part for each product of intervals that the updated variables may be in, and who may leave the box."""
        task, cells, o = self.task, self.cells, parts.operator
        source, factor, offset = self.source[o], self.factor[o], self.offset[o]
        x, y = np.take_along_axis(parts.low, source, 1) * factor, np.take_along_axis(parts.high, source, 1) * factor
        least, most = np.minimum(x, y) + offset, np.maximum(x, y) + offset
        for j, v in enumerate(self.summed.tolist()):
            at = np.flatnonzero(self.is_sum[o, j])
            rows, added = self.sums[o[at], j], self.added[o[at], j]
            least[at, v], most[at, v] = (end[:, 0] for end in _ends(rows[:, None], added[:, None], *parts.box(at)))
        outside = (least < task.low) | (most > task.high)
        leaving = np.zeros(self.low.shape, bool)
        np.logical_or.at(leaving, o, outside & self.may_leave[o])
        stays = np.flatnonzero(((least <= task.high) & (most >= task.low)).all(1))
        first = cells.intervals(np.maximum(least, task.low)[stays])
        last = cells.intervals(np.minimum(most, task.high)[stays])
        parts = replace(parts.take(stays), target=first, narrow=outside[stays] | (first < last))
        again = np.arange(len(stays))
        target = first
        for v in np.flatnonzero((first < last).any(0)).tolist():
            count = (last[again, v] - first[again, v] + 1).astype(np.int64)
            copies = np.repeat(np.arange(len(again)), count)
            step = np.arange(len(copies)) - np.repeat(np.cumsum(count) - count, count)
            again, target = again[copies], target[copies]
            target[:, v] += step.astype(np.int32)
        parts = replace(parts.take(again), target=target)
        self._restrict(parts)
        return parts.take((parts.low <= parts.high).all(1)), leaving

    def _restrict(self, parts: _Parts) -> None:
        """Narrow the boxes, in place, to what leads into the intervals of the target."""
        cells, o, a, b = self.cells, parts.operator, parts.low, parts.high
        for v in np.flatnonzero(parts.narrow.any(0)).tolist():
            at = np.flatnonzero(parts.narrow[:, v])
            if v in self.summed:
                at = at[~self.is_sum[o[at], int(np.searchsorted(self.summed, v))]]
            factor, offset, source = self.factor[o[at], v], self.offset[o[at], v], self.source[o[at], v]
            interval = parts.target[at, v]
            begin, end = cells.begin[v][interval] - offset, cells.end[v][interval] - offset
            safe = np.where(factor == 0, 1, factor)
            lower = np.where(factor > 0, -(-begin // safe), -(-end // safe))
            upper = np.where(factor > 0, end // safe, begin // safe)
            moves = factor != 0
            a[at[moves], source[moves]] = np.maximum(a[at[moves], source[moves]], lower[moves])
            b[at[moves], source[moves]] = np.minimum(b[at[moves], source[moves]], upper[moves])
            never = at[~moves & ((begin > 0) | (end < 0))]
            b[never, 0] = a[never, 0] - 1

    def _with_rows(self, states: States, parts: _Parts) -> _Parts:
        """The parts with all rows, one for each truth of the bits of the target that intervals leave open."""
        cells, o = self.cells, parts.operator
        rows, constants = self._given(states, parts)
        for j, v in enumerate(self.summed.tolist()):
            inside = (self.is_sum[o, j] & parts.narrow[:, v])[:, None]
            row, added = self.sums[o, j], self.added[o, j]
            begin, end = cells.begin[v][parts.target[:, v]], cells.end[v][parts.target[:, v]]
            rows = np.concatenate([rows, np.stack([row, -row], 1) * inside[:, :, None]], axis=1)
            constants = np.concatenate([constants, np.stack([added - begin, end - added], 1) * inside], axis=1)
        bits = np.zeros((len(o), len(cells.relational)), np.int32)
        parts = replace(parts, target=np.concatenate([parts.target, bits], axis=1))
        parts = parts.within(*_open_rows(parts.low, parts.high, rows, constants))
        for j in range(len(cells.relational)):
            row, shift = self.pulled[parts.operator, j], self.shift[parts.operator, j]
            least, most = (end[:, 0] for end in _ends(row[:, None], shift[:, None], parts.low, parts.high))
            parts.target[:, cells.width + j] = least >= 0
            both = np.flatnonzero((least < 0) & (most >= 0))
            if not len(both):
                continue
            order = np.concatenate([np.arange(len(row)), both])
            new = np.arange(len(row), len(order))
            parts = parts.take(order)
            parts.target[new, cells.width + j] = 1
            extra, more = np.zeros((len(order), 1, row.shape[1]), np.int64), np.zeros((len(order), 1), np.int64)
            extra[both, 0], more[both, 0] = -row[both], -shift[both] - 1
            extra[new, 0], more[new, 0] = row[both], shift[both]
            rows, constants = np.concatenate([parts.rows, extra], 1), np.concatenate([parts.constants, more], 1)
            parts = parts.within(rows, constants)
        rows, constants = _open_rows(*parts.all())
        return replace(parts, rows=rows, constants=constants)


def _rows(count: int, each: int, width: int) -> tuple[Ints, Ints]:
    return np.zeros((count, each, width), np.int64), np.zeros((count, each), np.int64)


def _ends(rows: Ints, constants: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Least and greatest values (B, R) of rows (B, R, n) with constants (B, R) over boxes (B, n)."""
    up, down = np.maximum(rows, 0), np.minimum(rows, 0)
    least: Ints = ((up @ low[:, :, None] + down @ high[:, :, None])[:, :, 0] + constants).astype(np.int64, copy=False)
    most: Ints = ((up @ high[:, :, None] + down @ low[:, :, None])[:, :, 0] + constants).astype(np.int64, copy=False)
    return least, most


def _open_rows(a: Ints, b: Ints, rows: Ints, constants: Ints) -> tuple[Ints, Ints]:
    """Rows without those that the box decides, which become zeros; as few rows as any part needs."""
    if not rows.shape[1] or not len(a):
        return rows, constants
    opened = _ends(rows, constants, a, b)[0] < 0
    most = int(opened.sum(1).max(initial=0))
    order = np.argsort(~opened, axis=1, kind="stable")[:, :most]
    at = np.arange(len(a))[:, None]
    kept = opened[at, order]
    return rows[at, order] * kept[:, :, None], constants[at, order] * kept


def may_leave(operator: Operator, task: Task) -> Bools:
    """The variables that neither the guard's box nor one of its rows alone keeps in their ranges: (n,)."""
    found = np.zeros(len(task.low), bool)
    for v, (low, high) in enumerate(zip(task.low.tolist(), task.high.tolist(), strict=True)):
        if v not in operator.sums:
            u, factor, offset = int(operator.source[v]), int(operator.factor[v]), int(operator.offset[v])
            ends = int(operator.low[u]) * factor + offset, int(operator.high[u]) * factor + offset
            found[v] = min(ends) < low or max(ends) > high
            continue
        coefficients, constant = operator.sums[v]
        up, down = np.maximum(coefficients, 0), np.minimum(coefficients, 0)
        least = int(up @ operator.low + down @ operator.high) + constant
        most = int(up @ operator.high + down @ operator.low) + constant
        for row, other in zip(operator.rows, operator.constants.tolist(), strict=True):
            if (row == coefficients).all():
                least = max(least, constant - other)
            if (row == -coefficients).all():
                most = min(most, constant + other)
        found[v] = least < low or most > high
    return found
