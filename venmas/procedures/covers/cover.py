"""A cover of what runs reach, step by step, on grids of one frame."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import starmap
from typing import NamedTuple

import numpy as np

from venmas.bounds.rounding import Floats, Ints
from venmas.budget import Budget, ask
from venmas.checker.covers.grid import MOST_BOXES, Finer, Grid
from venmas.checker.covers.paving import SIDE, CrowdedError, Marks, Paving, Tick
from venmas.checker.flowpipes.target import LIMITS
from venmas.procedures.covers.following import BITS, FINE, Following, Leg, Seen, Task
from venmas.procedures.covers.frame import Frame
from venmas.procedures.covers.layers import BATCH, CoarseError, Images, Layer, Layers
from venmas.procedures.covers.pavings import around
from venmas.runtime.helping import shared

_BRIEF = 16
"""Steps at a time up to which few symbols are enough in the check."""
_LEAST = 12
"""Halvings of the units of a grid, at most, while what runs reach becomes smaller."""


class Came(NamedTuple):
    """Images of a batch: boxes around them, (R, n) twice, the sets that these are of, the paving around all, and what
    was seen."""

    of: Ints
    low: Ints
    high: Ints
    made: Paving
    seen: Seen


@dataclass(frozen=True)
class Onto:
    """The way of sets onto the grid of the next layer. frame, marks: of that. last: is there none that goes on?"""

    leg: Leg
    frame: Frame
    marks: Marks
    last: bool = False

    def __call__(self, low: Ints, high: Ints, tick: Tick = ask) -> Came:
        """Follow some sets, (B, n) twice. Raises `CrowdedError` and `OverflowError` where they become too wide."""
        tube, seen = self.leg.followed(low, high)
        ends = self.frame.ends(tube.ring, tube.state)
        low, high = (side[:0] if self.last else side for side in ends)
        return Came(tube.boxes, *ends, around(low, high, self.marks, tick), seen)  # for seconds, if sets are wide


class Cover(Following):
    """Sets that contain all states after 0, stride, 2 stride, .. steps, as boxes in a frame.

    runs: sampled ones (T, B, n), as parts of whose spread cells are chosen, `along` each coordinate.
    """

    def __init__(self, task: Task, frame: Frame, stride: int, along: int, runs: Floats) -> None:
        self.stride = stride
        spread = np.ptp(frame.seen(runs), axis=1)  # (T, n)
        spread = np.maximum.accumulate(spread[::-1])[::-1]
        full = np.maximum(spread[0], 1e-9)
        halved = np.floor(np.log2(full / np.maximum(spread, full * 2.0**-_LEAST))).astype(int)
        self._frame = frame.scaled([Fraction(float(s)) / (along * SIDE) for s in full])
        self._scaled: dict[tuple[tuple[int, ...], int], Frame] = {}
        self._layers = Layers([tuple(h) for h in halved.tolist()])
        super().__init__(task, task.axes.parts(self._frame.rows))
        self._layers.begin(self.parts.paving(Marks()))

    @property
    def step(self) -> int:
        """Steps that were followed."""
        return self._layers.last.step

    def advance(self, budget: Budget) -> bool:
        """Follow all sets for some steps; is it proved? It goes on where a budget ended. Raises `CoarseError`."""
        task, layers, layer = self.task, self._layers, self._layers.last
        steps = self.stride if task.last is None else min(self.stride, task.last - layer.step)
        after = layer.step + steps
        layers.reaches(after)
        frame, marks = self._frame_of(after), layers.marks(after)
        layer.after, layer.depth = after, marks.depth
        sets = self._frame_of(layer.step) if layer.step else self.parts
        onto = Onto(Leg(task, layer.step, steps, sets, layer.marks.depth), frame, marks, after == task.last)
        try:
            self._follow(layer, onto, budget)
            share = sum(map(len, layer.open)) / max(1, layer.size)
            if share:
                raise CoarseError(layer.step, share)
            self.shown = max(self.shown, after)
            if after == task.last:
                layers.last.step = after
                return True
            return not layers.goes_on(after, layer.step + 1 >= task.first)
        except (CrowdedError, OverflowError) as error:
            raise CoarseError(layer.step) from error

    def back(self, share: float) -> bool:
        """Cut cells that lead to open sets, which are a share of all, and go back to them; False where it is no use.

        Raises `CoarseError` where parts become too many: nothing goes on from there.
        """
        step = self.step
        try:
            return share > 0 and self._layers.back()
        except CrowdedError as error:
            raise CoarseError(step) from error

    def grid(self) -> Grid:
        """The line of its proof, once it is proved; twice as many boxes are enough where those of the check differ."""
        halved = self._layers.halved
        changes = [(step, h) for step, h in enumerate(halved) if h != (halved[step - 1] if step else (0,) * len(h))]
        rows = tuple(tuple(map(str, row)) for row in self._frame.rows)
        symbols = FINE.symbols
        if self.stride > _BRIEF:  # as many as zonotopes of all these steps have
            symbols = min(symbols * len(self.task.system.variables), LIMITS.symbols)
        fine = (FINE.order, FINE.substeps, FINE.slices, symbols)
        cuts = tuple(cut.written() for cut in self._layers.cuts)
        return Grid(
            rows,
            tuple(starmap(Finer, changes)),
            cuts,
            self.stride,
            min(2 * self.boxes + BATCH, MOST_BOXES),
            BITS,
            *fine,
        )

    # -- sets ----------------------------------------------------------------------------------------------------------

    def _frame_of(self, step: int) -> Frame:
        """The frame in units as small as what runs reach from a step on, and as the smallest cells there."""
        halved, depth = self._layers.halved_at(step), self._layers.marks(step).depth
        if (halved, depth) not in self._scaled:
            self._scaled[halved, depth] = self._frame.scaled([Fraction(1, 2 ** (h + depth)) for h in halved])
        return self._scaled[halved, depth]

    def _follow(self, layer: Layer, onto: Onto, budget: Budget) -> None:
        """Follow all batches that are left."""

        def here(low: Ints, high: Ints) -> Came:
            budget()
            return onto(low, high, budget.whole)

        shared(layer.left, lambda n: self._ends(layer, n), onto, lambda n, came: self._takes(layer, n, came), here)

    def _takes(self, layer: Layer, number: int, came: Came) -> None:
        """Note what came of a batch."""
        rows = layer.rows(number)
        self.sees(came.seen)
        layer.images.append(Images(rows[came.of], came.low, came.high))
        layer.made.append(came.made)
        layer.open.append(rows[came.seen.open])

    @staticmethod
    def _ends(layer: Layer, number: int) -> tuple[Ints, Ints]:
        part = layer.sets.rows(layer.rows(number))
        return part.low, part.high
