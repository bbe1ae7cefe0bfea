"""Parts of a loop that one zonotope follows together, through all steps that are asked about.

A part takes what it reads of others for noise: any value of its range in each step. A zonotope of all variables keeps
what these have to do with each other, as do speeds of vehicles that follow one another. Where it becomes too wide for
the last parts, they are covered after all those that it shows to keep to their ranges.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.checker.covers.grid import Axes, Starts
from venmas.checker.covers.paving import CrowdedError, Marks
from venmas.logic import nnf
from venmas.logic.window import Window
from venmas.procedures.covers.following import Leg, Task
from venmas.procedures.covers.plan import Plan

_STEPS, _VARIABLES, _SETS, _PARTS = 200, 32, 4, 3
"""Steps, variables and initial sets, at most, and parts, at least."""
_ROOM = 4
"""Cells are so many times as wide as declared ranges: initial sets are not cut."""


def together(plan: Plan, asked: Window, single: bool) -> tuple[int, Task, Floats] | None:
    """Number of first parts of which a zonotope of all variables shows p, and that they keep to their ranges; None if
    these are not several. What is to be shown of them, and in place of sampled runs, states that are so far apart that
    one cell has all.

    asked: p in a window of steps. single: networks in any float32 evaluation.
    """
    first, last, holds = asked
    loop, wrong = plan.loop, nnf(holds, negate=True)
    if last is None or last > _STEPS or len(plan.parts) < _PARTS or len(loop.moved) > _VARIABLES:
        return None
    if len(loop.system.branches) > 1 or len(loop.system.regions) > _SETS:  # several branches multiply sets in each step
        return None
    try:
        task = Task(Axes(loop.system), first, last, wrong, single)
        count = _kept(plan, task, last)
        if count < 2:
            return None
        axes = loop.part(plan.first(count), loop.unmoved)
    except (ValueError, OverflowError, CrowdedError):
        return None
    decls = [axes.system.variables[name] for name in axes.names]
    corners = np.array([[float(decl.lower) for decl in decls], [float(decl.upper) for decl in decls]])
    return count, replace(task, axes=axes, inside=True), _ROOM * np.stack([corners, corners])


def _kept(plan: Plan, task: Task, last: int) -> int:
    """Number of the first parts that keep to their ranges, as far as a zonotope of all variables tells; 0 where it does
    not show p."""
    axes = task.axes
    parts = Starts(
        [[box[name] for name in axes.names] for box in axes.starts], [[1] * len(axes.names)] * len(axes.starts)
    )
    sets = parts.paving(Marks())
    _, seen = Leg(task, 0, last, parts).followed(sets.low, sets.high)
    if seen.open.any():
        return 0
    return next((k for k, names in enumerate(plan.parts) if seen.leaving & {*names}), len(plan.parts))
