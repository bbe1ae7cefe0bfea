"""Sampled runs in floats: what reach sets are compared with, and what their pictures show."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf, nextafter

import numpy as np

from venmas.bounds.rounding import Bools, Floats, Index
from venmas.budget import Budget, BudgetError
from venmas.logic import TRUE
from venmas.logic.linear import LinearExpr
from venmas.model.evaluation.regions import bounding_box, sample_initial
from venmas.model.evaluation.simulate import random_branches, step_batch, within
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.kinduction.runs import Runs
from venmas.procedures.reach import Layer

_AT_ONCE = 20_000
_FAR, _OTHERS = 64, 1000
"""States of a step that a search for far ones goes on with: in each direction at each end, and besides."""
_DRAWN = 2000
"""Initial states that are drawn in exact numbers, which takes some 0.3 ms each."""
_EACH = 256
"""Initial states that are drawn between two looks at the clock."""


def sampled(
    system: System, exprs: Sequence[LinearExpr], steps: int, count: int, seed: int, skipped: int, budget: Budget
) -> tuple[Floats, int | None]:
    """Values of linear expressions along runs, (R, steps + 1 - skipped, D), and by which step one left its range.

    They begin in corners of the initial set, and at random. In half of them the environment has a favourite branch,
    which it takes wherever it can: extremes are seldom met by chance. A run ends (NaN) where it has no successor, or
    leaves the declared range of a variable. skipped: steps at the beginning that are left out.
    """
    rng = np.random.default_rng(seed)
    names = list(system.variables)
    starts = _starts(system, rng, count, seed, budget)
    values = np.full((len(starts), steps + 1 - skipped, len(exprs)), np.nan)
    found = _Seen()
    with suppress(BudgetError):  # what runs came to by then is as true
        for first in range(0, len(starts), _AT_ONCE):
            rows = np.arange(first, min(first + _AT_ONCE, len(starts)))
            _follow(
                system, exprs, dict(zip(names, starts[rows].T, strict=True)), rows, values, skipped, rng, found, budget
            )
    return values, found.left


@dataclass
class _Seen:
    left: int | None = None
    """The first step by which a run has left its range."""


def _follow(
    system: System,
    exprs: Sequence[LinearExpr],
    state: dict[str, Floats],
    rows: Index,
    values: Floats,
    skipped: int,
    rng: np.random.Generator,
    found: _Seen,
    budget: Budget,
) -> None:
    """Follow runs from states, and note the expressions in their rows of `values`."""
    favourite = rng.integers(-len(system.branches), len(system.branches), len(rows))
    steps = values.shape[1] - 1 + skipped
    for step in range(steps + 1):
        budget()
        inside = _inside(system, state)
        if not inside.all():
            found.left = step - skipped if found.left is None else min(found.left, step - skipped)
        rows, favourite = rows[inside], favourite[inside]
        state = {n: v[inside] for n, v in state.items()}
        if not len(rows):
            break
        if step >= skipped:
            values[rows, step - skipped] = np.stack([_value(e, state, len(rows)) for e in exprs], 1)
        if step == steps:
            break
        wish = favourite[:, None] == np.arange(len(system.branches))
        branch, alive = random_branches(system, state, rng, wish)
        rows, favourite = rows[alive], favourite[alive]
        if not len(rows):
            break
        state, _ = step_batch(system, {n: v[alive] for n, v in state.items()}, branch[alive])


def first_layer(system: System, exprs: Sequence[LinearExpr]) -> list[Layer]:
    """The initial set: a layer of the box around it; none where it has no point, or is no union of polytopes."""
    if system.initial_condition is not TRUE:
        return []
    boxes = [box for region in system.regions if (box := bounding_box(system, region)) is not None]
    if not boxes:
        return []
    ends = np.array([[_ends(expr, box) for expr in exprs] for box in boxes])
    return [Layer.around(ends[..., 0].min(0), ends[..., 1].max(0))]


def _ends(expr: LinearExpr, box: Box) -> tuple[float, float]:
    """The least and greatest value over a box, rounded outward."""
    low = high = expr.constant
    for name, factor in expr.terms:
        ends = [factor * end for end in box[name]]
        low, high = low + min(ends), high + max(ends)
    below, above = float(low), float(high)
    return below if below <= low else nextafter(below, -inf), above if above >= high else nextafter(above, inf)


def farthest(
    system: System, exprs: Sequence[LinearExpr], steps: int, runs: Floats, seed: int, skipped: int, budget: Budget
) -> Floats:
    """Extremes of linear expressions over `runs`, and over all states that a search for far ones meets, (S, D, 2).

    It takes every branch, and of the states of a step goes on with those that are farthest in each direction, and with
    others at random.
    """
    found = np.full((steps + 1 - skipped, len(exprs), 2), np.nan)
    for step in range(len(found)):
        values = runs[:, step]
        _note(found[step], values[~np.isnan(values).any(1)])
    if system.initial_condition is not TRUE:
        return found
    with suppress(BudgetError):
        _search(system, exprs, steps, seed, skipped, found, budget)
    return found


def _search(
    system: System, exprs: Sequence[LinearExpr], steps: int, seed: int, skipped: int, found: Floats, budget: Budget
) -> None:
    """Widen the extremes of each step by states that a search for far ones meets."""
    rng, search = np.random.default_rng(seed), Runs(system, seed)
    names = list(system.variables)
    states = search.initial()
    for step in range(steps + 1):
        budget()
        if not len(states):
            break
        values = np.stack([_value(e, dict(zip(names, states.T, strict=True)), len(states)) for e in exprs], 1)
        if step >= skipped:
            _note(found[step - skipped], values)
        order = np.argsort(values, 0)
        ends = np.unique(np.concatenate([order[:_FAR], order[-_FAR:]]))
        kept = np.union1d(ends, rng.permutation(len(states))[:_OTHERS])
        if step < steps:
            states, _ = search.step(states[kept])


def _note(ends: Floats, values: Floats) -> None:
    """Widen extremes (D, 2) by values (B, D)."""
    if len(values):
        ends[:, 0], ends[:, 1] = np.fmin(ends[:, 0], values.min(0)), np.fmax(ends[:, 1], values.max(0))


def _starts(system: System, rng: np.random.Generator, count: int, seed: int, budget: Budget) -> Floats:
    """Initial states (R, variables): ends of the boxes of the initial set first, where it is a union of some.

    Beyond `_DRAWN` they lie between two of those before, where the initial set is convex and their integers agree.
    """
    found = Runs(system, seed).initial()[:count] if system.initial_condition is TRUE else np.zeros((0, 0))
    parts = [found.reshape(-1, len(system.variables))]
    convex = system.initial_condition is TRUE and len(system.regions) == 1
    missing = (min(count, _DRAWN) if convex else count) - len(found)
    while missing > 0 and not budget.over:
        points = sample_initial(system, rng, min(missing, _EACH))
        if not points:
            break
        parts.append(np.array([[float(p[n]) for n in system.variables] for p in points]))
        missing -= len(points)
    exact = np.concatenate(parts)
    if not len(exact) or len(exact) == count or not convex:
        return exact
    one, other = exact[rng.integers(len(exact), size=(2, count - len(exact)))]
    whole = np.array([d.integral for d in system.variables.values()])
    part = rng.random(len(one)) * (one[:, whole] == other[:, whole]).all(1)
    return np.concatenate([exact, one + part[:, None] * (other - one)])


def _inside(system: System, state: dict[str, Floats]) -> Bools:
    inside = np.ones(len(next(iter(state.values()))), dtype=bool)
    for decl in system.variables.values():
        inside &= within(decl, state[decl.name])
    return inside


def _value(expr: LinearExpr, state: dict[str, Floats], size: int) -> Floats:
    total = np.full(size, float(expr.constant))
    for name, factor in expr.terms:
        total = total + float(factor) * state[name]
    return total
