"""Runs at random, which a witness can be compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from venmas.errors import ModelError
from venmas.model.evaluation.regions import sample_initial
from venmas.model.evaluation.simulate import random_branches, step_batch, within
from venmas.model.system.disturbances import drawn
from venmas.model.system.system import System

if TYPE_CHECKING:
    from venmas.report.plot.trace import Array


def sample(system: System, steps: int, count: int, seed: int) -> dict[str, Array]:
    """Float runs of a system, by variable an array of shape (steps + 1, runs); nan where a run is over.

    Initial states come from all parts of the initial set. A run is over in a state without successor, and where it
    leaves the range of a variable (design S1). Raises `ModelError` where no initial state is found.
    """
    system, rng = drawn(system, steps), np.random.default_rng(seed)
    starts = sample_initial(system, rng, count)
    if not starts:
        raise ModelError(f"found no initial state of system {system.name!r} to sample runs from")
    state = {name: np.array([float(s[name]) for s in starts]) for name in system.variables}
    runs = {name: np.full((steps + 1, len(starts)), np.nan) for name in system.variables}
    alive = np.arange(len(starts))
    for step in range(steps + 1):
        inside = np.all([within(decl, state[decl.name]) for decl in system.variables.values()], axis=0)
        alive, state = alive[inside], {n: v[inside] for n, v in state.items()}
        if not alive.size:
            break
        for name, values in state.items():
            runs[name][step, alive] = values
        if step == steps:
            break
        choice, going = random_branches(system, state, rng)
        alive, state = alive[going], {n: v[going] for n, v in state.items()}
        if alive.size:
            state, _ = step_batch(system, state, choice[going])
    return runs
