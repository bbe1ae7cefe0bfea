"""The product of a graph of states with an automaton, its accepting components, and lassos in them.

    nodes (state, automaton state) that initial ones reach                              (breadth first, with parents)
    strongly connected components; one whose inner edges carry every mark accepts
    a lasso: to the component, in it along an edge of each mark, and back

Courcoubetis, Vardi, Wolper, Yannakakis, *Memory-efficient algorithms for the verification of temporal
properties*, Formal Methods in System Design 1, 1992.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.logic.automata.automaton import Automaton, strongly_connected
from venmas.procedures.explicit.states.integers import NotExplicitError

MAX_EDGES = 5_000_000
"""Edges of a product; a larger one is not decided."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Letters:
    """Steps of a graph with what they say of the atoms. sources, targets: numbers of states; bits: of the atoms."""

    count: int
    initial: int
    sources: Ints
    targets: Ints
    bits: Ints


@dataclass(frozen=True)
class Lasso:
    """Steps of the graph, by number; after the last comes step `back`."""

    steps: tuple[int, ...]
    back: int


class Product:
    """The product of steps with an automaton. Raises `NotExplicitError` where it is too large, `BudgetError`."""

    def __init__(self, letters: Letters, automaton: Automaton) -> None:
        self.automaton, size = automaton, automaton.states
        sources, targets, steps, marks = [], [], [], []
        total = 0
        for edge in automaton.edges:
            ask()
            rows = np.flatnonzero((letters.bits ^ edge.label.value) & edge.label.care == 0)
            total += len(rows)
            if total > MAX_EDGES:
                raise NotExplicitError
            sources.append(letters.sources[rows] * size + edge.source)
            targets.append(letters.targets[rows] * size + edge.target)
            steps.append(rows)
            marks.append(np.full(len(rows), edge.marks, np.int64))
        none = [np.zeros(0, np.int64)]
        source = np.concatenate([*sources, *none])
        order = np.argsort(source, kind="stable")
        self._targets = np.concatenate([*targets, *none])[order]
        self._steps = np.concatenate([*steps, *none])[order]
        self._marks = np.concatenate([*marks, *none])[order]
        self._starts = np.searchsorted(source[order], np.arange(letters.count * size + 1))
        self._reach([state * size for state in range(letters.initial)])

    def _leaving(self, node: int) -> range:
        return range(int(self._starts[node]), int(self._starts[node + 1]))

    def _reach(self, first: Iterable[int]) -> None:
        """Numbers of reached nodes in the order in which they are found, and the edge that found each."""
        self.parent: dict[int, int] = dict.fromkeys(first, -1)
        self._source: dict[int, int] = {}
        waiting = deque(self.parent)
        targets = self._targets.tolist()
        while waiting:
            ask()
            node = waiting.popleft()
            for edge in self._leaving(node):
                target = targets[edge]
                if target not in self.parent:
                    self.parent[target], self._source[edge] = edge, node
                    waiting.append(target)
        self._order = list(self.parent)
        number = {node: i for i, node in enumerate(self._order)}
        self._groups = strongly_connected([[number[targets[e]] for e in self._leaving(n)] for n in self._order])

    @property
    def nodes(self) -> int:
        """Pairs of a state and an automaton state that are reached."""
        return len(self._order)

    def lasso(self) -> Lasso | None:
        """A run that the automaton accepts; None where there is none."""
        home = {self._order[i]: g for g, group in enumerate(self._groups) for i in group}
        for number, group in enumerate(self._groups):
            ask()
            nodes = [self._order[i] for i in group]
            inner = [(n, e) for n in nodes for e in self._leaving(n) if home.get(int(self._targets[e])) == number]
            met = 0
            for _, edge in inner:
                met |= int(self._marks[edge])
            if inner and met == self.automaton.all_marks:
                return self._through(inner)
        return None

    def _through(self, inner: list[tuple[int, int]]) -> Lasso:
        """A lasso along inner edges of one component that meets every mark."""
        leaving: dict[int, list[int]] = {}
        for node, edge in inner:
            leaving.setdefault(node, []).append(edge)
        first = inner[0][0]
        node, loop = first, list[int]()
        for mark in range(self.automaton.marks):
            path = self._path(leaving, node, lambda _, e, mark=mark: bool(self._marks[e] >> mark & 1))
            loop += path
            node = int(self._targets[path[-1]])
        if node != first or not loop:
            loop += self._path(leaving, node, lambda t, _: t == first)
        stem: list[int] = []
        at = first
        while (edge := self.parent[at]) >= 0:
            stem.append(edge)
            at = self._source[edge]
        edges = [*reversed(stem), *loop]
        return Lasso(tuple(int(self._steps[edge]) for edge in edges), len(stem))

    def _path(self, leaving: dict[int, list[int]], start: int, ends: object) -> list[int]:
        """A shortest path of edges whose last one satisfies `ends` (target, edge)."""
        found: dict[int, tuple[int, int]] = {}
        waiting, seen = deque([start]), {start}
        while waiting:
            node = waiting.popleft()
            for edge in leaving[node]:
                target = int(self._targets[edge])
                if ends(target, edge):  # type: ignore[operator]
                    path = [edge]
                    while node != start:
                        node, edge = found[node]
                        path.append(edge)
                    return path[::-1]
                if target not in seen:
                    seen.add(target)
                    found[target] = (node, edge)
                    waiting.append(target)
        raise AssertionError("a component is strongly connected")

    def levels(self, within: int | None) -> dict[int, int]:
        """Levels of reached nodes that no edge rises, where there is no lasso; nodes are ``state * size + automaton``.

        An edge falls that bears mark ``level % marks`` (any edge, where there are no marks); where runs end `within`
        so many steps, every one.
        """
        marks, found = max(1, self.automaton.marks), dict[int, int]()
        for group in self._groups:  # each before those that lead to it
            ask()
            nodes = [self._order[i] for i in group]
            inside, own = set(nodes), 0
            leaving: set[tuple[int, int]] = set()
            for edge in (e for node in nodes for e in self._leaving(node)):
                target = int(self._targets[edge])
                borne = int(self._marks[edge]) if self.automaton.marks and within is None else -1
                if target in inside:
                    own |= borne
                else:
                    leaving.add((found[target], borne))
            level = max((below for below, _ in leaving), default=0)
            while any(borne >> level % marks & 1 for borne in (own, *(m for below, m in leaving if below == level))):
                level += 1
            found.update(dict.fromkeys(nodes, level))
        return found

    @property
    def longest(self) -> int | None:
        """Steps of the automaton's longest run, after which each run has shown the property; None: some do not end."""
        number = {node: i for i, node in enumerate(self._order)}
        length = [0] * len(self._order)
        for group in self._groups:  # each before those that lead to it
            targets = [number[int(self._targets[e])] for e in self._leaving(self._order[group[0]])]
            if len(group) > 1 or group[0] in targets:
                return None
            length[group[0]] = max((1 + length[t] for t in targets), default=0)
        return max(length, default=0)
