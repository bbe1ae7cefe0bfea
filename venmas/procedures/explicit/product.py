"""The product of a graph of states with an automaton, its accepting components, and lassos in them.

    nodes (state, automaton state) that initial ones reach                              (breadth first, with parents)
    strongly connected components; one whose inner edges carry every mark accepts
    a lasso: to the component, in it along edges that carry all marks, and back

Courcoubetis, Vardi, Wolper, Yannakakis, *Memory-efficient algorithms for the verification of temporal
properties*, Formal Methods in System Design 1, 1992; emptiness as in Couvreur, *On-the-fly verification of linear
temporal logic*, FM 1999.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.logic.automata.automaton import Automaton, strongly_connected
from venmas.procedures.explicit.states.integers import NotExplicitError

MAX_EDGES = 5_000_000
"""Edges of a product; a larger one is not decided."""

Ints = NDArray[np.int64]

_UNREACHED, _INITIAL = -1, -2
"""Instead of the edge that a node was found by."""


@dataclass(frozen=True)
class Letters:
    """Steps of a graph with what they say of the atoms. sources, targets: numbers of states; bits: of the atoms.

    count: states, numbered from 0. initial: numbers of the initial ones.
    """

    count: int
    initial: Ints
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

    def __init__(self, letters: Letters, automaton: Automaton, most: int | None = None) -> None:
        self.automaton, size, self.count = automaton, automaton.states, letters.count
        most = MAX_EDGES if most is None else most
        if letters.count * size > 8 * most:
            raise NotExplicitError
        none = np.zeros(0, np.int64)
        parts: list[tuple[Ints, Ints, Ints, Ints]] = [(none, none, none, none)]
        total = 0
        for number, edge in enumerate(automaton.edges):
            ask()
            rows = np.flatnonzero((letters.bits ^ edge.label.value) & edge.label.care == 0)
            total += len(rows)
            if total > most:
                raise NotExplicitError
            ends = letters.sources[rows] * size + edge.source, letters.targets[rows] * size + edge.target
            parts.append((*ends, rows, np.full(len(rows), number)))
        source, target, step, label = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(source, kind="stable")
        self._source, self._target, self._step, self._label = source[order], target[order], step[order], label[order]
        self._borne = np.array([edge.marks for edge in automaton.edges], np.int64)
        self._first = np.searchsorted(self._source, np.arange(letters.count * size + 1))
        self._parent = np.full(letters.count * size, _UNREACHED, np.int64)
        self._reach(letters.initial * size)
        self._nodes = np.flatnonzero(self._parent != _UNREACHED)
        self._inside = np.flatnonzero(self._parent[self._source] != _UNREACHED)
        self._number = np.full(len(self._parent), -1, np.int64)
        self._number[self._nodes] = np.arange(len(self._nodes))
        cuts = np.searchsorted(self._number[self._source[self._inside]], np.arange(1, len(self._nodes)))
        after = np.split(self._number[self._target[self._inside]], cuts) if len(self._nodes) else []
        self._groups = strongly_connected([part.tolist() for part in after])

    def _reach(self, front: Ints) -> None:
        """The edge by which each node is reached first, layer by layer."""
        self._parent[front] = _INITIAL
        while len(front):
            ask()
            count = self._first[front + 1] - self._first[front]
            edges = np.repeat(self._first[front] - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
            edges = edges[self._parent[self._target[edges]] == _UNREACHED]
            front, found = np.unique(self._target[edges], return_index=True)
            self._parent[front] = edges[found]

    def _leaving(self, node: int) -> range:
        return range(int(self._first[node]), int(self._first[node + 1]))

    @property
    def nodes(self) -> int:
        """Pairs of a state and an automaton state that are reached."""
        return len(self._nodes)

    @property
    def reached(self) -> Ints:
        """The pairs that are reached, as ``state * size + automaton state``."""
        return self._nodes

    @property
    def edges(self) -> tuple[Ints, Ints, Ints]:
        """Sources, targets and edges of the automaton, by number, of all edges that are reached."""
        return self._source[self._inside], self._target[self._inside], self._label[self._inside]

    def lasso(self) -> Lasso | None:
        """A run that the automaton accepts; None where there is none."""
        home = np.zeros(len(self._nodes), np.int64)
        for number, group in enumerate(self._groups):
            home[group] = number
        here = home[self._number[self._source[self._inside]]]
        inner = np.flatnonzero(here == home[self._number[self._target[self._inside]]])
        met, some = np.zeros(len(self._groups), np.int64), np.zeros(len(self._groups), bool)
        np.bitwise_or.at(met, here[inner], self._borne[self._label[self._inside[inner]]])
        some[here[inner]] = True
        good = np.flatnonzero(some & (met == self.automaton.all_marks))
        return self._through(self._inside[inner[here[inner] == good[0]]].tolist()) if len(good) else None

    def _through(self, inner: list[int]) -> Lasso:
        """A lasso along inner edges of one component that meets every mark."""
        leaving: dict[int, list[int]] = {}
        for edge in inner:
            leaving.setdefault(int(self._source[edge]), []).append(edge)
        home = node = int(self._source[inner[0]])
        loop: list[int] = []
        missing = self.automaton.all_marks
        while missing:
            path = self._path(
                leaving, node, {edge for edge in inner if int(self._borne[self._label[edge]]) & missing}.__contains__
            )
            loop += path
            node = int(self._target[path[-1]])
            for edge in path:
                missing &= ~int(self._borne[self._label[edge]])
        if node != home or not loop:
            loop += self._path(leaving, node, lambda edge: int(self._target[edge]) == home)
        stem: list[int] = []
        while (edge := int(self._parent[home])) >= 0:
            stem.append(edge)
            home = int(self._source[edge])
        return Lasso(tuple(self._step[[*reversed(stem), *loop]].tolist()), len(stem))

    def _path(self, leaving: dict[int, list[int]], start: int, ends: Callable[[int], bool]) -> list[int]:
        """A shortest path of edges whose last one is such an edge."""
        came: dict[int, int] = {}
        waiting = [start]
        for node in waiting:
            ask()
            for edge in leaving[node]:
                target = int(self._target[edge])
                if ends(edge):
                    path = [edge]
                    while (node := int(self._source[path[-1]])) != start:
                        path.append(came[node])
                    return path[::-1]
                if target not in came and target != start:
                    came[target] = edge
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
            nodes = self._nodes[group].tolist()
            inside, own = set(nodes), 0
            leaving: set[tuple[int, int]] = set()
            for edge in (e for node in nodes for e in self._leaving(node)):
                target = int(self._target[edge])
                borne = int(self._borne[self._label[edge]]) if self.automaton.marks and within is None else -1
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
        length = [0] * len(self._nodes)
        for group in self._groups:  # each before those that lead to it
            targets = [int(self._number[self._target[e]]) for e in self._leaving(int(self._nodes[group[0]]))]
            if len(group) > 1 or group[0] in targets:
                return None
            length[group[0]] = max((1 + length[t] for t in targets), default=0)
        return max(length, default=0)
