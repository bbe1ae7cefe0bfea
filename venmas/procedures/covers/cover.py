"""A cover of what runs reach, step by step, on grids of one frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import starmap

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.tube import Tube, linear
from venmas.bounds.evaluation import certain
from venmas.bounds.rounding import Bools, Floats, Ints, float_beside
from venmas.budget import Budget
from venmas.checker.covers.grid import MOST_BOXES, Axes, Finer, Grid
from venmas.checker.covers.paving import SIDE, CrowdedError, Marks, paved
from venmas.logic import Formula
from venmas.logic.stages import Stage
from venmas.model.evaluation.cuts import Fineness
from venmas.model.system.system import System
from venmas.procedures.covers.frame import Frame
from venmas.procedures.covers.layers import BATCH, CoarseError, Images, Layers

_FINE = Fineness(order=4, substeps=1, slices=1, symbols=20)
_ROWS = 1_000_000
"""Sets that one step may make of them, at most: free branches multiply them in each step."""
BITS = 60
"""Values of certificates are in units of 2^-60."""
_LEAST = 12
"""Halvings of the units of a grid, at most, while what runs reach becomes smaller."""


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


class Cover:
    """Sets that contain all states after 0, stride, 2 stride, .. steps, as boxes in a frame.

    runs: sampled ones (T, B, n), as parts of whose spread cells are chosen, `along` each coordinate.
    """

    def __init__(self, task: Task, frame: Frame, stride: int, along: int, runs: Floats) -> None:
        self.task, self.stride = task, stride
        self.boxes = 0
        self.shown = 0
        """Steps up to which no state is one that must not be reached, though it went back since."""
        self.leaving: set[str] = set()
        """Variables that may leave their ranges."""
        self._hull: dict[str, tuple[float, float]] = {}
        self._stage = Stage([task.wrong])
        decls = [task.system.variables[name] for name in task.axes.looked_at]
        self._ranges = {d.name: (float_beside(d.lower, 1), float_beside(d.upper, -1)) for d in decls}
        spread = np.ptp(frame.seen(runs), axis=1)  # (T, n)
        spread = np.maximum.accumulate(spread[::-1])[::-1]
        full = np.maximum(spread[0], 1e-9)
        halved = np.floor(np.log2(full / np.maximum(spread, full * 2.0**-_LEAST))).astype(int)
        self._frame = frame.scaled([Fraction(float(s)) / (along * SIDE) for s in full])
        self._scaled: dict[tuple[tuple[int, ...], int], Frame] = {}
        self._layers = Layers([tuple(h) for h in halved.tolist()])
        self._parts = task.axes.parts(self._frame.rows)
        self._layers.begin(self._parts.paving(Marks()))

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
        try:
            while layer.number < layer.batches:
                budget()
                rows = layer.rows(layer.number)
                origin, low, high, still = self._followed(*self._batch(rows), steps, frame)
                made = paved(low, high, marks, budget.whole)  # for seconds, if sets are wide
                layer.images.append(Images(rows[origin], low, high))
                layer.open.append(rows[still])
                layer.made.append(made)
                layer.number += 1
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

    def reached(self) -> dict[str, tuple[Fraction, Fraction]]:
        """The ranges of variables in all sets that were followed."""
        made, axes = {}, self.task.axes
        for axis, name in enumerate(axes.looked_at):
            ends = [end for box in self._parts.ranges for end in box[axis]] if name in axes.names else []
            ends += map(Fraction, self._hull.get(name, ()))
            made[name] = min(ends), max(ends)
        return made

    def grid(self) -> Grid:
        """The line of its proof, once it is proved; twice as many boxes are enough where those of the check differ."""
        halved = self._layers.halved
        changes = [(step, h) for step, h in enumerate(halved) if h != (halved[step - 1] if step else (0,) * len(h))]
        rows = tuple(tuple(map(str, row)) for row in self._frame.rows)
        fine = (_FINE.order, _FINE.substeps, _FINE.slices, _FINE.symbols)
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

    def _batch(self, rows: Ints) -> tuple[Forms, dict[str, Form]]:
        layer = self._layers.last
        part = layer.sets.rows(rows)
        ring = Forms(len(part))
        if layer.step:
            return ring, self._frame_of(layer.step).state(ring, part.low, part.high)
        state, depth = {}, layer.marks.depth
        for axis, name in enumerate(self._frame.names):
            number = part.low[:, 0] >> depth + SIDE.bit_length() - 1
            low, high = (
                self._beside(number, axis, side[:, 1 + axis], depth, way)
                for side, way in ((part.low, -1), (part.high, 1))
            )
            state[name] = ring.between(low, high) if (low == high).all() else ring.symbol(low, high)
        return ring, state

    def _beside(self, number: Ints, axis: int, side: Ints, depth: int, way: int) -> Floats:
        """Floats below or above values of a variable at places in initial sets of a number."""
        pairs, place = np.unique(np.stack([number, side], 1), axis=0, return_inverse=True)
        known = np.array([float_beside(self._parts.at(n, axis, k, depth), way) for n, k in pairs.tolist()])
        return known[place.reshape(-1)]

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _followed(self, ring: Forms, state: dict[str, Form], steps: int, frame: Frame) -> tuple[Ints, Ints, Ints, Ints]:
        """Boxes around what follows some sets after some steps, and which one each is of; and sets that are open."""
        task, begun = self.task, self.step
        self.boxes += ring.size
        tube = Tube.over(task.system, ring, task.whole(ring, state), _FINE, task.single)
        still = [self._checked(tube, 0)] if not begun else []  # later ones were looked at before boxes were put around
        for step in range(begun + 1, begun + steps + 1):
            if tube.ring.size * len(task.system.branches) > _ROWS:
                raise CrowdedError
            tube.advance()
            still.append(self._checked(tube, step))
            tube.state = task.drawn(tube.ring, tube.state)
        return tube.boxes, *frame.ends(tube.ring, tube.state), np.unique(np.concatenate(still))

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
