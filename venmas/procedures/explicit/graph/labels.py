"""Truth of core formulas with fixpoints in the states of a closed graph (Clarke, Emerson, Sistla, TOPLAS 1986).

A least fixpoint is found backward from the states where it holds at once, one round of steps after the other, and a
state keeps the number of its round: a step to a lower one shows it. A greatest fixpoint is what the dual least one
leaves. A successor outside the box satisfies nothing and refutes nothing: what is true does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Bools
from venmas.logic import AX, EX, And, Atom, Bottom, Fixpoint, Formula, Or, Quantifier, Top, subformulas
from venmas.procedures.explicit.graph.graph import OUTSIDE, StateGraph
from venmas.procedures.explicit.states.atoms import AtomRows

Ranks = NDArray[np.int32]

NEVER = -1
"""The rank of a state that is not in a least fixpoint."""


class Labels:
    """The truth of a core formula and of its parts in the states of a graph whose transitions were kept."""

    def __init__(self, graph: StateGraph, formula: Formula, tick: Callable[[], None]) -> None:
        self.graph = graph
        self.sources, self.branches, self.targets = graph.transitions()
        self.starts = np.searchsorted(self.sources, np.arange(graph.count + 1))
        inside = np.flatnonzero(self.targets != OUTSIDE)
        self._inner = self.sources[inside], self.targets[inside]
        self._leaving = np.unique(self.sources[self.targets == OUTSIDE])
        order = np.argsort(self._inner[1], kind="stable")
        self._before = self._inner[0][order]
        self._into = np.searchsorted(self._inner[1][order], np.arange(graph.count + 1))
        self.truth: dict[Formula, Bools] = {}
        self.ranks: dict[Formula, Ranks] = {}
        nodes = list(subformulas(formula))
        self._atoms([node for node in nodes if isinstance(node, Atom)])
        for node in nodes:
            tick()
            if not isinstance(node, Atom):
                self.truth[node] = self._label(node)

    def _atoms(self, atoms: list[Atom]) -> None:
        graph = self.graph
        rows = AtomRows(atoms, list(graph.system.variables), graph.columns.ranges)
        found = np.empty((len(atoms), graph.count), bool)
        for first, states in graph.chunks():
            found[:, first : first + len(states)] = rows.truth(states)
        self.truth |= zip(atoms, found, strict=True)

    def _label(self, node: Formula) -> Bools:
        parts = [self.truth[child] for child in node.children]
        match node:
            case Top() | Bottom():
                return np.full(self.graph.count, isinstance(node, Top))
            case And(_):
                return np.asarray(np.all(parts, axis=0))
            case Or(_):
                return np.asarray(np.any(parts, axis=0))
            case EX(_):
                return self._next(Quantifier.EXISTS, parts[0], False)
            case AX(_):
                return self._next(Quantifier.ALL, parts[0], False)
            case Fixpoint(True, quantifier, _, _):
                self.ranks[node] = self._least(quantifier, parts[0], parts[1], False)
                return np.not_equal(self.ranks[node], NEVER)
            case Fixpoint(False, quantifier, _, _):
                return np.equal(self._least(quantifier.dual, ~parts[0], ~parts[1], True), NEVER)
        raise TypeError(f"{type(node).__name__} is no core formula: pass it through fixpoints() first")

    def _next(self, quantifier: Quantifier, goal: Bools, outside: bool) -> Bools:
        """The states with a successor (or all successors) in the goal; outside: is what lies outside the box in it?"""
        every = quantifier is Quantifier.ALL
        found = np.full(self.graph.count, every)
        sources, targets = self._inner
        found[sources[goal[targets] != every]] = not every
        if outside is not every:
            found[self._leaving] = not every
        return found

    def _least(self, quantifier: Quantifier, left: Bools, right: Bools, outside: bool) -> Ranks:
        """Rounds in which states enter the least Z = right | (left & QX Z)."""
        every = quantifier is Quantifier.ALL
        ranks = np.where(right, 0, NEVER).astype(np.int32)
        open_steps = np.diff(self.starts)
        if outside:
            steps = self.targets == OUTSIDE
            open_steps = open_steps - np.bincount(self.sources[steps], minlength=self.graph.count)
        at_once = left & ~right & self._next(quantifier, np.zeros(self.graph.count, bool), outside)
        ranks[at_once] = 1
        frontier, round_ = np.flatnonzero(right), 0
        late = np.flatnonzero(at_once)
        while frontier.size or late.size:
            self.graph.tick()
            round_ += 1
            before = self._predecessors(frontier)
            if every:
                np.subtract.at(open_steps, before, 1)
                before = before[open_steps[before] == 0]
            found = np.unique(before[left[before] & (ranks[before] == NEVER)])
            ranks[found] = round_
            frontier = np.concatenate([found, late]) if round_ == 1 else found
            late = late[:0]
        return ranks

    def _predecessors(self, states: NDArray[np.intp]) -> NDArray[np.intp]:
        """The sources of all transitions into some states, one each."""
        first, count = self._into[states], self._into[states + 1] - self._into[states]
        offsets = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        found: NDArray[np.intp] = self._before[np.repeat(first, count) + offsets].astype(np.intp)
        return found
