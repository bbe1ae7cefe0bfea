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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from venmas.checker.covers.batch.course import Begin, Course, OpenSetError, boxed, parted
from venmas.checker.covers.grid import Axes, Grid, Rows, finer
from venmas.checker.covers.parts import Hull, Loop, Part, starts
from venmas.checker.covers.paving import SIDE, CrowdedError, Ints, Marks, Other, Paving, marked, paved
from venmas.checker.covers.polyhedron import Polyhedron
from venmas.checker.flowpipes.curves import BeyondError, UnsupportedError
from venmas.checker.flowpipes.forms import Form, Forms, enclosing
from venmas.checker.flowpipes.state import States
from venmas.checker.flowpipes.target import Target
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.checker.format.about import About
from venmas.checker.format.lines import Checked, Lines
from venmas.checker.format.numbers import CheckError, read_number
from venmas.logic import TRUE, nnf, parse_property, variables_of
from venmas.logic.linear import invert
from venmas.logic.window import Window, window
from venmas.model.evaluation.cuts import Fineness

_LARGEST = 1 << 45
"""Coordinates beyond which sets are too wide for any grid."""
_SETS = 4096
"""Sets that `stride` steps make of one, at most."""
_OTHERS = 64
"""Grids of before that are looked at, at most: a line may name many, and each costs time in every later round."""
_BATCH, _FEW, _ALONE = 512, 2, 256
"""Sets that are followed at once; how few are as soon followed alone; how many more are until all are."""
Boxes = tuple[Ints, Ints]


class OpenError(Exception):
    """A cover does not show its claim."""


class Following:
    """The sets of a cover. inside: are declared ranges looked at? single: networks in any float32 evaluation. hull: of
    all sets.

    Raises `OpenError` where the grid is none.
    """

    def __init__(
        self, axes: Axes, asked: Window, grid: Grid, single: bool, inside: bool, hull: Hull | None = None
    ) -> None:
        self.axes, self.system, self.grid, self.inside, self.hull = axes, axes.system, grid, inside, hull
        self.first, self.last, holds = asked
        self.target = Target(self.system, nnf(holds, negate=True), "float32" if single else "real")
        self._fine, self._single = Fineness(grid.order, grid.substeps, grid.slices, grid.symbols), single
        n = len(self.axes.names)
        rows: Rows = tuple(tuple(read_number(1, text) for text in row) for row in grid.rows)
        columns = invert(rows) if len(rows) == n and all(len(row) == n for row in rows) else None
        if not n or columns is None or any(len(halved) != n for _, halved in grid.finer):
            raise OpenError(f"expected {n} independent coordinates of {', '.join(self.axes.names) or 'no variables'}")
        try:
            self._cuts, self._directions = grid.cells(), grid.factors()
        except ValueError as error:
            raise OpenError(str(error)) from None
        self._course: Course | None = Course(
            self.axes, self.target.formula, self.first, self._fine, single, inside, hull
        )
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

    def run(self, tick: Callable[[], None]) -> None:
        """Follow all sets to the end. Raises `OpenError`, also for too many sets."""
        try:
            while not self._advanced(tick):
                pass
        except (CrowdedError, OutsideError) as error:
            raise OpenError(str(error) or "sets are too wide for the grid") from error

    def _advanced(self, tick: Callable[[], None]) -> bool:
        """Follow all sets of a layer; are they the last?"""
        steps = self.grid.stride if self.last is None else min(self.grid.stride, self.last - self.step)
        begun, end = self.step, self.step + steps
        marks, ends = self._marks_at(end), list[Boxes]()
        rows = finer(self._rows, self._halved(end, marks))
        rows += tuple(_turned(direction, rows) for direction in self.grid.directions)
        for first in range(0, len(self._layer), _BATCH):
            numbers = range(first, min(first + _BATCH, len(self._layer)))
            self.boxes += len(numbers)
            if self.boxes > self.grid.boxes:
                raise OpenError(f"more than {self.grid.boxes} boxes")
            ends += self._boxes(numbers, steps, rows, tick)
        self.step = end
        low, high = (np.concatenate([pair[side] for pair in ends]) if ends else np.arange(0) for side in (0, 1))
        if end == self.last or not len(low):
            return True
        if self.grid.directions:
            made = Polyhedron(self._directions, low.min(0), high.max(0)).paving(tick)
        else:
            made = paved(low, high, marks, tick)
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

    def _boxes(self, numbers: range, steps: int, rows: Rows, tick: Callable[[], None]) -> list[Boxes]:
        """Boxes around what follows some sets: of all at once, or where that does not do, of fewer, and one by one."""
        if self._course is not None and len(numbers) >= _FEW:
            tick()
            try:
                made = self._course.boxes(self._begin(numbers), len(numbers), self.step, steps, rows, tick)
                self._batched += len(numbers)
                return [made]
            except UnsupportedError:
                self._course = None
            except (BeyondError, OpenSetError):
                if half := len(numbers) // 2:
                    return [
                        pair for n in (numbers[:half], numbers[half:]) for pair in self._boxes(n, steps, rows, tick)
                    ]
        self._alone += len(numbers)
        if self._alone > _ALONE + self._batched:  # batches are no use
            self._course = None
        ends = list[tuple[list[int], list[int]]]()
        for number in numbers:
            tick()
            ends += self._followed(self._start(number), steps, rows, tick)
        if not ends:
            return []
        low, high = np.array(ends, dtype=np.int64).transpose(1, 0, 2)
        return [(low, high)]

    def _begin(self, numbers: range) -> Begin:
        """The sets of some numbers in the layer."""
        part, depth = self._layer.rows(slice(numbers.start, numbers.stop)), self._marks.depth
        if self.step:
            units = [Fraction(1, 1 << h) for h in self._halved(self.step, self._marks)]
            columns = tuple(tuple(c * u for c, u in zip(column, units, strict=True)) for column in self._columns)
            return boxed(self.axes.names, columns, part.low, part.high)
        region = part.low[:, 0] // SIDE >> depth
        return parted(self.axes.names, self._parts, region, part.low[:, 1:], part.high[:, 1:], depth)

    # -- sets ----------------------------------------------------------------------------------------------------------

    def _start(self, number: int) -> States:
        """The set of a number in the layer."""
        bits, depth = self.grid.bits, self._marks.depth
        ring, forms = Forms(bits, 0), dict[str, Form]()
        low, high = self._layer.low[number].tolist(), self._layer.high[number].tolist()
        if self.step:
            axes = []
            for a, b, h in zip(low, high, self._halved(self.step, self._marks), strict=True):
                wide = Form(a + b << bits - 1, (), b - a << bits - 1)
                axes.append(ring.fresh(ring.scale(wide, Fraction(1, 1 << h))))
            for name, column in zip(self.axes.names, self._columns, strict=True):
                forms[name] = ring.fresh(_combined(ring, column, axes))
        else:
            region = low[0] // SIDE >> depth
            for axis, name in enumerate(self.axes.names):
                first, last = (self._parts.at(region, axis, side[1 + axis], depth) for side in (low, high))
                forms[name] = ring.fresh(enclosing(first, last, bits))
        forms |= {name: ring.constant(value) for name, value in self.axes.fixed.items()}
        made = self._drawn(States(self.system, forms, ring.symbols, bits, self._fine, single=self._single))
        if not self.step:
            self._look(made, 0)
        return made

    def _drawn(self, states: States) -> States:
        """A set with the noise of a step."""
        if not self.axes.noise:
            return states
        forms: dict[str, Form] = {n: f for n, f in states.forms.items() if n not in self.axes.noise}
        bits = self.grid.bits
        ring = Forms(bits, states.symbols)
        forms |= {name: ring.fresh(enclosing(*ends, bits)) for name, ends in self.axes.noise.items()}
        return states.having({name: forms[name] for name in self.system.variables}, ring.symbols)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _followed(
        self, start: States, steps: int, rows: Rows, tick: Callable[[], None]
    ) -> list[tuple[list[int], list[int]]]:
        """Boxes around what follows a set."""
        sets = [start]
        for step in range(self.step + 1, self.step + steps + 1):
            after = list[States]()
            for states, branch in product(sets, self.system.branches):
                if states.truth(branch.guard) is False:
                    continue
                tick()
                for made in states.after(branch):
                    self._look(made, step)
                    after.append(self._drawn(made))
                if len(after) > _SETS:
                    raise OpenError(f"one set becomes more than {_SETS}")
            sets = after
        return [self._box(made, rows) for made in sets]

    def _box(self, states: States, rows: Rows) -> tuple[list[int], list[int]]:
        """The least box of integer coordinates around a set."""
        ring, bits = Forms(self.grid.bits, states.symbols), self.grid.bits
        lows, highs = [], []
        forms = [states.forms[name] for name in self.axes.names]
        for row in rows:
            low, high = _combined(ring, row, forms).range
            lows.append(low >> bits)
            highs.append(-(-high >> bits))
        if max(-min(lows), max(highs)) >= _LARGEST:
            raise OpenError("sets are too wide for the grid")
        return lows, highs

    def _look(self, states: States, step: int) -> None:
        """Raises `OpenError` where a state may break what is claimed."""
        if step >= self.first and not self.target.refuted(states):
            raise OpenError(f"a state after {step} steps may break it, as far as its enclosures tell")
        for name in self.axes.looked_at if (self.inside or self.hull is not None) and step else ():
            low, high = states.forms[name].range
            decl, unit = self.system.variables[name], 1 << self.grid.bits
            if self.inside and not (decl.lower * unit <= low and high <= decl.upper * unit):
                raise OpenError(f"{name} may leave its range after {step} steps")
            if self.hull is not None:
                self.hull.add(name, low, high, self.grid.bits)


def _turned(direction: Sequence[int], rows: Rows) -> tuple[Fraction, ...]:
    """A direction of coordinates as one of variables."""
    return tuple(
        sum((c * x for c, x in zip(direction, column, strict=True)), Fraction(0)) for column in zip(*rows, strict=True)
    )


def _combined(ring: Forms, factors: Sequence[Fraction], forms: Sequence[Form]) -> Form:
    """The sum of multiples of forms."""
    total = ring.constant(Fraction(0))
    for factor, form in zip(factors, forms, strict=True):
        total = ring.add(total, ring.scale(form, factor)) if factor else total
    return total


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
