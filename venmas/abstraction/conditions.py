"""Conditions over boxes of integers: truth by intervals for many boxes at once, and which abstract states meet one.

A box is dropped where the condition is false, kept where it is true and lies in one abstract state, and else shrunk by
what must hold (unit propagation) or cut where most open atoms depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from venmas.abstraction.cells import Cells, States, keys
from venmas.abstraction.points import shrink
from venmas.abstraction.policy import Ints
from venmas.abstraction.predicates import integral
from venmas.bounds.rounding import Bools
from venmas.budget import ask
from venmas.linear import Relation
from venmas.logic import And, Atom, Bottom, Formula, Or, Top, nnf, subformulas

_BATCH = 2048
_OPEN, _TRUE, _FALSE = 0, 1, -1
_AND, _OR = 0, 1
Truths = NDArray[np.int8]


@dataclass(eq=False)
class Boxed:
    """What is known of a condition over B boxes: truth (B,), and which atoms are open and matter, or must hold."""

    truth: Truths
    matter: Bools
    needed: Bools

    def take(self, at: Ints | Bools) -> Boxed:
        """Some of the boxes."""
        return Boxed(self.truth[at], self.matter[:, at], self.needed[:, at])


class BoxCondition:
    """A condition over n integers, compiled: a in atoms, each ``rows @ x + constants >= 0``."""

    def __init__(self, condition: Formula, columns: Mapping[str, int], low: Ints, high: Ints) -> None:
        self.low, self.high = low, high
        self._n = len(low)
        rows: dict[tuple[tuple[tuple[int, int], ...], int], int] = {}
        self._nodes: list[tuple[int, Ints]] = []
        number: dict[Formula, int] = {}
        core = nnf(condition)
        order = list(subformulas(core))
        pairs: list[tuple[Formula, list[tuple[dict[int, int], int]], int]] = []
        for node in order:
            if isinstance(node, Atom):
                comparison, kind = node.comparison, _AND
                if comparison.relation is Relation.NE:
                    whole = integral(comparison.negated, columns)
                    found = [({v: -c for v, c in terms.items()}, -constant - 1) for terms, constant in whole]
                    kind = _OR
                else:
                    found = integral(comparison, columns)
                for terms, constant in found:
                    rows.setdefault((tuple(sorted(terms.items())), constant), len(rows))
                pairs.append((node, found, kind))
        self.atoms = len(rows)
        self.rows = np.zeros((self.atoms, self._n), np.int64)
        self.constants = np.zeros(self.atoms, np.int64)
        for (pairs_of, constant), i in rows.items():
            self.constants[i] = constant
            for v, c in pairs_of:
                self.rows[i, v] = c
        for node, found, kind in pairs:
            places = [rows[tuple(sorted(terms.items())), constant] for terms, constant in found]
            number[node] = places[0] if len(places) == 1 else self._node(kind, places)
        for node in order:
            if isinstance(node, And | Or):
                kind = _AND if isinstance(node, And) else _OR
                number[node] = self._node(kind, [number[p] for p in node.operands])
            elif isinstance(node, Top | Bottom):
                number[node] = self._node(_AND if isinstance(node, Top) else _OR, [])
        self._root = number[core]
        terms_of = (self.rows != 0).sum(1)
        self._single = np.flatnonzero(terms_of == 1)
        self._several = np.flatnonzero(terms_of != 1)
        self._column = (self.rows != 0).argmax(1)
        self._factor = self.rows[np.arange(self.atoms), self._column]
        self._incidence = (self.rows != 0).astype(np.float32)
        with np.errstate(all="ignore"):
            ups = -(self.constants // np.where(self._factor == 0, 1, self._factor))
            downs = self.constants // np.where(self._factor == 0, 1, -self._factor)
        self._limit = np.where(self._factor > 0, ups, downs)
        """Of atoms of one variable: its least value, or its greatest where the factor is negative."""

    def _node(self, kind: int, parts: list[int]) -> int:
        self._nodes.append((kind, np.array(parts, dtype=np.int64)))
        return self.atoms + len(self._nodes) - 1

    def over(self, low: Ints, high: Ints) -> Boxed:
        """What intervals tell over boxes (B, n)."""
        count = len(low)
        values = np.zeros((self.atoms + len(self._nodes), count), np.int8)
        least, most = np.empty((self.atoms, count), np.int64), np.empty((self.atoms, count), np.int64)
        at, column = self._single, self._column[self._single]
        a, b = low.T[column] * self._factor[at, None], high.T[column] * self._factor[at, None]
        least[at] = np.minimum(a, b) + self.constants[at, None]
        most[at] = np.maximum(a, b) + self.constants[at, None]
        if len(self._several):
            rows, constants = self.rows[self._several], self.constants[self._several, None]
            up, down = np.maximum(rows, 0), np.minimum(rows, 0)
            least[self._several] = up @ low.T + down @ high.T + constants
            most[self._several] = up @ high.T + down @ low.T + constants
        values[: self.atoms] = (least >= 0).astype(np.int8) - (most < 0)
        for i, (kind, parts) in enumerate(self._nodes, self.atoms):
            if not len(parts):
                values[i] = _TRUE if kind == _AND else _FALSE
            else:
                values[i] = values[parts].min(0) if kind == _AND else values[parts].max(0)
        matter, needed = np.zeros(values.shape, bool), np.zeros(values.shape, bool)
        matter[self._root] = needed[self._root] = values[self._root] == _OPEN
        for i in range(len(self._nodes) - 1, -1, -1):
            kind, parts = self._nodes[i]
            i += self.atoms
            opened = matter[i]
            if not opened.any():
                continue
            below = values[parts] == _OPEN
            matter[parts] |= below & opened
            if kind == _AND:
                needed[parts] |= below & needed[i]
            else:
                needed[parts] |= below & (needed[i] & (below.sum(0) == 1))
        return Boxed(values[self._root], matter[: self.atoms], needed[: self.atoms])

    def tightened(self, known: Boxed, low: Ints, high: Ints) -> tuple[Ints, Ints, Bools]:
        """Boxes within what must hold, and which of them became smaller."""
        low, high = low.copy(), high.copy()
        changed = np.zeros(len(low), bool)
        for i in self._single[known.needed[self._single].any(1)].tolist():
            at, v = np.flatnonzero(known.needed[i]), self._column[i]
            if self._factor[i] > 0:
                low[at, v] = np.maximum(low[at, v], self._limit[i])
            else:
                high[at, v] = np.minimum(high[at, v], self._limit[i])
            changed[at] = True
        return low, high, changed

    def cuts(self, known: Boxed, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """For each box a variable, and the least value above the cut."""
        if not len(low):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows = np.arange(len(low))
        score = known.matter.T.astype(np.float32) @ self._incidence
        wide = high > low
        axis = np.where(wide, score, -1).argmax(1)
        place = (low[rows, axis] + high[rows, axis]) // 2 + 1
        single = known.matter & (self._column[:, None] == axis) & (self._incidence.sum(1) == 1)[:, None]
        has = single.any(0)
        first = single.argmax(0)
        limit = np.where(self._factor[first] > 0, self._limit[first], self._limit[first] + 1)
        return axis, np.where(has, limit, place)


def split(low: Ints, high: Ints, axis: Ints, place: Ints) -> tuple[Ints, Ints]:
    """Both parts of boxes, cut before `place`."""
    rows = np.arange(len(low))
    left, right = high.copy(), low.copy()
    left[rows, axis], right[rows, axis] = place - 1, place
    return np.concatenate([low, right]), np.concatenate([left, high])


def states_of(condition: BoxCondition, cells: Cells) -> tuple[States, Ints]:
    """The abstract states in which the condition holds somewhere (S, n + m), and a point of each (S, n)."""
    low, high = condition.low[None], condition.high[None]
    found: dict[bytes, int] = {}
    states: list[States] = []
    points: list[Ints] = []
    while len(low):
        ask()
        a, b = low[-_BATCH:], high[-_BATCH:]
        low, high = low[:-_BATCH], high[:-_BATCH]
        known = condition.over(a, b)
        first, last, bits = cells.intervals(a), cells.intervals(b), cells.truths(a, b)
        spans = first != last
        single = ~spans.any(1) & (bits >= 0).all(1)
        state = np.concatenate([first, bits], axis=1)
        for i in np.flatnonzero(single & (known.truth == _TRUE)).tolist():
            (key,) = keys(state[i : i + 1])
            if key not in found:
                found[key] = len(found)
                states.append(state[i : i + 1])
                points.append(a[i : i + 1])
        more = (known.truth != _FALSE) & ~(single & (known.truth == _TRUE))
        for i in np.flatnonzero(more & single).tolist():
            more[i] = keys(state[i : i + 1])[0] not in found
        opened = np.flatnonzero(more & (known.truth == _OPEN))
        part = known.take(opened)
        tight_low, tight_high, changed = condition.tightened(part, a[opened], b[opened])
        fits = changed & (tight_low <= tight_high).all(1)
        low, high = np.concatenate([low, tight_low[fits]]), np.concatenate([high, tight_high[fits]])
        rest = np.flatnonzero(~changed)
        axis, place = condition.cuts(part.take(rest), a[opened[rest]], b[opened[rest]])
        low, high = _pushed(low, high, split(a[opened[rest]], b[opened[rest]], axis, place))
        sure = np.flatnonzero(more & (known.truth == _TRUE))
        axis, place = _cell_cuts(cells, a[sure], b[sure], first[sure], last[sure], bits[sure])
        low, high = _pushed(low, high, split(a[sure], b[sure], axis, place))
    n = condition.low.shape[0] + len(cells.relational)
    if not states:
        return np.zeros((0, n), np.int32), np.zeros((0, condition.low.shape[0]), np.int64)
    return np.concatenate(states), np.concatenate(points)


def _pushed(low: Ints, high: Ints, more: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    return np.concatenate([low, more[0]]), np.concatenate([high, more[1]])


def _cell_cuts(cells: Cells, low: Ints, high: Ints, first: States, last: States, bits: States) -> tuple[Ints, Ints]:
    """Where boxes that lie in several abstract states are cut: at a threshold in the middle, else through open bits."""
    rows = np.arange(len(low))
    axis = (last - first).argmax(1)
    spans = last[rows, axis] > first[rows, axis]
    place = np.zeros(len(low), np.int64)
    for i in np.flatnonzero(spans).tolist():
        v = int(axis[i])
        place[i] = cells.begin[v][(int(first[i, v]) + int(last[i, v]) + 1) // 2]
    rest = np.flatnonzero(~spans)
    if len(rest):
        touched = (bits[rest] < 0).astype(np.int64) @ np.abs(cells.rows)
        axis[rest] = (touched * (high[rest] - low[rest])).argmax(1)
        place[rest] = (low[rest, axis[rest]] + high[rest, axis[rest]]) // 2 + 1
    return axis, place


def first_point(condition: BoxCondition, low: Ints, high: Ints, rows: Ints, constants: Ints) -> Ints | None:
    """A point (n,) of the box low..high (n,) that meets the condition and rows (R, n), constants (R,); None: none."""
    low, high = np.maximum(low, condition.low)[None], np.minimum(high, condition.high)[None]
    rows, constants = rows[None], constants[None]
    while len(low):
        ask()
        a, b = low[-_BATCH // 8 :], high[-_BATCH // 8 :]
        low, high = low[: -_BATCH // 8], high[: -_BATCH // 8]
        a, b = shrink(a, b, np.repeat(rows, len(a), 0), np.repeat(constants, len(a), 0))
        keep = (a <= b).all(1)
        a, b = a[keep], b[keep]
        known = condition.over(a, b)
        least = (np.maximum(rows, 0) @ a[:, :, None] + np.minimum(rows, 0) @ b[:, :, None])[:, :, 0] + constants
        open_rows = least < 0
        done = (known.truth == _TRUE) & ~open_rows.any(1)
        if done.any():
            return np.asarray(a[done.argmax()])
        keep = known.truth != _FALSE
        a, b, open_rows = a[keep], b[keep], open_rows[keep]
        known = known.take(keep)
        tight_low, tight_high, changed = condition.tightened(known, a, b)
        fits = changed & (tight_low <= tight_high).all(1)
        axis, place = condition.cuts(known, a, b)
        for i in np.flatnonzero(known.truth == _TRUE).tolist():
            touched = np.abs(rows[0][open_rows[i]]).sum(0) * (b[i] - a[i])
            axis[i] = touched.argmax()
            place[i] = (a[i, axis[i]] + b[i, axis[i]]) // 2 + 1
        rest = ~changed
        low, high = _pushed(low, high, split(a[rest], b[rest], axis[rest], place[rest]))
        low, high = np.concatenate([low, tight_low[fits]]), np.concatenate([high, tight_high[fits]])
    return None
