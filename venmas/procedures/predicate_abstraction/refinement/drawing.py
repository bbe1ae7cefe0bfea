"""Abstract graphs for people: what holds in each state, and which branches lead from one to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from venmas.model.show import quoted
from venmas.procedures.predicate_abstraction.graph.box_exits import OUTSIDE
from venmas.procedures.predicate_abstraction.graph.explore import Explored
from venmas.procedures.predicate_abstraction.graph.graph import AbstractGraph
from venmas.procedures.predicate_abstraction.states.cells import Cells, States
from venmas.procedures.predicate_abstraction.states.task import Task

MOST = 200
"""Abstract states up to which a result has the graph."""


@dataclass(frozen=True)
class Drawn:
    """A graph: states, the first `starts` of them initial; numbers of the unsafe ones; steps (from, to, branches)."""

    states: tuple[str, ...]
    starts: int
    unsafe: tuple[int, ...]
    steps: tuple[tuple[int, int, str], ...]

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "states": list(self.states),
            "starts": self.starts,
            "unsafe": list(self.unsafe),
            "steps": [list(step) for step in self.steps],
        }

    def dot(self) -> str:
        """The graph in the language of Graphviz."""
        lines = ["digraph abstraction {", "  node [shape=box];"]
        for i, text in enumerate(self.states):
            more = ", peripheries=2" if i < self.starts else ""
            more += ", style=filled, fillcolor=mistyrose" if i in self.unsafe else ""
            lines.append(f"  s{i} [label={quoted(*text.split(', '))}{more}];")
        lines += [f"  s{s} -> s{t} [label={quoted(*names.split(', '))}];" for s, t, names in self.steps]
        return "\n".join([*lines, "}", ""])


def graph_of(graph: AbstractGraph) -> Drawn:
    """All states and transitions of an abstract graph."""
    names: dict[tuple[int, int], dict[str, None]] = {}
    for s, t, o in zip(graph.source.tolist(), graph.target.tolist(), graph.operator.tolist(), strict=True):
        names.setdefault((s, t), {})[graph.task.operators[o].name] = None
    unsafe = tuple(i for i, bad in enumerate(graph.unsafe.tolist()) if bad)
    steps = tuple((s, t, ", ".join(labels)) for (s, t), labels in names.items())
    return Drawn(_texts(graph.task, graph.cells, graph.states), graph.starts, unsafe, steps)


def tree_of(task: Task, cells: Cells, explored: Explored) -> Drawn:
    """The states that a search found, with the step by which each was found first."""
    steps = tuple(
        (parent[0], i, task.operators[parent[1]].name)
        for i, parent in enumerate(explored.parents)
        if parent is not None
    )
    unsafe = () if explored.path is None else (explored.unsafe,)
    return Drawn(_texts(task, cells, explored.states), explored.starts, unsafe, steps)


def _texts(task: Task, cells: Cells, states: States) -> tuple[str, ...]:
    """What holds in each: one in the declared box does not say so (`box_exits`)."""
    inside, left = f"{OUTSIDE} = 0", f"{OUTSIDE} = 1"
    found = []
    for i in range(len(states)):
        parts = [part for part in cells.text(states[i], task.names).split(", ") if part != inside]
        found.append(", ".join("outside the declared box" if p == left else p for p in parts) or "any state")
    return tuple(found)
