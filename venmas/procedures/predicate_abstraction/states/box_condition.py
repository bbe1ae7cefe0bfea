"""Conditions over boxes of integers, compiled: truth by intervals for many boxes at once, and where to look further."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Bools, Ints
from venmas.logic import And, Atom, Bottom, Formula, Or, Top, nnf, subformulas
from venmas.logic.linear import Relation
from venmas.procedures.predicate_abstraction.states.predicates import integral

OPEN, TRUE, FALSE = 0, 1, -1
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


class _Layer:
    """Nodes of one kind and height, with their parts one after the other."""

    def __init__(self, kind: int, nodes: list[int], parts: list[list[int]]) -> None:
        self.kind, self.nodes = kind, np.array(nodes)
        counts = np.array([len(p) for p in parts])
        self.parts = np.array([p for each in parts for p in each])
        self.starts = np.cumsum(counts) - counts
        self._owner = np.repeat(np.arange(len(nodes)), counts)
        self._order = np.argsort(self.parts, kind="stable")
        self._distinct, self._first = np.unique(self.parts[self._order], return_index=True)

    def down(self, below: Bools, matter: Bools, needed: Bools) -> None:
        """What matters and what must hold, from the nodes to their parts, which are open where `below` says so."""
        owner = self.nodes[self._owner]
        must = below & needed[owner]
        if self.kind == _OR:
            must &= (np.add.reduceat(below, self.starts, axis=0, dtype=np.int64) == 1)[self._owner]
        for given, found in ((below & matter[owner], matter), (must, needed)):
            found[self._distinct] |= np.logical_or.reduceat(given[self._order], self._first, axis=0)


class BoxCondition:
    """A condition over n integers, compiled: a in atoms, each ``rows @ x + constants >= 0``."""

    def __init__(self, condition: Formula, columns: Mapping[str, int], low: Ints, high: Ints) -> None:
        self.low, self.high = low, high
        self._n = len(low)
        rows: dict[tuple[tuple[tuple[int, int], ...], int], int] = {}
        self._nodes: list[tuple[int, list[int]]] = []
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
        self._always = [i for i, (kind, parts) in enumerate(self._nodes, self.atoms) if kind == _AND and not parts]
        self._never = [i for i, (kind, parts) in enumerate(self._nodes, self.atoms) if kind == _OR and not parts]
        self._layers = self._layered()
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
        self._nodes.append((kind, parts))
        return self.atoms + len(self._nodes) - 1

    def _layered(self) -> list[_Layer]:
        """The nodes with parts, by height and kind, the lowest first."""
        height = [0] * (self.atoms + len(self._nodes))
        found: dict[tuple[int, int], list[int]] = {}
        for i, (kind, parts) in enumerate(self._nodes, self.atoms):
            if parts:
                height[i] = 1 + max(height[p] for p in parts)
                found.setdefault((height[i], kind), []).append(i)
        return [
            _Layer(kind, nodes, [self._nodes[i - self.atoms][1] for i in nodes])
            for (_, kind), nodes in sorted(found.items())
        ]

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
        values[self._always], values[self._never] = TRUE, FALSE
        for layer in self._layers:
            join = np.minimum if layer.kind == _AND else np.maximum
            values[layer.nodes] = join.reduceat(values[layer.parts], layer.starts, axis=0)
        matter, needed = np.zeros(values.shape, bool), np.zeros(values.shape, bool)
        matter[self._root] = needed[self._root] = values[self._root] == OPEN
        for layer in reversed(self._layers):
            if matter[layer.nodes].any():
                layer.down(values[layer.parts] == OPEN, matter, needed)
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
        if not self.atoms:  # true or false everywhere: what else is asked for decides
            axis = (high - low).argmax(1)
            return axis, (low[rows, axis] + high[rows, axis]) // 2 + 1
        score = known.matter.T.astype(np.float32) @ self._incidence
        wide = high > low
        axis = np.where(wide, score, -1).argmax(1)
        place = (low[rows, axis] + high[rows, axis]) // 2 + 1
        single = known.matter & (self._column[:, None] == axis) & (self._incidence.sum(1) == 1)[:, None]
        has = single.any(0)
        first = single.argmax(0)
        limit = np.where(self._factor[first] > 0, self._limit[first], self._limit[first] + 1)
        return axis, np.where(has, limit, place)
