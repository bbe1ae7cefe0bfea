"""Sets of states that are followed for some steps, as zonotopes, and what is seen of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from venmas.procedures.covers.frame import Frame

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

    @cached_property
    def stage(self) -> Stage:
        """Formula that no state may meet."""
        return Stage([self.wrong])

    @cached_property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Floats within the declared ranges of what is looked at."""
        decls = [self.system.variables[name] for name in self.axes.looked_at]
        return {d.name: (float_beside(d.lower, 1), float_beside(d.upper, -1)) for d in decls}

    def followed(self, ring: Forms, state: dict[str, Form], begun: int, steps: int) -> tuple[Tube, Seen]:
        """States that follow some sets after some steps; and what is seen of them."""
        tube, seen = Tube.over(self.system, ring, self.whole(ring, state), FINE, self.single), Seen(ring.size)
        if not begun:
            self._look(tube, 0, seen)  # later ones were looked at before boxes were put around
        for step in range(begun + 1, begun + steps + 1):
            if tube.ring.size * len(self.system.branches) > _ROWS:
                raise CrowdedError
            tube.advance()
            self._look(tube, step, seen)
            tube.state = self.drawn(tube.ring, tube.state)
        return tube, seen

    @np.errstate(all="ignore")
    def _look(self, tube: Tube, step: int, seen: Seen) -> None:
        """Note sets where a state may be one that must not be reached, which are not followed any more, and ranges."""
        still = tube.ring.broken.copy()
        if step >= self.first:
            still |= ~self._never(tube)
        for name in self.axes.looked_at if step else ():
            (low, high), (least, most) = tube.state[name].ends, self.ranges[name]
            if not still.all():
                seen.reaches(name, float(low[~still].min()), float(high[~still].max()))
            out = ~((least <= low) & (high <= most))
            if self.inside:
                still |= out
            elif out[~still].any():
                seen.leaving.add(name)
        if still.any():
            seen.open[tube.boxes[still]] = True
            tube.keep(np.flatnonzero(~still))

    def _never(self, tube: Tube) -> Bools:
        """In which sets is no state one that must not be reached? (B,)."""
        atoms = [certain(linear(tube.ring, c.expr, tube.state).ends, c.relation)[1] for c in self.stage.atoms]
        size = tube.ring.size
        false = np.stack(atoms, 1) if atoms else np.zeros((size, 0), dtype=bool)
        return ~self.stage.formula_truth(~false, np.zeros((size, 0), dtype=bool))[:, 0]


class Seen:
    """Observations of some sets on their way. size: how many they are; open: (size,), those that are; hull: of all
    others; leaving: variables that may leave their ranges."""

    def __init__(self, size: int) -> None:
        self.size, self.open = size, np.zeros(size, dtype=bool)
        self.hull: dict[str, tuple[float, float]] = {}
        self.leaving: set[str] = set()

    def reaches(self, name: str, low: float, high: float) -> None:
        """Include values of a variable."""
        before = self.hull.get(name, (np.inf, -np.inf))
        self.hull[name] = min(before[0], low), max(before[1], high)


@dataclass(frozen=True)
class Leg:
    """Some steps that all sets of a layer are followed for. begun: the step of the layer; sets: the frame that they are
    boxes in, in their units, or the parts of initial sets that they are; depth: how often these are cut."""

    task: Task
    begun: int
    steps: int
    sets: Frame | Starts
    depth: int = 0

    def followed(self, low: Ints, high: Ints) -> tuple[Tube, Seen]:
        """States that follow some sets, (B, n) twice; and what is seen of them."""
        ring = Forms(len(low))
        if isinstance(self.sets, Starts):
            return self.task.followed(ring, self._initial(ring, self.sets, low, high), self.begun, self.steps)
        return self.task.followed(ring, self.sets.state(ring, low, high), self.begun, self.steps)

    def _initial(self, ring: Forms, parts: Starts, low: Ints, high: Ints) -> dict[str, Form]:
        """Forms of parts of initial sets: (B, 1 + n) twice, the number of a set first."""
        state, number = {}, parts.numbers(low, self.depth)
        for axis, name in enumerate(self.task.axes.names):
            sides = ((side[:, 1 + axis], way) for side, way in ((low, -1), (high, 1)))
            ends = [self._beside(parts, number, axis, side, way) for side, way in sides]
            state[name] = ring.between(*ends) if (ends[0] == ends[1]).all() else ring.symbol(*ends)
        return state

    def _beside(self, parts: Starts, number: Ints, axis: int, side: Ints, way: int) -> Floats:
        """Floats below or above values of a variable at places in initial sets of a number."""
        pairs, place = np.unique(np.stack([number, side], 1), axis=0, return_inverse=True)
        known = np.array([float_beside(parts.at(n, axis, k, self.depth), way) for n, k in pairs.tolist()])
        return known[place.reshape(-1)]


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

    def sees(self, seen: Seen) -> None:
        """Take note of some sets."""
        self.boxes += seen.size
        self.leaving |= seen.leaving
        for name, ends in seen.hull.items():
            before = self._hull.get(name, ends)
            self._hull[name] = min(before[0], ends[0]), max(before[1], ends[1])
