"""Runs at random, which a witness can be compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from venmas.errors import ModelError
from venmas.model.regions import bounding_box
from venmas.model.regions import sample as sample_region
from venmas.model.simulate import Batch, step_batch
from venmas.model.system import System

if TYPE_CHECKING:
    from venmas.plot.trace import Array

_ROUNDING = 1e-9


def sample(system: System, steps: int, count: int, seed: int) -> dict[str, Array]:
    """Float runs of a system, by variable an array of shape (steps + 1, runs); nan where a run is over.

    Initial states come from all parts of the initial set. A run is over in a state without successor, and where it
    leaves the range of a variable (design S1). Raises `ModelError` where no initial state is found.
    """
    rng = np.random.default_rng(seed)
    regions = [r for r in system.regions if bounding_box(system, r) is not None]
    shares = rng.multinomial(count, [1 / len(regions)] * len(regions)) if regions else ()
    starts = [s for r, n in zip(regions, shares, strict=True) for s in sample_region(system, r, rng, int(n))]
    if not starts:
        raise ModelError(f"found no initial state of system {system.name!r} to sample runs from")
    state = {name: np.array([float(s[name]) for s in starts]) for name in system.variables}
    runs = {name: np.full((steps + 1, len(starts)), np.nan) for name in system.variables}
    alive = np.arange(len(starts))
    for step in range(steps + 1):
        inside = _inside(system, state)
        alive, state = alive[inside], {n: v[inside] for n, v in state.items()}
        if not alive.size:
            break
        for name, values in state.items():
            runs[name][step, alive] = values
        if step == steps:
            break
        at = Batch(state)
        enabled = np.stack([at.holds(b.guard) for b in system.branches], axis=1)
        going = enabled.any(axis=1)
        alive, state = alive[going], {n: v[going] for n, v in state.items()}
        if alive.size:
            choice = np.where(enabled[going], rng.random((alive.size, len(system.branches))), -1.0).argmax(axis=1)
            state, _ = step_batch(system, state, choice)
    return runs


def _inside(system: System, state: dict[str, Array]) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    inside = np.full(len(next(iter(state.values()))), True)
    for name, values in state.items():
        low, high = (float(end) for end in system.box[name])
        slack = _ROUNDING * max(1.0, abs(low), abs(high))
        inside &= (values >= low - slack) & (values <= high + slack)
    return inside
