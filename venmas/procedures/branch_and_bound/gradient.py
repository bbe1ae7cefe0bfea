"""Points that may answer a question over several steps: samples, corners, and descent along gradients of the loop.

    points := samples and corners of the boxes; the best of them go downhill:
        the group that decides the condition at a point is the one to meet
        its distance: the greatest of its goals (one half of the points), the sum of those above 0 (the other)
        its gradient: backward through the layers, by the phases of the point
        step: the signs of the gradient, times a part of the box that shrinks

A maximum over goals has ridges on which its own gradient stalls; the sum of hinges has none where two goals meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.bounds.crown_plan import AND, Plan
from venmas.bounds.rounding import Bools, Floats, Ints
from venmas.model.transform.program import Box
from venmas.procedures.branch_and_bound.falsify import confirm, floats

_SAMPLES = 1000
_BEST = 64
_STEPS = 25
_FIRST, _LAST = 0.25, 0.002
"""Step sizes, as parts of a side."""
_CONFIRMED = 5
"""Points that are tried in rationals."""


def search(plan: Plan, boxes: Sequence[Box], tick: Callable[[], None]) -> tuple[Fraction, ...] | None:
    """A point of the boxes at which the condition holds exactly, or None."""
    low, high = floats(boxes)
    rng = np.random.default_rng(1)
    root = rng.integers(len(low), size=_SAMPLES)
    part = rng.random((_SAMPLES, low.shape[1]))
    part[::2] = np.rint(part[::2])  # corners
    with np.errstate(all="ignore"):
        x = low[root] + part * (high[root] - low[root])
        distance = np.nan_to_num(plan.violation(plan.values(x)), nan=np.inf)
        best = np.argsort(distance, kind="stable")[:_BEST]
        root, x = root[best], x[best]
        found = _confirmed(plan, boxes, root, x, distance[best])
        if found is not None:
            return found
        seen, least = x.copy(), distance[best].copy()
        hinges = np.arange(len(x)) % 2 == 1
        for step in range(_STEPS):
            tick()
            at = descent(plan, x, hinges)
            better = at.distance < least
            seen[better], least[better] = x[better], at.distance[better]
            if least.min() <= 0:
                break
            size = _FIRST * (_LAST / _FIRST) ** (step / (_STEPS - 1))
            x = np.clip(x - np.sign(at.slope) * size * (high[root] - low[root]), low[root], high[root])
        best = np.argsort(least, kind="stable")
        return _confirmed(plan, boxes, root[best], seen[best], least[best])


def _confirmed(
    plan: Plan, boxes: Sequence[Box], root: Ints, x: Floats, distance: Floats
) -> tuple[Fraction, ...] | None:
    for i in np.flatnonzero(distance <= 0)[:_CONFIRMED]:
        found = confirm(plan, boxes[root[i]], x[i])
        if found is not None:
            return found
    return None


@dataclass(frozen=True, eq=False)
class Descent:
    """How far the condition is from holding at points (B,), and a slope (B, m) of what is to become less there."""

    distance: Floats
    slope: Floats


def descent(plan: Plan, x: Floats, hinges: Bools) -> Descent:
    """The slope of the distance of the deciding group at points x (B, m); hinges (B,): of the sum of its hinges."""
    values = np.zeros((len(x), len(plan.goal_bias)))
    phases: list[Bools] = []
    h = x
    for level in range(len(plan.hidden) + 1):
        if level:
            layer = plan.hidden[level - 1]
            h = h @ layer.weights.T + layer.bias
            phases.append(~layer.relu | (h > 0))
            h = np.where(phases[-1], h, 0.0)
        for g in plan.at(level):
            goals = plan.group(int(g))
            values[:, goals] = h @ plan.goal[goals, : h.shape[1]].T
    values += x @ plan.direct.T + plan.goal_bias
    distances = np.nan_to_num(plan.distances(values), nan=np.inf)
    distance, group = _deciding(plan, distances)
    weight = np.zeros_like(values)
    for g in range(plan.groups):
        goals, rows = plan.group(g), np.flatnonzero(group == g)
        mine = values[np.ix_(rows, goals)]
        single = np.eye(len(goals))[mine.argmax(1)]
        weight[np.ix_(rows, goals)] = np.where(hinges[rows, None] & (mine.max(1, keepdims=True) > 0), mine > 0, single)
    slope = np.zeros((len(x), plan.sizes[-1]))
    for level in range(len(plan.hidden), -1, -1):
        for g in plan.at(level):
            goals = plan.group(int(g))
            slope = slope + weight[:, goals] @ plan.goal[goals, : slope.shape[1]]
        if level:
            slope = np.where(phases[level - 1], slope, 0.0) @ plan.hidden[level - 1].weights
    return Descent(distance, slope + weight @ plan.direct)


def _deciding(plan: Plan, distances: Floats) -> tuple[Floats, Ints]:
    """Distances (B,) of the condition, and the group that each is that of: (G, B) -> (B,) twice."""
    count = distances.shape[1]
    stack: list[tuple[Floats, Ints]] = []
    at = 0
    while at < len(plan.program):
        code = int(plan.program[at])
        at += 1
        if code >= 0:
            stack.append((distances[code], np.full(count, code)))
            continue
        size = int(plan.program[at])
        at += 1
        if not size:
            stack.append((np.full(count, -np.inf if code == AND else np.inf), np.full(count, -1)))
            continue
        values = np.array([v for v, _ in stack[len(stack) - size :]])
        groups = np.array([g for _, g in stack[len(stack) - size :]])
        best = values.argmax(0) if code == AND else values.argmin(0)
        stack[len(stack) - size :] = [(values[best, np.arange(count)], groups[best, np.arange(count)])]
    return stack[0]
