"""The run that comes closest to a violation, of samples in floats and of steps from the best of them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from fractions import Fraction
from math import isfinite
from time import monotonic

import numpy as np

from venmas.bounds.rounding import Floats, Index
from venmas.budget import Budget, BudgetError, limited
from venmas.engine.partial.partial import Closest
from venmas.errors import ModelError
from venmas.logic import Formula
from venmas.model.evaluation.regions import contains
from venmas.model.system.disturbances import ahead
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.flowpipes.falsify import Sampled, downhill, missed, point_of
from venmas.procedures.flowpipes.plan import Plan
from venmas.procedures.hybrid.through_time import pays

_SAMPLES, _BEST = 128, 6
_MOST = 40
"""Rounds, if the time is longer."""
_FIRST, _COSTLY = 0.2, 20.0
"""Seconds for each of the first two samples, however little time there is; seconds of one at a time that are too many
for so many at once."""


def closest(
    system: System, target: Formula, boxes: Sequence[Box], noise: Container[str], budget: Budget
) -> Closest | None:
    """The closest run from these boxes of initial states, for as long as the budget lasts.

    target: what no initial state may meet, in core form. system: without disturbances; `noise` are their values in the
    first step.
    """
    plan = Plan(target)
    names = [n for n in system.variables if any(box[n][0] < box[n][1] for box in boxes)]
    low, high = (np.array([[float(box[n][end]) for n in names] for box in boxes]) for end in (0, 1))
    rng = np.random.default_rng(1)

    def sampled(root: Index, part: Floats) -> Sampled:
        x = low[root] + part * (high[root] - low[root])
        return missed(system, plan, [boxes[i] for i in root], names, x)

    def missing(root: Index, part: Floats) -> Floats:
        return sampled(root, part).total

    def slope(root: Index, part: Floats) -> Floats:
        return np.asarray(sampled(root, part).slope(system, names) * (high - low)[root])

    found: Closest | None = None
    begun = monotonic()
    root, part = np.zeros(1, dtype=np.intp), np.full((1, len(names)), 0.5)
    try:
        for number in range(_MOST if names else 1):
            part = np.rint(part * 1024) / 1024  # as in points that are told
            with limited(budget if number > 1 else Budget(_FIRST)):
                runs = sampled(root, part)
            distance = runs.total
            best = [i for i in np.argsort(distance, kind="stable")[:_BEST].tolist() if np.isfinite(distance[i])]
            for i in best:
                point = point_of(system, boxes[root[i]], names, part[i])
                near = found is None or distance[i] < found.margin
                if near and any(contains(region, point) for region in system.regions):
                    found = _followed(runs, i, {n: v for n, v in point.items() if n not in noise and not ahead(n)})
                    break
            if number == 0 and _SAMPLES * (monotonic() - begun) > _COSTLY:
                break  # a run takes so long that many take too long
            if number % 4 == 0 or not best:
                root, part = _drawn(rng, len(boxes), len(names))
                continue
            with limited(budget):
                budget()
                root = root[best]
                way = slope if pays(system, names) else None
                part, _ = downhill(missing, root, part[best], distance[best], way)
    except (BudgetError, ModelError, OverflowError):
        pass  # what was found by then is as true
    return found


def _drawn(rng: np.random.Generator, boxes: int, names: int) -> tuple[Index, Floats]:
    """Places in boxes: corners, and random ones."""
    part = rng.random((_SAMPLES, names))
    part[::2] = np.rint(part[::2])
    return rng.integers(boxes, size=_SAMPLES), part


def _followed(runs: Sampled, row: int, initial: dict[str, Fraction]) -> Closest:
    """The run of a sample, along the branches by which the target is missed least."""
    shown = [n for n in runs.states[0] if not ahead(n)]
    rows = [row, *(after for _, after in runs.walk(row))]
    while len(rows) < len(runs.states) and (after := np.flatnonzero(runs.steps[len(rows) - 1][0] == rows[-1])).size:
        rows.append(int(after[0]))
    run: list[dict[str, float]] = []
    for state, at in zip(runs.states, rows, strict=False):
        here = {n: float(state[n][at]) for n in shown}
        if not all(map(isfinite, here.values())):
            break  # it has no value from here on
        run.append(here)
    total = float(runs.total[row])
    steps = {
        step
        for step, atoms in runs.plan.atoms.items()
        if step < len(rows) and any(runs.known[a, step][rows[step]] == total for a in atoms)
    }
    return Closest(total, initial, tuple(run), next(iter(steps)) if len(steps) == 1 else None)
