"""A cover of what runs reach, step by step, by one template polyhedron a layer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from venmas.bounds.rounding import Floats, Ints
from venmas.budget import Budget
from venmas.checker.covers.extremes import Extremes, Piece, farthest
from venmas.checker.covers.grid import MOST_BOXES, Grid
from venmas.checker.covers.paving import SIDE, CrowdedError, Marks, Paving
from venmas.checker.covers.polyhedron import MOST_CELLS, Polyhedron
from venmas.procedures.covers.following import BITS, FINE, Following, Leg, Seen, Task
from venmas.procedures.covers.frame import Frame, directions, frames
from venmas.procedures.covers.layers import BATCH, CoarseError
from venmas.runtime.helping import shared

_OFTEN = 16
"""Times as many cells of a polyhedron as there are along all that runs reach are too many for their grid."""


class Far(NamedTuple):
    """Upper ends of the images of a batch in all directions and their opposites, (B, 2 m), and what was seen."""

    ends: Ints
    seen: Seen


@dataclass(frozen=True, eq=False)
class Toward:
    """The way of sets, and how far they go. frame, directions: in which directions."""

    leg: Leg
    frame: Frame
    directions: Ints

    def __call__(self, low: Ints, high: Ints) -> Far:
        """Follow some sets, (B, n) twice. Raises `CrowdedError` and `OverflowError` where they become too wide."""
        tube, seen = self.leg.followed(low, high)
        first = self.frame.ends(tube.ring, tube.state)
        more = self.frame.turned(tube.ring, tube.state, self.directions)
        least, most = (np.hstack(sides) for sides in zip(first, more, strict=True))
        return Far(farthest(len(low), tube.boxes, least, most), seen)


class Polyhedra(Following):
    """Sets that contain all states after 0, stride, 2 stride, .. steps: the cells of polyhedra.

    All that comes of a layer is bounded in the directions of all frames: as good as cells where noise makes images
    wide, and quicker. runs: sampled ones (T, B, n), as parts of whose spread cells are chosen, `along` each coordinate.
    """

    def __init__(self, task: Task, frame: Frame, stride: int, along: int, runs: Floats) -> None:
        self._stride, self._most = stride, min(MOST_CELLS, _OFTEN * along ** len(frame.names))
        spread = np.maximum(np.ptp(frame.seen(runs), axis=1).max(0), 1e-9)
        self._frame = frame.scaled([Fraction(float(s)) / (along * SIDE) for s in spread])
        self._directions = directions(self._frame, frames(frame.names, runs), runs)
        super().__init__(task, task.axes.parts(self._frame.rows))
        self._step, self._sets = 0, self.parts.paving(Marks())
        self._known: Paving | None = None
        """All that was reached before, if what follows it has the same property."""
        self._images: Extremes | None = None
        self._followed = 0
        """Sets of all layers."""

    @property
    def step(self) -> int:
        """Steps that were followed."""
        return self._step

    def advance(self, budget: Budget) -> bool:
        """Follow the sets that go farthest; is it proved? It goes on where a budget ended. Raises `CoarseError`."""
        task = self.task
        steps = self._stride if task.last is None else min(self._stride, task.last - self.step)
        begun, after, made = self.step, self.step + steps, None
        try:
            images = self._far(steps, budget)
            self.shown = max(self.shown, after)
            if after != task.last and not images.none:
                made = Polyhedron(self._directions, *images.bounds).paving(budget.whole, self._most)
            self._followed, self._images, self._step = self._followed + len(self._sets), None, after
            if made is None:
                return True
            if self._known is None or begun + 1 < task.first:
                self._known = self._sets = made
            else:
                self._known, self._sets = self._known.joined(made)
        except (CrowdedError, OverflowError) as error:
            raise CoarseError(begun) from error
        return not len(self._sets)

    def _far(self, steps: int, budget: Budget) -> Extremes:
        """The farthest ends of all sets."""
        frame, first = self._frame, not self.step
        toward = Toward(Leg(self.task, self.step, steps, self.parts if first else frame), frame, self._directions)
        if self._images is None:
            count = 2 * (len(frame.names) + len(self._directions))
            self._images = Extremes(self._sets, count, BATCH, fixed=int(first))
        images = self._images

        def here(low: Ints, high: Ints) -> Far:
            budget()
            return toward(low, high)

        def takes(piece: Piece, far: Far) -> None:
            self.sees(far.seen)
            images.add(piece, far.ends, far.seen.open)

        while images.more():
            shared(images.left, images.sides, toward, takes, here)
        if len(images.open):
            raise CoarseError(self.step, len(images.open) / len(self._sets))
        return images

    def back(self, share: float) -> bool:
        """False: a polyhedron is of all sets of a layer, and none of them leads to those that are open."""
        return False

    def grid(self) -> Grid:
        """The line of its proof: a check may follow all sets."""
        rows = tuple(tuple(map(str, row)) for row in self._frame.rows)
        boxes = min(3 * self._followed + BATCH, MOST_BOXES)  # coarse sets as well
        fine = (FINE.order, FINE.substeps, FINE.slices, FINE.symbols)
        return Grid(rows, (), (), self._stride, boxes, BITS, *fine, tuple(map(tuple, self._directions.tolist())))
