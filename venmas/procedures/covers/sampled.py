"""Sampled runs, which say how wide sets of states are: what they say is no part of any answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.budget import ask
from venmas.errors import ModelError
from venmas.model.evaluation.regions import sample_initial
from venmas.model.evaluation.simulate import random_branches, step_batch
from venmas.model.expressions.limits import MAX_NUMBER
from venmas.model.system.system import System

_RUNS = 256
_LARGEST = float(MAX_NUMBER)
"""Runs that go further are of no use, and squares of what is beyond overflow."""


def sampled(
    system: System, names: Sequence[str], noise: Mapping[str, tuple[Fraction, Fraction]], steps: int
) -> Floats | None:
    """States (steps + 1, runs, names) of runs with noise drawn anew in each step; None where there are none."""
    rng = np.random.default_rng(0)
    points = sample_initial(system, rng, _RUNS)
    if len(points) < 2:
        return None
    state = {n: np.array([float(point[n]) for point in points]) for n in system.variables}
    found = [np.stack([state[n] for n in names], 1)]
    with np.errstate(all="ignore"), suppress(ModelError):  # a run into a state without a case: what is met is enough
        for _ in range(steps):
            ask()
            for name, ends in noise.items():
                state[name] = rng.choice([float(end) for end in ends], len(points))
            branch, alive = random_branches(system, state, rng)
            if not alive.all():
                break
            state, _ = step_batch(system, state, branch)
            row = np.stack([state[n] for n in names], 1)
            if not (np.abs(row) <= _LARGEST).all():
                break
            found.append(row)
    return np.stack(found) if len(found) > 1 else None
