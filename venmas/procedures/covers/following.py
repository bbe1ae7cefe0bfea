"""Sets of states that are followed for some steps, as zonotopes, and what is seen of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.tube import Tube, linear
from venmas.bounds.evaluation import certain
from venmas.bounds.rounding import Bools, Floats, Ints, float_beside
from venmas.budget import Budget
from venmas.checker.covers.grid import Axes, Grid, Starts
from venmas.checker.covers.paving import CrowdedError
from venmas.logic import Formula
from venmas.logic.stages import Stage
from venmas.model.evaluation.cuts import Fineness
from venmas.model.system.system import System

FINE = Fineness(order=4, substeps=1, slices=1, symbols=20)
BITS = 60
"""Values of certificates are in units of 2^-60."""
_ROWS = 1_000_000
"""Sets that one step may make of them, at most: free branches multiply them in each step."""


@dataclass(frozen=True)
class Task:
    """Question about the runs of a system. axes: what its variables do. first, last: steps at which no state may meet
    `wrong`; last is None for all from the first on. single: networks in any float32 evaluation. inside: nor may any be
    outside of declared ranges.
    """

    axes: Axes
    first: int
    last: int | None
    wrong: Formula
    single: bool
    inside: bool = False

    @property
    def system(self) -> System:
        """The system, with the noise of one step."""
        return self.axes.system

    def drawn(self, ring: Forms, state: Mapping[str, Form]) -> dict[str, Form]:
        """Sets of states with new values of all noise."""
        made = dict(state)
        for name, ends in self.axes.noise.items():
            made[name] = ring.symbol(
                *(np.full(ring.size, float_beside(at, way)) for at, way in zip(ends, (-1, 1), strict=True))
            )
        return made

    def whole(self, ring: Forms, state: Mapping[str, Form]) -> dict[str, Form]:
        """The same with what has one value."""
        return self.drawn(ring, state) | {name: ring.constant(value) for name, value in self.axes.fixed.items()}


class Following(ABC):
    """All sets that were followed. parts: of the initial sets.

    shown: steps up to which no state is one that must not be reached, though it went back since.
    """

    def __init__(self, task: Task, parts: Starts) -> None:
        self.task, self.parts = task, parts
        self.boxes = self.shown = 0
        self.leaving: set[str] = set()
        """Variables that may leave their ranges."""
        self._hull: dict[str, tuple[float, float]] = {}
        self._stage = Stage([task.wrong])
        decls = [task.system.variables[name] for name in task.axes.looked_at]
        self._ranges = {d.name: (float_beside(d.lower, 1), float_beside(d.upper, -1)) for d in decls}

    @property
    @abstractmethod
    def step(self) -> int:
        """Steps that were followed."""

    @abstractmethod
    def advance(self, budget: Budget) -> bool:
        """Follow all sets for some steps; is it proved? It goes on where a budget ended. Raises `CoarseError`."""

    @abstractmethod
    def back(self, share: float) -> bool:
        """Go back to what leads to open sets, a share of all, in finer parts; False where it is no use.

        Raises `CoarseError` where parts become too many: nothing goes on from there.
        """

    @abstractmethod
    def grid(self) -> Grid:
        """The line of its proof, once it is proved; twice as many boxes are enough where those of the check differ."""

    def reached(self) -> dict[str, tuple[Fraction, Fraction]]:
        """The ranges of variables in all sets."""
        made, axes = {}, self.task.axes
        for axis, name in enumerate(axes.looked_at):
            ends = [end for box in self.parts.ranges for end in box[axis]] if name in axes.names else []
            ends += map(Fraction, self._hull.get(name, ()))
            made[name] = min(ends), max(ends)
        return made

    def initial(self, ring: Forms, low: Ints, high: Ints, depth: int) -> dict[str, Form]:
        """Forms of parts of initial sets: (B, 1 + n) twice, the number of a set first."""
        state, number = {}, self.parts.numbers(low, depth)
        for axis, name in enumerate(self.task.axes.names):
            ends = [self._beside(number, axis, side[:, 1 + axis], depth, way) for side, way in ((low, -1), (high, 1))]
            state[name] = ring.between(*ends) if (ends[0] == ends[1]).all() else ring.symbol(*ends)
        return state

    def _beside(self, number: Ints, axis: int, side: Ints, depth: int, way: int) -> Floats:
        """Floats below or above values of a variable at places in initial sets of a number."""
        pairs, place = np.unique(np.stack([number, side], 1), axis=0, return_inverse=True)
        known = np.array([float_beside(self.parts.at(n, axis, k, depth), way) for n, k in pairs.tolist()])
        return known[place.reshape(-1)]

    def followed(self, ring: Forms, state: dict[str, Form], begun: int, steps: int) -> tuple[Tube, Ints]:
        """States that follow some sets after some steps; and which of these are open."""
        task = self.task
        self.boxes += ring.size
        tube = Tube.over(task.system, ring, task.whole(ring, state), FINE, task.single)
        still = [self._checked(tube, 0)] if not begun else []  # later ones were looked at before boxes were put around
        for step in range(begun + 1, begun + steps + 1):
            if tube.ring.size * len(task.system.branches) > _ROWS:
                raise CrowdedError
            tube.advance()
            still.append(self._checked(tube, step))
            tube.state = task.drawn(tube.ring, tube.state)
        return tube, np.unique(np.concatenate(still))

    @np.errstate(all="ignore")
    def _checked(self, tube: Tube, step: int) -> Ints:
        """First sets of those where a state may be one that must not be reached, which are not followed any more; note
        what may leave its range."""
        task = self.task
        still = tube.ring.broken.copy()
        if step >= task.first:
            still |= ~self._never(tube)
        for name in task.axes.looked_at if step else ():
            (low, high), (least, most) = tube.state[name].ends, self._ranges[name]
            if not still.all():
                before = self._hull.get(name, (np.inf, -np.inf))
                self._hull[name] = min(before[0], float(low[~still].min())), max(before[1], float(high[~still].max()))
            out = ~((least <= low) & (high <= most))
            if task.inside:
                still |= out
            elif out[~still].any():
                self.leaving.add(name)
        made = tube.boxes[still]
        if still.any():
            tube.keep(np.flatnonzero(~still))
        return made

    def _never(self, tube: Tube) -> Bools:
        """In which sets is no state one that must not be reached? (B,)."""
        atoms = [certain(linear(tube.ring, c.expr, tube.state).ends, c.relation)[1] for c in self._stage.atoms]
        size = tube.ring.size
        false = np.stack(atoms, 1) if atoms else np.zeros((size, 0), dtype=bool)
        return ~self._stage.formula_truth(~false, np.zeros((size, 0), dtype=bool))[:, 0]
