"""Graph of abstract states by steps: enclosures of each step's states, and their transitions.

A node is an abstract state. Its *outcomes* fix the choices (argmaxes and comparisons) that its bounds leave open and
its successors depend on: under an outcome a branch is mostly an exact affine update. Paths that meet in the same exact
function of the initial state are one node; where there are many such functions, those are joined that have the same
integers, the same linear part and nearby offsets. So the number of nodes grows with the steps, not with the paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from venmas.bounds.expressions import Assumptions
from venmas.bounds.states import State, States, Step
from venmas.budget import ask
from venmas.model.expressions.expr import All, Any, ArgMax, Compare, Condition, Expr, Switch, Where, children

MAX_NODES = 64
"""Nodes of one step above which more of them are joined."""
OVERLAP = 0.1
"""Nodes are joined whose centres are no farther apart than this part of their width: that hardly widens them."""
MAX_POINTS = 1 << 16
"""Nodes of one step where all of them are points."""
MAX_OUTCOMES = 64
"""Outcomes of one node above which its choices stay open."""


@dataclass(frozen=True, eq=False)
class Arc:
    """A step of the bounds, and the node it leads into."""

    step: Step
    target: State


@dataclass(frozen=True, eq=False)
class Outcome:
    """A node under assumptions, and its arcs then."""

    state: State
    assumed: Assumptions
    arcs: tuple[Arc, ...]


class Reach:
    """The nodes that follow `roots`, made one layer at a time when they are asked for; `tick` may raise to stop.

    roots: one state, or points, of one batch: only points that start apart may meet. joined: a step leads into one
    node, with the widest bounds of all successors, and choices stay open (Akintunde et al. 2022, Figure 6).
    """

    def __init__(self, roots: Sequence[State], tick: Callable[[int], None], joined: bool = False) -> None:
        self.tick, self.joined = tick, joined
        self._layer, self._kept = list(roots), list[State]()
        self._outcomes: dict[int, tuple[Outcome, ...]] = {}

    def outcomes(self, node: State) -> tuple[Outcome, ...]:
        """The outcomes of a node of this graph."""
        while id(node) not in self._outcomes:
            self._advance()
        return self._outcomes[id(node)]

    def _advance(self) -> None:
        if not self._layer:
            raise KeyError("the state is not a node of this graph")
        self.tick(self._layer[0].step)
        split = [_Case(node, node, ()) for node in self._layer] if self.joined else _cases(self._layer)
        cases = [(case, case.state.successors()) for case in split]
        taken = [(case.state, step) for case, steps in cases for step in steps]
        groups = ([taken] if taken else []) if self.joined else _groups(taken)
        following = States.merge(groups).members if groups else []
        target = {id(step): node for group, node in zip(groups, following, strict=True) for _, step in group}
        by_node: dict[int, list[Outcome]] = {id(node): [] for node in self._layer}
        for case, steps in cases:
            arcs = tuple(Arc(step, target[id(step)]) for step in steps)
            by_node[id(case.node)].append(Outcome(case.state, case.assumed, arcs))
        self._outcomes.update({key: tuple(outcomes) for key, outcomes in by_node.items()})
        self._kept += self._layer
        self._layer = following


@dataclass(frozen=True, eq=False)
class _Case:
    node: State
    state: State
    assumed: Assumptions
    settled: bool = False


def _cases(layer: list[State]) -> list[_Case]:
    """The nodes of a layer, split until no choice is open that matters."""
    cases = [_Case(node, node, ()) for node in layer]
    while True:
        counts = Counter(id(case.node) for case in cases)
        rows: list[_Case] = []
        for case in cases:
            ask()
            choice = None if case.settled else _pending(case.state)
            outcomes = () if choice is None else _able(case.state, choice)
            if choice is None or counts[id(case.node)] * len(outcomes) > MAX_OUTCOMES:
                rows.append(replace(case, settled=True))
            else:
                rows += [replace(case, assumed=(*case.assumed, (choice, v))) for v in outcomes]
        if len(rows) == len(cases):
            return cases
        split = layer[0].batch.split([case.node.row for case in rows], [case.assumed for case in rows])
        cases = [replace(case, state=state) for case, state in zip(rows, split.members, strict=True)]


def _able(state: State, choice: ArgMax | Compare) -> tuple[int, ...]:
    return tuple(map(int, state.possible(choice) or ())) if isinstance(choice, ArgMax) else (1, 0)


def _pending(state: State) -> ArgMax | Compare | None:
    """A choice that is open in a state and that what follows depends on."""
    seen: set[int] = set()
    for branch in state.batch.system.branches:
        if state.truth(branch.guard) is not False:
            for _, update in branch.updates:
                if (choice := _open(state, update, seen)) is not None:
                    return choice
    return None


def _open(state: State, node: Expr | Condition, seen: set[int]) -> ArgMax | Compare | None:
    if id(node) in seen:
        return None
    seen.add(id(node))
    parts = children(node)
    match node:
        case ArgMax():
            values = state.possible(node)
            return node if values is not None and len(values) > 1 else None
        case Compare() | All() | Any():
            if state.truth(node) is not None:
                return None
        case Switch(selector, cases):
            values = state.possible(selector)
            if values is not None and len(values) == 1:
                parts = tuple(e for k, e in cases if k == values[0])
            else:
                parts = (selector,)
        case Where(condition, then, otherwise):
            truth = state.truth(condition)
            parts = (condition,) if truth is None else (then if truth else otherwise,)
    for part in parts:
        if (choice := _open(state, part, seen)) is not None:
            return choice
    return node if isinstance(node, Compare) else None


def _groups(taken: list[tuple[State, Step]]) -> list[list[tuple[State, Step]]]:
    """Steps that lead into one node: those to the same function of the initial state, and more where they are many."""
    exact: dict[Hashable, list[tuple[State, Step]]] = {}
    points = True
    for origin, step in taken:
        ask()
        forms = [step.state.affine(v) for v in step.state.batch.system.nodes_by_name.values()]
        points &= all(f is not None and not f.terms for f in forms)
        exact.setdefault(id(step) if None in forms else tuple(forms), []).append((origin, step))
    if points and len(exact) <= MAX_POINTS:
        return list(exact.values())
    kinds, places = zip(*(_place(group[0][1].state) for group in exact.values()), strict=True)
    low, high = np.array(places, dtype=np.float64).reshape(len(exact), 2, -1).transpose(1, 0, 2)
    centres = low / 2 + high / 2
    span, cells = np.ptp(centres, 0), OVERLAP * (high - low).max(0)
    while True:
        at = np.where(cells > 0, np.floor((centres - centres.min(0)) / np.where(cells > 0, cells, 1.0)), centres)
        near: dict[Hashable, list[tuple[State, Step]]] = {}
        for kind, place, group in zip(kinds, at.tolist(), exact.values(), strict=True):
            near.setdefault((kind, *place), []).extend(group)
        if len(near) <= MAX_NODES:
            return list(near.values())
        counts = np.where(cells > 0, span / np.where(cells > 0, cells, 1.0), np.where(span > 0, np.inf, 0.0))
        if not len(cells) or counts.max() <= 1:
            return [taken]
        widest = counts.argmax()
        cells[widest] = max(2 * cells[widest], span[widest] / MAX_NODES)


def _place(state: State) -> tuple[Hashable, tuple[list[float], list[float]]]:
    """The integers of a state and the slopes of its reals; where the intervals of the reals begin and end."""
    kind: list[Hashable] = []
    low: list[float] = []
    high: list[float] = []
    for name, decl in state.batch.system.variables.items():
        q, row = state.batch.env[name], state.row
        if decl.integral:
            kind.append(state.possible(state.batch.system[name]) or (float(q.lo[row]), float(q.hi[row])))
        else:
            kind.append(tuple(np.round(q.low[row, 1:], 6).tolist()))
            low.append(float(q.lo[row]))
            high.append(float(q.hi[row]))
    return tuple(kind), (low, high)
