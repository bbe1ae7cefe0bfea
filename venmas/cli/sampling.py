"""Many runs at once in floats, summed up step by step."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from venmas.errors import ModelError
from venmas.model.evaluation.simulate import random_branches, step_batch, within
from venmas.model.system.disturbances import NO_NOISE, Noise
from venmas.model.system.system import System


def summary(
    system: System,
    starts: Sequence[dict[str, Fraction]],
    plan: Sequence[int | None],
    rng: np.random.Generator,
    noise: Noise = NO_NOISE,
) -> list[dict[str, Any]]:
    """For each step: `step`, `runs` that reach it, and `range`, the least and greatest value of each variable; also
    `values`, those that each variable with labels takes.

    noise: variables that are drawn anew in each step, with their ranges; the last step has none. A run ends where no
    branch, or not the planned one, is enabled. Raises `ModelError` when a run leaves the box.
    """
    state = {name: np.array([float(s[name]) for s in starts]) for name in system.variables}
    rows = [_row(system, state, 0)]
    for number, planned in enumerate(plan, 1):
        if number > 1:
            state |= {n: rng.uniform(float(low), float(high), rows[-1]["runs"]) for n, (low, high) in noise.items()}
            rows[-1] = _row(system, state, number - 1)
        choice, alive = random_branches(system, state, rng, np.arange(len(system.branches)) == planned)
        if planned is not None:
            alive &= choice == planned
        if not alive.any():
            break
        state, _ = step_batch(system, {n: v[alive] for n, v in state.items()}, choice[alive])
        rows.append(_row(system, {n: v for n, v in state.items() if n not in noise}, number))
    return rows


def _row(system: System, state: dict[str, np.ndarray[Any, np.dtype[np.float64]]], number: int) -> dict[str, Any]:
    spans = {n: (float(v.min()), float(v.max())) for n, v in state.items()}
    for name, (low, high) in spans.items():
        decl, ends = system.variables[name], np.array([low, high])
        if not (inside := within(decl, ends)).all():
            value = ends[~inside][0]
            raise ModelError(
                f"step {number}: {name} = {value:.6g} is outside its range [{float(decl.lower):.6g}, "
                f"{float(decl.upper):.6g}]. Widen the range of the variable, or take fewer steps"
            )
    labelled = [d.name for d in system.variables.values() if d.labels]
    values = {n: sorted({int(v) for v in state[n]}) for n in labelled}
    return {"step": number, "runs": len(next(iter(state.values()))), "range": spans, "values": values}
