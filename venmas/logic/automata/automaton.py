"""Büchi automata: generalised, marks on transitions (TGBA); what is accepted, and their parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from venmas.budget import ask
from venmas.errors import AutomatonError
from venmas.logic.automata.label import Label
from venmas.logic.paths import Leaf
from venmas.logic.printing import to_text


class Edge(NamedTuple):
    """A transition under the letters of `label`. marks: the acceptance sets that it is in, as bits."""

    source: int
    label: Label
    target: int
    marks: int


@dataclass(frozen=True)
class Automaton:
    """States 0 to ``states - 1``, the first of them initial, over letters that say of each atom whether it is true.

    A word is accepted when it has a run that meets each of the acceptance sets 0 to ``marks - 1`` again and again; with
    none, every run that does not end is accepting. Raises `AutomatonError` for numbers out of range.
    """

    atoms: tuple[Leaf, ...]
    states: int
    marks: int
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        if len(set(self.atoms)) < len(self.atoms):
            raise AutomatonError("an automaton has each atom once")
        if self.states < 1:
            raise AutomatonError("an automaton has one state or more: one without edges accepts nothing")
        for edge in self.edges:
            inside = 0 <= edge.source < self.states and 0 <= edge.target < self.states
            if not inside or edge.marks >> self.marks or edge.label.care >> len(self.atoms):
                raise AutomatonError(
                    f"{edge} is no edge between {self.states} states, over {len(self.atoms)} atoms and "
                    f"{self.marks} acceptance sets"
                )
            if edge.label.value & ~edge.label.care:
                raise AutomatonError(f"{edge}: the value of a label lies within what it cares for")

    @cached_property
    def leaving(self) -> tuple[tuple[Edge, ...], ...]:
        """Of each state the edges that begin there."""
        by_state: list[list[Edge]] = [[] for _ in range(self.states)]
        for edge in self.edges:
            by_state[edge.source].append(edge)
        return tuple(map(tuple, by_state))

    @property
    def all_marks(self) -> int:
        """The bits of every acceptance set."""
        return (1 << self.marks) - 1

    def accepts(self, edges: Sequence[Edge]) -> bool:
        """Is there an edge, and does each acceptance set have one?"""
        marks = 0
        for edge in edges:
            marks |= edge.marks
        return bool(edges) and marks == self.all_marks

    def label_text(self, label: Label) -> str:
        """A label as a formula."""
        signs = [f"{'' if sign else '!'}{self._atom_text(i)}" for i, sign in label.literals()]
        return " & ".join(signs) or "true"

    def _atom_text(self, number: int) -> str:
        text = to_text(self.atoms[number])
        return f"({text})" if " " in text and not text.startswith('"') else text

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("atoms", "states", "marks", "edges")}


@dataclass(frozen=True)
class Component:
    """A strongly connected component that accepts: its states, the edges inside, and what is met again and again.

    sets: acceptance sets as sets of edges, none of which contains another; all edges, where every run inside accepts.
    """

    states: frozenset[int]
    edges: tuple[Edge, ...]
    sets: tuple[frozenset[Edge], ...]


def components(automaton: Automaton) -> list[Component]:
    """The accepting components, in the order of their least states. What happens outside of them cannot recur."""
    found = []
    for states, edges in inner_edges(automaton):
        if automaton.accepts(edges):
            sets = least_sets(edges, automaton.marks) or (frozenset(edges),)
            found.append(Component(states, edges, sets))
    return found


def least_sets(edges: Iterable[Edge], marks: int) -> tuple[frozenset[Edge], ...]:
    """Acceptance sets within a component that imply all of them: no whole one, none that contains another."""
    edges = frozenset(edges)
    sets = list(dict.fromkeys(frozenset(e for e in edges if e.marks >> mark & 1) for mark in range(marks)))
    return tuple(one for one in sets if one != edges and not any(other < one for other in sets))


def inner_edges(automaton: Automaton) -> list[tuple[frozenset[int], tuple[Edge, ...]]]:
    """The strongly connected components with their inner edges, in the order of their least states."""
    return sorted(parts_of(automaton.states, automaton.edges), key=lambda one: min(one[0]))


def parts_of(states: int, edges: Iterable[Edge]) -> list[tuple[frozenset[int], tuple[Edge, ...]]]:
    """The strongly connected components of some edges with their inner edges, each before those that lead to it."""
    edges = list(edges)
    leaving: list[list[int]] = [[] for _ in range(states)]
    for edge in edges:
        leaving[edge.source].append(edge.target)
    groups = strongly_connected(leaving)
    home = {state: number for number, group in enumerate(groups) for state in group}
    inner: list[list[Edge]] = [[] for _ in groups]
    for edge in edges:
        if home[edge.source] == home[edge.target]:
            inner[home[edge.source]].append(edge)
    return [(frozenset(group), tuple(edges)) for group, edges in zip(groups, inner, strict=True)]


def strongly_connected(successors: list[list[int]]) -> list[list[int]]:
    """Strongly connected components, each before those that lead to it (Tarjan, SIAM J. Comput. 1 (2), 1972)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: dict[int, None] = {}
    groups = []
    for root in range(len(successors)):
        if root in index:
            continue
        work = [(root, iter(successors[root]))]
        index[root] = low[root] = len(index)
        open_[root] = None
        while work:
            ask()
            node, rest = work[-1]
            child = next((c for c in rest if c not in index or c in open_), None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group: list[int] = []
                    while not group or group[-1] != node:
                        group.append(open_.popitem()[0])
                    groups.append(group)
            elif child in index:
                low[node] = min(low[node], index[child])
            else:
                index[child] = low[child] = len(index)
                open_[child] = None
                work.append((child, iter(successors[child])))
    return groups
