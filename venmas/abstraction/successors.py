"""What may follow abstract states: for each operator and successor, the part of the source that leads there.

    source box within the guard box, for all sources and operators at once
    each updated variable: the intervals that its image meets; their product, each choice narrowing the source
    sums of variables and predicates over several variables stay as rows, where intervals do not tell their truth

What is left is a query: is there a state in the part for which the policy picks the operator's label?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from venmas.abstraction.cells import Cells, States
from venmas.abstraction.points import shrink
from venmas.abstraction.policy import Ints
from venmas.abstraction.queries import Queries
from venmas.abstraction.task import Operator, Task
from venmas.bounds.rounding import Bools
from venmas.budget import ask

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
    leaving: Ints


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
        self.rows, self.constants = (
            np.zeros((len(operators), most, n), np.int64),
            np.zeros((len(operators), most), np.int64),
        )
        self.pulled, self.shift = np.zeros((len(operators), m, n), np.int64), np.zeros((len(operators), m), np.int64)
        sums = sorted({v for o in operators for v in o.sums})
        self.summed = np.array(sums, np.int64)
        self.sums, self.added = (
            np.zeros((len(operators), len(sums), n), np.int64),
            np.zeros((len(operators), len(sums)), np.int64),
        )
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
        (applicability), or both ([A], Algorithm 1).
        """
        wide = max(1, _CHUNK // max(1, self.low.size))
        for start in range(0, len(states), wide):
            yield self._moves(states, start, min(len(states), start + wide), screen, tests)

    def _screened(
        self, part: States, s: Ints, o: Ints, a: Ints, b: Ints, screen: Screen, tests: str
    ) -> tuple[Ints, Ints, Ints, Ints]:
        if tests in ("selection", "both"):
            low, high = self.cells.box(part)
            pairs, back = np.unique(np.stack([s, self.label[o]], 1), axis=0, return_inverse=True)
            rows, constants = self.cells.literals(part)
            at = pairs[:, 0]
            met = screen(Queries(pairs[:, 1], low[at], high[at], rows[at], constants[at]))[back.reshape(-1)]
            s, o, a, b = s[met], o[met], a[met], b[met]
        if tests in ("applicability", "both"):
            rows, constants = self._given(part, s, o)
            met = screen(Queries(self.label[o], a, b, rows, constants))
            s, o, a, b = s[met], o[met], a[met], b[met]
        return s, o, a, b

    def _moves(self, states: States, start: int, end: int, screen: Screen | None, tests: str) -> Moves:
        ask()
        task, cells = self.task, self.cells
        part = states[start:end]
        low, high = cells.box(part)
        a, b = np.maximum(low[:, None], self.low), np.minimum(high[:, None], self.high)
        s, o = np.nonzero((a <= b).all(2))
        a, b = a[s, o], b[s, o]
        if not self.plain:
            s, o, a, b = self._narrowed(part, s, o, a, b)
        if screen is not None and tests != "none":
            s, o, a, b = self._screened(part, s, o, a, b, screen, tests)
        source, factor, offset = self.source[o], self.factor[o], self.offset[o]
        x, y = np.take_along_axis(a, source, 1) * factor, np.take_along_axis(b, source, 1) * factor
        least, most = np.minimum(x, y) + offset, np.maximum(x, y) + offset
        for j, v in enumerate(self.summed.tolist()):
            at = np.flatnonzero(self.is_sum[o, j])
            rows = self.sums[o[at], j]
            up, down = np.maximum(rows, 0), np.minimum(rows, 0)
            least[at, v] = (up * a[at] + down * b[at]).sum(1) + self.added[o[at], j]
            most[at, v] = (up * b[at] + down * a[at]).sum(1) + self.added[o[at], j]
        outside = (least < task.low) | (most > task.high)
        leaving = np.zeros(self.low.shape, bool)
        np.logical_or.at(leaving, o, outside & self.may_leave[o])
        stays = ((least <= task.high) & (most >= task.low)).all(1)
        if not stays.all():
            s, o, a, b, least, most, outside = (x[stays] for x in (s, o, a, b, least, most, outside))
        first = cells.intervals(np.maximum(least, task.low))
        last = cells.intervals(np.minimum(most, task.high))
        narrow = outside | (first < last)
        target = first.copy()
        rows_of = np.arange(len(s))
        for v in np.flatnonzero((first < last).any(0)).tolist():
            count = (last[rows_of, v] - first[rows_of, v] + 1).astype(np.int64)
            again = np.repeat(np.arange(len(rows_of)), count)
            step = np.arange(len(again)) - np.repeat(np.cumsum(count) - count, count)
            rows_of, target = rows_of[again], target[again]
            target[:, v] += step.astype(np.int32)
        s, o, a, b, narrow = s[rows_of], o[rows_of], a[rows_of], b[rows_of], narrow[rows_of]
        self._restrict(o, a, b, target, narrow)
        keep = (a <= b).all(1)
        s, o, a, b, target, narrow = (x[keep] for x in (s, o, a, b, target, narrow))
        n = len(task.low)
        rows, constants = np.zeros((len(s), 0, n), np.int64), np.zeros((len(s), 0), np.int64)
        if not self.plain:
            s, o, a, b, target, rows, constants = self._with_rows(part, s, o, a, b, target, narrow)
        return Moves(s + start, o, target, Queries(self.label[o], a, b, rows, constants), leaving)

    def _restrict(self, o: Ints, a: Ints, b: Ints, target: States, narrow: np.ndarray) -> None:
        """Narrow parts, in place, to what leads into the intervals of the target."""
        cells = self.cells
        for v in np.flatnonzero(narrow.any(0)).tolist():
            at = np.flatnonzero(narrow[:, v])
            if v in self.summed:
                at = at[~self.is_sum[o[at], int(np.searchsorted(self.summed, v))]]
            factor, offset, source = self.factor[o[at], v], self.offset[o[at], v], self.source[o[at], v]
            begin, end = cells.begin[v][target[at, v]] - offset, cells.end[v][target[at, v]] - offset
            safe = np.where(factor == 0, 1, factor)
            lower = np.where(factor > 0, -(-begin // safe), -(-end // safe))
            upper = np.where(factor > 0, end // safe, begin // safe)
            able = (factor != 0) | ((begin <= 0) & (end >= 0))
            moves = factor != 0
            a[at[moves], source[moves]] = np.maximum(a[at[moves], source[moves]], lower[moves])
            b[at[moves], source[moves]] = np.minimum(b[at[moves], source[moves]], upper[moves])
            b[at[~able], 0] = a[at[~able], 0] - 1

    def _narrowed(self, part: States, s: Ints, o: Ints, a: Ints, b: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Sources within the rows of guards and of their own bits."""
        rows, constants = self._given(part, s, o)
        a, b = shrink(a, b, rows, constants)
        keep = (a <= b).all(1)
        return s[keep], o[keep], a[keep], b[keep]

    def _given(self, part: States, s: Ints, o: Ints) -> tuple[Ints, Ints]:
        bits, bit_constants = self.cells.literals(part)
        return (
            np.concatenate([self.rows[o], bits[s]], axis=1),
            np.concatenate([self.constants[o], bit_constants[s]], axis=1),
        )

    def _with_rows(
        self, part: States, s: Ints, o: Ints, a: Ints, b: Ints, target: States, narrow: np.ndarray
    ) -> tuple[Ints, Ints, Ints, Ints, States, Ints, Ints]:
        """The parts with all rows, one for each truth of the bits of the target that intervals leave open."""
        cells = self.cells
        rows, constants = self._given(part, s, o)
        for j, v in enumerate(self.summed.tolist()):
            inside = (self.is_sum[o, j] & narrow[:, v])[:, None]
            row, added = self.sums[o, j], self.added[o, j]
            begin, end = cells.begin[v][target[:, v]], cells.end[v][target[:, v]]
            rows = np.concatenate([rows, np.stack([row, -row], 1) * inside[:, :, None]], axis=1)
            both = np.stack([added - begin, end - added], 1) * inside
            constants = np.concatenate([constants, both], axis=1)
        bits = np.zeros((len(s), len(cells.relational)), np.int32)
        rows, constants = _open_rows(a, b, rows, constants)
        a, b = shrink(a, b, rows, constants)
        for j in range(len(cells.relational)):
            keep = (a <= b).all(1)
            s, o, a, b, target, bits, rows, constants = (x[keep] for x in (s, o, a, b, target, bits, rows, constants))
            row, shift = self.pulled[o, j], self.shift[o, j]
            up, down = np.maximum(row, 0), np.minimum(row, 0)
            sure = (up * a + down * b).sum(1) + shift >= 0
            never = (up * b + down * a).sum(1) + shift < 0
            bits[:, j] = sure
            both = np.flatnonzero(~sure & ~never)
            if not len(both):
                continue
            order = np.concatenate([np.arange(len(s)), both])
            s, o, a, b, target, bits, rows, constants = (x[order] for x in (s, o, a, b, target, bits, rows, constants))
            extra, more = np.zeros((len(s), 1, a.shape[1]), np.int64), np.zeros((len(s), 1), np.int64)
            extra[both, 0], more[both, 0] = -row[both], -shift[both] - 1
            new = np.arange(len(order) - len(both), len(order))
            extra[new, 0], more[new, 0] = row[both], shift[both]
            bits[new, j] = 1
            rows, constants = np.concatenate([rows, extra], axis=1), np.concatenate([constants, more], axis=1)
            a, b = shrink(a, b, rows, constants)
        rows, constants = _open_rows(a, b, rows, constants)
        keep = (a <= b).all(1)
        target = np.concatenate([target, bits], axis=1)
        return s[keep], o[keep], a[keep], b[keep], target[keep], rows[keep], constants[keep]


def _open_rows(a: Ints, b: Ints, rows: Ints, constants: Ints) -> tuple[Ints, Ints]:
    """Rows without those that the box decides, which become zeros; as few rows as any part needs."""
    if not rows.shape[1] or not len(a):
        return rows, constants
    least = (np.maximum(rows, 0) @ a[:, :, None] + np.minimum(rows, 0) @ b[:, :, None])[:, :, 0] + constants
    opened = least < 0
    most = int(opened.sum(1).max(initial=0))
    order = np.argsort(~opened, axis=1, kind="stable")[:, :most]
    at = np.arange(len(a))[:, None]
    kept = opened[at, order]
    return rows[at, order] * kept[:, :, None], constants[at, order] * kept


def may_leave(operator: Operator, task: Task) -> Bools:
    """Of which variables neither the guard's box nor one of its rows alone says that they stay in their ranges: (n,)."""
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
