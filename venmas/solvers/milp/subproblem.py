"""A subproblem: a program for one way to meet the negated property, and how to read a point of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from venmas.solvers.milp.program import Program
from venmas.solvers.milp.terms import MARGIN, Term

Hints = dict[tuple[int, ...], int]
"""Branch to try first after a path of branches."""


@dataclass(frozen=True, eq=False)
class Option:
    """A branch that may be taken, the node it leads to, and the literal that says so."""

    branch: int
    child: int
    literal: Term


@dataclass(frozen=True, eq=False)
class Choice:
    """The options at a node of the unrolling."""

    node: int
    options: tuple[Option, ...]


@dataclass(frozen=True, eq=False)
class Subproblem:
    """One program of the stream. `root` is the node of the initial state in `choices`, `region` its initial region.

    `path`: for the memory of the stream, what the path asks; empty where there is none.
    """

    number: int
    program: Program
    initial: Mapping[str, Term]
    choices: tuple[Choice, ...]
    root: int
    margin: int
    region: int | None
    path: str = ""

    def with_margin(self) -> Program:
        """The program that asks strict rows for the greatest slack: its points lie off the boundary if any do."""
        upper = self.program.upper.copy()
        upper[self.margin] = MARGIN
        objective = np.zeros(self.program.variables)
        objective[self.margin] = 1.0
        return replace(self.program, upper=upper, objective=objective)

    def initial_point(self, point: NDArray[np.float64]) -> dict[str, float]:
        """The initial state in a point of the program."""
        return {name: _value(term, point) for name, term in self.initial.items()}

    def hints(self, point: NDArray[np.float64]) -> Hints:
        """The branches that a point of the program takes."""
        branches: Hints = {}
        by_node: dict[int, list[Choice]] = {}
        for choice in self.choices:
            by_node.setdefault(choice.node, []).append(choice)
        open_nodes: list[tuple[int, tuple[int, ...]]] = [(self.root, ())]
        while open_nodes:
            node, path = open_nodes.pop()
            for choice in by_node.get(node, ()):
                best = max(choice.options, key=lambda o: _value(o.literal, point))
                if len(choice.options) > 1 or path not in branches:
                    branches[path] = best.branch
                open_nodes.append((best.child, (*path, best.branch)))
        return branches


def _value(term: Term, point: NDArray[np.float64]) -> float:
    return term.constant + sum(v * float(point[c]) for c, v in term.columns.items())
