"""Places of runs in floats: initial values and noise, as parts of their ranges in the boxes that runs begin in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from venmas.bounds.rounding import Floats, Index
from venmas.model.system.disturbances import at_once
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.hybrid.through_time import noise_of

PARTS = 1024
"""Values are multiples of this part of their range, which is exact in floats."""


def drawn(rng: np.random.Generator, shape: tuple[int, int], ends: float) -> Floats:
    """Places in ranges, so many of them at an end."""
    parts = rng.integers(PARTS + 1, size=shape) / PARTS
    return np.where(rng.random(shape) < ends, np.rint(parts), parts)


class Places:
    """The values that runs of a `drawn` system begin with and meet. system: the same with the noise of one step.

    names: variables with several initial values. noise: by disturbance, its values after each step.
    """

    def __init__(self, system: System, boxes: Sequence[Box]) -> None:
        self.system = at_once(system)
        self.names = [n for n in self.system.variables if any(box[n][0] < box[n][1] for box in boxes)]
        self.noise: Mapping[str, Sequence[str]] = noise_of(system)
        read = {*self.system.variables, *(name for values in self.noise.values() for name in values)}
        self._ends = {n: np.array([[float(end) for end in box[n]] for box in boxes]).T for n in read}

    def at(self, name: str, root: Index, part: Floats) -> Floats:
        """Values at places in the ranges of a variable; root: the box of each."""
        low, high = self._ends[name]
        return np.asarray(low[root] + part * (high - low)[root])

    def initial(self, root: Index, part: Floats) -> dict[str, Floats]:
        """Initial states. part: places of `names`, (runs, names)."""
        state = {name: np.full(len(root), self._ends[name][0, 0]) for name in self.system.variables}
        for i, name in enumerate(self.names):
            values = self.at(name, root, part[:, i])
            state[name] = np.rint(values) if self.system.variables[name].integral else values
        return state
