"""Paths of a part of a system, run in the whole of it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from venmas.budget import ask
from venmas.linear import Comparison, LinearExpr, Relation
from venmas.logic import TRUE, Formula, Globally, Quantifier, nnf
from venmas.model.cone import Cones
from venmas.model.regions import contains, sample, sample_initial, snap
from venmas.model.simulate import Step
from venmas.model.system import System
from venmas.model.witness.build import UndecidedError, explain
from venmas.model.witness.tree import Witness
from venmas.search.closure.graph.graph import StateGraph

_STARTS = 16
"""Initial states of the whole that are tried in each initial set."""


def run_path(
    cones: Cones, graph: StateGraph, end: int, leaving: int | None, holds: Formula
) -> Witness | frozenset[str]:
    """The witness of the path to a state of the part that `holds` does not satisfy; or variables why it does not run.

    leaving: the branch that leads out of the box there, None for a violation. Raises `ModelError` where the whole
    system leaves the box.
    """
    whole, part = cones.system, graph.system
    path, first = [], end
    while (step := graph.parent(first)) is not None:
        path.append(step[1])
        first = step[0]
    if leaving is not None:
        path.insert(0, leaving)
    names = [part.branches[b].name for b in reversed(path)]
    number = {branch.name: i for i, branch in enumerate(whole.branches)}
    target = nnf(Globally(Quantifier.ALL, len(path), len(path), holds), negate=True)
    failing: frozenset[str] = frozenset(whole.variables)
    for initial in _starts(whole, graph.state(first)):
        ask()
        blocked = _blocked(whole, initial, [number[name] for name in names])
        if blocked is not None:
            failing = cones.left_out(blocked, part.variables)
            continue
        try:
            witness = explain(whole, target, initial, names, budget=len(path) + 1, tick=ask)
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
    fixed = tuple(Comparison(LinearExpr.variable(n) - LinearExpr((), v), Relation.EQ) for n, v in state.items())
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
