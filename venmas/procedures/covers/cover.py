"""A cover of what runs reach, step by step, on grids of one frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, product, starmap

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.tube import Tube, linear
from venmas.bounds.evaluation import certain
from venmas.bounds.rounding import Bools, Floats, Ints, float_beside
from venmas.budget import Budget
from venmas.checker.covers.grid import Axes, Finer, Grid
from venmas.checker.covers.paving import SIDE, CrowdedError, Paving, paved, together
from venmas.logic import Formula
from venmas.logic.stages import Stage
from venmas.model.evaluation.cuts import Fineness
from venmas.model.system.system import System
from venmas.procedures.covers.frame import Frame

_FINE = Fineness(order=4, substeps=1, slices=1, symbols=20)
_BATCH = 512
"""Boxes that are followed together."""
_ROWS = 1_000_000
"""Sets that one step may make of them, at most: free branches multiply them in each step."""
BITS = 60
"""Values of certificates are in units of 2^-60."""
_LEAST = 12
"""Halvings of the units of a grid, at most, while what runs reach becomes smaller."""


class CoarseError(Exception):
    """A cover is too coarse. step: where; share: of the sets there that are open."""

    def __init__(self, step: int, share: float = 1.0) -> None:
        super().__init__(f"a cover is too coarse after {step} steps")
        self.step, self.share = step, share


@dataclass(frozen=True)
class Task:
    """Question about the runs of a system. axes: what its variables do. first, last: steps at which no state may meet
    `wrong`; last is None for all from the first on. single: networks in any float32 evaluation.
    """

    axes: Axes
    first: int
    last: int | None
    wrong: Formula
    single: bool

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


@dataclass
class _Layer:
    """Sets that are followed. number: of the next batch; made: pavings around what came of those before it."""

    sets: list[tuple[Forms, dict[str, Form]]] | Paving
    number: int = 0
    made: list[Paving] = field(default_factory=list)


class Cover:
    """Sets that contain all states after 0, stride, 2 stride, .. steps, as boxes in a frame.

    runs: sampled ones (T, B, n), as parts of whose spread cells are chosen, `along` each coordinate.
    """

    def __init__(self, task: Task, frame: Frame, stride: int, along: int, runs: Floats) -> None:
        self.task, self.stride = task, stride
        self.step = self.boxes = 0
        self.leaving: set[str] = set()
        spread = np.ptp(frame.seen(runs), axis=1)  # (T, n)
        spread = np.maximum.accumulate(spread[::-1])[::-1]
        full = np.maximum(spread[0], 1e-9)
        self._halved = np.floor(np.log2(full / np.maximum(spread, full * 2.0**-_LEAST))).astype(int)
        self._frame = frame.scaled([Fraction(float(s)) / (along * SIDE) for s in full])
        self._scaled: dict[tuple[int, ...], Frame] = {}
        self._known: Paving | None = None
        """What was reached before, on the grid at hand, if what follows it is to have the same property."""
        self._layer = _Layer(self._start())
        self._stage = Stage([task.wrong])

    def advance(self, budget: Budget) -> bool:
        """Follow all sets for some steps; is it proved? It goes on where a budget ended. Raises `CoarseError`."""
        task, layer = self.task, self._layer
        steps = self.stride if task.last is None else min(self.stride, task.last - self.step)
        after = self._frame_of(self.step + steps)
        try:
            while layer.number < self._batches():
                budget()
                layer.made.append(paved(*self._followed(*self._batch(layer.number), steps, after)))
                layer.number += 1
            self.step += steps
            if self.step == task.last:
                return True
            made = together(layer.made)
            before = self.step - steps
            # what is in a set of before is followed already, if all that comes after that set was looked at
            if self._known is None or before + 1 < task.first or after is not self._frame_of(before):
                self._known = fresh = made
            else:
                self._known, fresh = self._known.joined(made)
        except (CrowdedError, OverflowError) as error:
            raise CoarseError(self.step) from error
        self._layer = _Layer(fresh)
        return not len(fresh)

    def grid(self) -> Grid:
        """The line of its proof, once it is proved; twice as many boxes are enough where those of the check differ."""
        halved = [tuple(h) for h in self._halved.tolist()]
        changes = [(step, h) for step, h in enumerate(halved) if h != (halved[step - 1] if step else (0,) * len(h))]
        rows = tuple(tuple(map(str, row)) for row in self._frame.rows)
        fine = (_FINE.order, _FINE.substeps, _FINE.slices, _FINE.symbols)
        return Grid(rows, tuple(starmap(Finer, changes)), self.stride, 2 * self.boxes + _BATCH, BITS, *fine)

    # -- sets ----------------------------------------------------------------------------------------------------------

    def _frame_of(self, step: int) -> Frame:
        """The frame in units as small as what runs reach from a step on."""
        halved = tuple(self._halved[min(step, len(self._halved) - 1)].tolist())
        if halved not in self._scaled:
            self._scaled[halved] = self._frame.scaled([Fraction(1, 2**h) for h in halved])
        return self._scaled[halved]

    def _start(self) -> list[tuple[Forms, dict[str, Form]]]:
        """The boxes around the initial sets, in parts which are about as wide as cells."""
        frame, made = self._frame_of(0), list[tuple[Forms, dict[str, Form]]]()
        for cuts in self.task.axes.parts(frame.rows):
            boxes = np.array(list(product(*map(_outward, cuts))))  # (B, n, 2)
            for begin in range(0, len(boxes), _BATCH):
                part = boxes[begin : begin + _BATCH]
                ring = Forms(len(part))
                state = {
                    name: ring.between(part[:, i, 0], part[:, i, 1])
                    if (part[:, i, 0] == part[:, i, 1]).all()
                    else ring.symbol(part[:, i, 0], part[:, i, 1])
                    for i, name in enumerate(frame.names)
                }
                made.append((ring, state))
        return made

    def _batches(self) -> int:
        sets = self._layer.sets
        return len(sets) if isinstance(sets, list) else -(-len(sets) // _BATCH)

    def _batch(self, number: int) -> tuple[Forms, dict[str, Form]]:
        sets = self._layer.sets
        if isinstance(sets, list):
            return sets[number]
        part = sets.rows(slice(number * _BATCH, (number + 1) * _BATCH))
        ring = Forms(len(part))
        return ring, self._frame_of(self.step).state(ring, part.low, part.high)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _followed(self, ring: Forms, state: dict[str, Form], steps: int, after: Frame) -> tuple[Ints, Ints]:
        """Boxes around what follows some sets after some steps."""
        task = self.task
        self.boxes += ring.size
        tube = Tube.over(task.system, ring, task.whole(ring, state), _FINE, task.single)
        if not self.step:  # later ones were looked at before boxes were put around them
            self._check(tube, 0)
        for step in range(self.step + 1, self.step + steps + 1):
            if tube.ring.size * len(task.system.branches) > _ROWS:
                raise CrowdedError
            tube.advance()
            self._check(tube, step)
            tube.state = task.drawn(tube.ring, tube.state)
        return after.ends(tube.ring, tube.state)

    @np.errstate(all="ignore")
    def _check(self, tube: Tube, step: int) -> None:
        """Note what may leave its range. Raises `CoarseError` where a state may be one that must not be reached."""
        task = self.task
        if tube.ring.broken.any():
            raise CoarseError(step)
        if step >= task.first:
            open_ = ~self._never(tube)
            if open_.any():
                raise CoarseError(step, float(open_.mean()))
        for name in task.axes.names if step else ():
            (low, high), decl = tube.state[name].ends, task.system.variables[name]
            if not (decl.lower <= low.min(initial=np.inf) and high.max(initial=-np.inf) <= decl.upper):
                self.leaving.add(name)

    def _never(self, tube: Tube) -> Bools:
        """In which sets is no state one that must not be reached? (B,)."""
        atoms = [certain(linear(tube.ring, c.expr, tube.state).ends, c.relation)[1] for c in self._stage.atoms]
        size = tube.ring.size
        false = np.stack(atoms, 1) if atoms else np.zeros((size, 0), dtype=bool)
        return ~self._stage.formula_truth(~false, np.zeros((size, 0), dtype=bool))[:, 0]


def _outward(ends: Sequence[Fraction]) -> list[tuple[float, float]]:
    """Parts between numbers, in floats that they are within."""
    return [(float_beside(a, -1), float_beside(b, 1)) for a, b in pairwise(ends)]
