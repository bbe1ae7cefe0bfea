"""Certificates of AG p, for ever or in a window of steps, by covers: sets that contain all states, step by step.

A certificate has one line, `Grid`. The check follows all states itself: sets begin as parts of the boxes around the
initial sets, about as wide as cells. Each is enclosed by affine forms for `stride` steps (`flowpipes.state`), the noise
of each step a symbol of its own. What comes of them is put into boxes ``low <= M x <= high`` of integers, M the
rows of the grid. These are cut along the cells of a grid, and one box around all that is in a cell goes on (`paving`).
Many sets are followed at once (`batch`), by the same rules; those that this does not show anything of one by one.

No state at a step of the window is one that breaks p, nor, if so claimed, any outside of its declared range: both are
looked at in every set of forms. From the last step before the window on, boxes are joined with what was there before:
what is in a box that was followed already, as it is, needs not be followed again. For all that comes within `stride`
steps of such a box was looked at then, with no fewer steps of the window left, and is in boxes which themselves were
followed, or will be. Where none is left to follow, all states of the window were looked at. Units of coordinates may be
halved on the way, as sets shrink; what is in one box of before needs not be followed either then. From a step on,
cells that the grid names are cut into smaller ones, and boxes of before along these, which in smaller parts are the
same sets.

Cell-to-cell mapping (Hsu, 1980) with subpavings (Kieffer, Jaulin, Walter, 2002).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.checker.covers.alone import Alone, OpenError
from venmas.checker.covers.batch.course import Came, Course, Leg
from venmas.checker.covers.extremes import Extremes, Piece, Sides, farthest
from venmas.checker.covers.grid import Axes, Grid, Rows, finer
from venmas.checker.covers.parts import Hull, Loop, Part, starts
from venmas.checker.covers.paving import CrowdedError, Ints, Marks, Other, Paving, Tick, marked, paved
from venmas.checker.covers.polyhedron import Polyhedron
from venmas.checker.flowpipes.curves import BeyondError, UnsupportedError
from venmas.checker.flowpipes.target import Target
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.checker.format.about import About
from venmas.checker.format.lines import Checked, Lines
from venmas.checker.format.numbers import CheckError, read_number
from venmas.logic import TRUE, nnf, parse_property, variables_of
from venmas.logic.linear import invert
from venmas.logic.window import Window, window
from venmas.model.evaluation.cuts import Fineness
from venmas.runtime.helping import helper, shared

_OTHERS = 64
"""Grids of before that are looked at, at most: a line may name many, and each costs time in every later round."""
_BATCH, _FEW, _ALONE = 512, 2, 256
"""Sets that are followed at once; how few are as soon followed alone; how many more are until all are."""


class Following:
    """The sets of a cover. inside: are declared ranges looked at? single: networks in any float32 evaluation. hull: of
    all sets.

    Raises `OpenError` where the grid is none.
    """

    def __init__(
        self, axes: Axes, asked: Window, grid: Grid, single: bool, inside: bool, hull: Hull | None = None
    ) -> None:
        self.axes, self.grid, self.hull = axes, grid, hull
        self.first, self.last, holds = asked
        target = Target(axes.system, nnf(holds, negate=True), "float32" if single else "real")
        fine = Fineness(grid.order, grid.substeps, grid.slices, grid.symbols)
        n = len(self.axes.names)
        rows: Rows = tuple(tuple(read_number(1, text) for text in row) for row in grid.rows)
        columns = invert(rows) if len(rows) == n and all(len(row) == n for row in rows) else None
        if not n or columns is None or any(len(halved) != n for _, halved in grid.finer):
            raise OpenError(f"expected {n} independent coordinates of {', '.join(self.axes.names) or 'no variables'}")
        try:
            self._cuts, self._directions = grid.cells(), grid.factors()
        except ValueError as error:
            raise OpenError(str(error)) from None
        self._together = True
        """Do batches do?"""
        self._course = Course(axes, target.formula, self.first, fine, single, inside, hull is not None)
        self._one_by_one = Alone(self._course, target, grid.bits, hull)
        self._rows, self._columns, self._parts = rows, columns, self.axes.parts(rows)
        self.step = self.boxes = self._batched = self._alone = 0
        self._known: Paving | None = None
        """What was reached before, on the grid at hand, if what follows it is to have the same property."""
        self._others: list[Other] = []
        """The same on grids of before."""
        self._marks = self._marks_at(0)
        try:
            self._layer = self._parts.paving(self._marks)
        except CrowdedError:
            raise OpenError("initial sets are too wide for the grid") from None

    def run(self, tick: Tick) -> None:
        """Follow all sets to the end. Raises `OpenError`, also for too many sets."""
        try:
            while not self._advanced(tick):
                pass
        except (CrowdedError, OutsideError) as error:
            raise OpenError(str(error) or "sets are too wide for the grid") from error

    def _advanced(self, tick: Tick) -> bool:
        """Follow all sets of a layer; are they the last?"""
        steps = self.grid.stride if self.last is None else min(self.grid.stride, self.last - self.step)
        begun, end = self.step, self.step + steps
        marks = self._marks_at(end)
        if self.grid.directions:
            bounds = self._polyhedron(steps, tick)
            made = None if bounds is None or end == self.last else bounds.paving(tick)
        else:
            low, high = self._images(steps, tick)
            made = paved(low, high, marks, tick) if len(low) and end != self.last else None
        self.step = end
        if made is None:
            return True
        same = self.grid.units(begun) == self.grid.units(end)
        if self._known is None or begun + 1 < self.first:
            self._known = self._layer = made
        else:
            if not same:
                depth = self._marks.depth
                self._others.append(Other(self._known, depth, tuple(self._halved(begun, self._marks))))
                del self._others[:-_OTHERS]
            for other in self._others:
                made = made.outside(other, self._halved(end, marks))
            self._known, self._layer = self._known.cut(self._marks, marks).joined(made) if same else (made, made)
        self._marks = marks
        return not len(self._layer)

    def _marks_at(self, step: int) -> Marks:
        """Cells that are cut at a step."""
        return marked(step, self._cuts, self.grid.units)

    def _halved(self, step: int, marks: Marks) -> list[int]:
        """Halvings of the smallest units by then."""
        return [h + marks.depth for h in self.grid.halved(step)]

    def _leg(self, steps: int) -> Leg:
        """The steps of the layer."""
        units = [Fraction(1, 1 << h) for h in self._halved(self.step, self._marks)]
        columns = tuple(tuple(c * u for c, u in zip(column, units, strict=True)) for column in self._columns)
        end = self.step + steps
        rows = finer(self._rows, self._halved(end, self._marks_at(end)))
        depth, directions = self._marks.depth, self.grid.directions
        return Leg(self._course, self.step, steps, rows, directions, columns, self._parts, depth, _FEW)

    def _images(self, steps: int, tick: Tick) -> Sides:
        """Boxes around what follows the sets of the layer."""
        leg, made = self._leg(steps), list[Came]()

        def sides(first: int) -> Sides:
            part = slice(first, first + _BATCH)
            return self._layer.low[part], self._layer.high[part]

        def takes(first: int, came: Came) -> None:
            made.append(self._all(leg, came, *sides(first), tick))

        shared(deque(range(0, len(self._layer), _BATCH)), sides, leg, takes, self._here(leg, tick))
        low, high = (np.concatenate([getattr(came, side) for came in made]) for side in ("low", "high"))
        return low, high

    def _polyhedron(self, steps: int, tick: Tick) -> Polyhedron | None:
        """The polyhedron around what follows the sets of the layer, if anything does."""
        leg, fixed = self._leg(steps), 0 if self.step else 1
        images = Extremes(self._layer, 2 * len(leg), _BATCH, fixed, coarse=self._together)

        def takes(piece: Piece, came: Came) -> None:
            if piece[0]:  # those that are open are looked into
                self._counts(came)
            else:
                came = self._all(leg, came, *images.sides(piece), tick)
            images.add(piece, farthest(len(came.open), came.of, came.low, came.high), came.open)

        while images.more():
            shared(images.left, images.sides, leg, takes, self._here(leg, tick))
        return None if images.none else Polyhedron(self._directions, *images.bounds)

    def _here(self, leg: Leg, tick: Tick) -> Callable[[Ints, Ints], Came]:
        """The leg, of fewer sets where all at once do not do; those of which none do are open."""

        def followed(low: Ints, high: Ints) -> Came:
            tick()
            if self._together:
                try:
                    return leg(low, high, tick)
                except UnsupportedError:
                    self._together = False
                except (BeyondError, CrowdedError):
                    if half := len(low) // 2:
                        return followed(low[:half], high[:half]).joined(followed(low[half:], high[half:]))
            return leg.nothing(len(low))

        return followed

    def _counts(self, came: Came) -> None:
        """Note that sets were followed."""
        self.boxes += len(came.open)
        if self.boxes > self.grid.boxes:
            raise OpenError(f"more than {self.grid.boxes} boxes")
        if self.hull is not None and came.hull is not None:
            self.hull.joins(came.hull)

    def _all(self, leg: Leg, came: Came, low: Ints, high: Ints, tick: Tick) -> Came:
        """Images of sets, after those that are open were followed one by one."""
        self._counts(came)
        left = np.flatnonzero(came.open).tolist()
        self._alone += len(left)
        self._batched += len(came.open) - len(left)
        if self._alone > _ALONE + self._batched:  # batches are no use
            self._together = False
        for number in left:
            tick()
            if (other := helper()) is not None:  # whose result is waiting, maybe
                other.hears(0.0)
            if ends := self._one_by_one.followed(leg, low[number].tolist(), high[number].tolist(), tick):
                lows, highs = np.array(ends, dtype=np.int64).transpose(1, 0, 2)
                came.of = np.concatenate([came.of, np.full(len(ends), number)])
                came.low, came.high = np.concatenate([came.low, lows]), np.concatenate([came.high, highs])
        came.open[:] = False
        return came


@dataclass
class Followed(Checked):
    """Result of the check of a cover. boxes: that were followed."""

    boxes: int = 0

    def __str__(self) -> str:
        return f"{self.lines} lines, {self.boxes} boxes followed"


def proved(about: About, lines: Lines) -> Followed:
    """Check a proof of the kind covers. Raises `CheckError`."""
    claim, system = about.claim, about.system
    prop = parse_property(claim.formula, system.vocabulary)
    asked = window(prop)
    if asked is None or prop.kind != claim.kind:
        raise CheckError(0, "a cover is about AG p, for ever or in a window of steps, with p about one state")
    with lines.refusing():
        try:
            boxes = _in_parts(about, asked, lines, part) if (part := lines.take(Part)) else _whole(about, asked, lines)
        except OpenError as error:
            raise lines.refused(str(error)) from error
        lines.end()
        return Followed(lines.number, boxes)


def _whole(about: About, asked: Window, lines: Lines) -> int:
    """Follow all variables on one grid. Number of boxes."""
    claim = about.claim
    try:
        axes = Axes(about.system)
    except ValueError as error:
        raise OpenError(str(error)) from None
    follow = Following(axes, asked, lines.next(Grid), claim.semantics == "float32", claim.inside)
    follow.run(lines.tick)
    return follow.boxes


def _in_parts(about: About, asked: Window, lines: Lines, part: Part | None) -> int:
    """Follow parts of the variables, one after the other; the first with all that p reads shows p. Number of boxes."""
    claim, loop, boxes, shown = about.claim, Loop(about.system), 0, False
    first, last, holds = asked
    known, covered = dict(loop.unmoved), set[str]()
    reads = variables_of(holds) - loop.alone
    while part is not None:
        lines.tick()
        try:
            axes = loop.part(part.names, known)
        except ValueError as error:
            raise OpenError(str(error)) from None
        covered |= {*part.names}
        shows = not shown and reads <= {*part.names}
        hull = Hull({name: ends for name, ends in starts(axes.system).items() if name in part.names})
        span, single = (first, last, holds if shows else TRUE), claim.semantics == "float32"
        follow = Following(axes, span, lines.next(Grid), single, claim.inside, hull)
        if not {*part.names}.issuperset(follow.axes.names):
            raise OpenError(f"{', '.join(follow.axes.names)} are covered, more than the part has")
        follow.run(lines.tick)
        shown, boxes = shown or shows, boxes + follow.boxes
        known = hull.ranges | known
        part = lines.take(Part)
    if not shown:
        raise OpenError("no part has all variables that p reads")
    if claim.inside and not loop.moved <= covered:
        raise OpenError(f"whether {', '.join(sorted(loop.moved - covered))} leave their ranges is not shown")
    return boxes
