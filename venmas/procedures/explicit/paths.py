"""Paths of a part of a system, run in the whole of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.budget import ask
from venmas.logic import TRUE, Formula, Globally, Quantifier, nnf
from venmas.model.evaluation.regions import contains, sample, sample_initial, snap
from venmas.model.evaluation.simulate import Step
from venmas.model.system.initial import equation
from venmas.model.system.system import System
from venmas.model.transform.cone import Cones
from venmas.model.witness.build import UndecidedError, explain
from venmas.model.witness.tree import Witness
from venmas.procedures.explicit.graph.graph import StateGraph

_STARTS = 16
"""Initial states of the whole that are tried in each initial set."""


@dataclass(frozen=True)
class Path:
    """A run of a part: its first state, and the branches that are taken one after the other."""

    first: dict[str, Fraction]
    branches: tuple[int, ...]


def path_to(graph: StateGraph, end: int) -> Path:
    """The path that found a state."""
    taken, first = [], end
    while (step := graph.parent(first)) is not None:
        taken.append(step[1])
        first = step[0]
    return Path(graph.state(first), tuple(reversed(taken)))


def run_path(cones: Cones, part: System, path: Path, holds: Formula) -> Witness | frozenset[str]:
    """The witness of a path whose last state `holds` does not satisfy; or variables why it does not run in the whole.

    Raises `ModelError` where the whole system leaves the box.
    """
    whole = cones.system
    names = [part.branches[b].name for b in path.branches]
    number = {branch.name: i for i, branch in enumerate(whole.branches)}
    target = nnf(Globally(Quantifier.ALL, len(names), len(names), holds), negate=True)
    failing: frozenset[str] = frozenset(whole.variables)
    for initial in _starts(whole, path.first):
        ask()
        blocked = _blocked(whole, initial, [number[name] for name in names])
        if blocked is not None:
            failing = cones.left_out(blocked, part.variables)
            continue
        try:
            witness = explain(whole, target, initial, names, budget=len(names) + 1, tick=ask)
        except UndecidedError:
            continue
        if witness is not None:
            return witness
    return failing


def _blocked(system: System, initial: dict[str, Fraction], branches: list[int]) -> int | None:
    """The first branch of a path whose guard does not hold. Raises `ModelError` where the path leaves the box."""
    state = initial
    for branch in branches:
        found = Step(system, state).successor(branch)
        if found is None:
            return branch
        state = found.state
    return None


def _starts(whole: System, state: dict[str, Fraction]) -> Iterator[dict[str, Fraction]]:
    """Initial states of the whole system that agree with a state of a part: low ones, high ones, random ones."""
    fixed = tuple(equation(n, v) for n, v in state.items())
    if whole.initial_condition is not TRUE:
        yield from sample_initial(whole, np.random.default_rng(0), _STARTS, fixed)
        return
    for region in whole.regions:
        if not contains(tuple(row for row in region if row.expr.coefficients.keys() <= state.keys()), state):
            continue
        rows = (*region, *fixed)
        for end in (0, 1):
            point = snap(whole, rows, {name: float(ends[end]) for name, ends in whole.box.items()})
            if point is not None:
                yield point
        if len(state) < len(whole.variables):
            yield from sample(whole, rows, np.random.default_rng(0), _STARTS)
