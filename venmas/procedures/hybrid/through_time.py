"""Slopes of the distance that runs miss by their initial values, backward through time, in floats.

    slope := that of the comparison that decides, in its state
    for each step before it, the last one first:
        the step is taken again with each of its variables moved a little, and the slope multiplied by the differences

Noise is an initial value for each step, but a step has one of each alone: of long runs, differences along each initial
value cost as many runs as there are steps, these as many as a step has variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from venmas.bounds.rounding import Floats, Index
from venmas.budget import ask
from venmas.logic.linear import Comparison, Relation
from venmas.model.evaluation.simulate import step_batch
from venmas.model.system.disturbances import ahead, at_once, disturbance_of
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System

Way: TypeAlias = tuple[list[tuple[int, int]], Comparison | None]
"""Branches that a run takes, with the rows of the states after them; the comparison that decides in the last one."""

_MOVE = 2.0**-20
"""Of a variable, as a part of it, or of 1."""
_PRODUCTS = 300_000
"""Products of networks in a step of a run along each initial value, from which on they cost more than what calls do."""


def pays(system: System, names: Sequence[str]) -> bool:
    """Do differences of the runs along each initial value cost more than those of steps, and all that these need?"""
    weights = sum(layer.weight.size for network in networks_of(system).values() for layer in network.layers)
    return len(names) > 2 * len(at_once(system).variables) and len(names) * weights > _PRODUCTS


def noise_of(system: System) -> dict[str, list[str]]:
    """The initial values of each disturbance in the steps after the first, in their order."""
    later: dict[str, list[str]] = {}
    for name in filter(ahead, system.variables):
        later.setdefault(disturbance_of(name), []).append(name)
    return later


def slopes(system: System, states: Sequence[Mapping[str, Floats]], ways: Sequence[Way], names: Sequence[str]) -> Floats:
    """Slopes of what runs miss by initial values: (B, names). states: of each step, the first of shape (B,)."""
    later, system, count = noise_of(system), at_once(system), len(ways)
    zero = np.zeros(count)
    slope = {n: zero.copy() for n in system.variables}
    total: dict[str, Floats] = {}
    for step in range(max(len(path) for path, _ in ways), -1, -1):
        for i, (path, comparison) in enumerate(ways):
            if len(path) == step and comparison is not None:
                state = {n: values[path[-1][1] if path else i] for n, values in states[step].items()}
                for name, factor in comparison.expr.terms:
                    slope[name][i] += float(factor) * _sign(comparison, state)
        if step == 0:
            break
        for name, values in later.items():  # one of a later step takes the place of that of the step before
            place = values[min(step, len(values)) - 1]
            total[place] = total.get(place, zero) + slope[name]
            slope[name] = zero
        before = np.array([path[step - 2][1] if 1 < step <= len(path) else i for i, (path, _) in enumerate(ways)])
        branch = np.array([path[step - 1][0] if step <= len(path) else 0 for path, _ in ways])
        before = np.minimum(before, len(next(iter(states[step - 1].values()))) - 1)  # of those without a slope yet
        slope = _before(system, {n: v[before] for n, v in states[step - 1].items()}, branch, slope)
    return np.stack([total.get(n, slope.get(n, zero)) for n in names], axis=1)


def _before(
    system: System, state: Mapping[str, Floats], branch: Index, slope: Mapping[str, Floats]
) -> dict[str, Floats]:
    """The slopes by the state before a step, of those by the state after it."""
    ask()
    count = len(branch)
    moved = [n for n, decl in system.variables.items() if not decl.integral]
    many = {n: np.tile(values, (len(moved) + 1, 1)) for n, values in state.items()}
    sizes = np.array([_MOVE * np.maximum(1.0, np.abs(state[n])) for n in moved]).reshape(len(moved), count)
    for k, name in enumerate(moved):
        many[name][k + 1] += sizes[k]
    with np.errstate(all="ignore"):
        after, enabled = step_batch(system, {n: v.ravel() for n, v in many.items()}, np.tile(branch, len(moved) + 1))
        moves = np.zeros((len(moved), count))
        for name, weight in slope.items():
            if weight.any():
                values = after[name].reshape(-1, count)
                moves += weight * (values[1:] - values[0]) / sizes
    same = enabled.reshape(-1, count)
    moves = np.where(same[1:] & same[0], np.nan_to_num(moves), 0.0)
    return {n: np.zeros(count) for n in system.variables} | dict(zip(moved, moves, strict=True))


def _sign(comparison: Comparison, state: Mapping[str, float]) -> float:
    """Slope of the distance of a comparison from holding by its expression."""
    match comparison.relation:
        case Relation.LT | Relation.LE:
            return 1.0
        case Relation.GT | Relation.GE:
            return -1.0
    value = float(comparison.expr.constant) + sum(float(c) * state[n] for n, c in comparison.expr.terms)
    return float(np.sign(value)) * (1.0 if comparison.relation is Relation.EQ else -1.0)
