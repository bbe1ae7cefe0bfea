"""Grids of cells over what runs reach, and which cells lead to which in a step: see `cell_mapping`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.answer import Answer, Proved, Unknown
from venmas.bounds.rounding import Bools, Ints
from venmas.budget import Budget, ask
from venmas.errors import ModelError, Reason
from venmas.logic import nnf
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.stages import Stage
from venmas.logic.window import Window
from venmas.model.canonical.canonical import shared
from venmas.model.evaluation.regions import bounding_box, sample_initial
from venmas.model.evaluation.simulate import random_branches, step_batch
from venmas.model.expressions.domain import Ranges
from venmas.model.invariant import Invariant
from venmas.model.system.disturbances import at_once, disturbance_of, drawn, noise_of
from venmas.procedures.hybrid.boxes import Boxes, Grid, cells, cut, distinct, groups, present
from venmas.procedures.hybrid.frames import Frame, to_boxes
from venmas.procedures.hybrid.view import Space
from venmas.procedures.inductive.proof import Inductive
from venmas.procedures.reachability.graph.step import advance, classify, ended
from venmas.question import Question

_FIRST, MAX_CELLS = 16, 200_000
"""Cells along what samples reach of a variable in the first grid, and all of them at most."""
MAX_WORDS = 4096
"""Cells of a set that is written down."""
_EDGES = 2_000_000
"""Images of new cells, at most."""
_TURN = 2000
"""Boxes that are cut into cells between two looks at the time."""
_RUNS, _STEPS = 64, 128
"""Runs that are sampled, and their steps."""
_PARTS = 8
"""Parts of a cell's side that are not cut further where a choice is open."""


@dataclass
class CellCounts:
    """Of the last grid: cells along each side of what samples reach, and those that were reached."""

    along: int = 0
    cells: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        text = f"{self.cells} reached, {self.along} along each side of what samples reach"
        return [("cells", text)] if self.along else []


def space_of_one(question: Question) -> Space:
    """A view of the system of its own, all steps of which have the variables as coordinates, with the noise of one.

    That has the values of all steps: in a part of the initial set, steps may have different ones.
    """
    made = drawn(question.system, 1)
    system, noise = at_once(made), noise_of(drawn(question.system, 2))
    boxes = [box for region in made.regions if (box := bounding_box(made, region)) is not None]
    ranges: list[Comparison] = []
    for name in system.variables:
        if name in noise and boxes:
            ends = [box[n] for box in boxes for n in made.variables if n in noise and disturbance_of(n) == name]
            value = LinearExpr.variable(name)
            ranges.append(Comparison(value - LinearExpr((), min(a for a, _ in ends)), Relation.GE))
            ranges.append(Comparison(value - LinearExpr((), max(b for _, b in ends)), Relation.LE))
    here = [(*(r for r in region if not noise & set(r.expr.variables)), *ranges) for region in made.regions]
    space = Space(shared(system.with_regions(here)), question.semantics == "float32")
    space.frames.append(Frame.identity(len(space.reals), space.unit))
    return space


def _met(space: Space) -> Ints:
    """Spread of sampled runs, each with one noise for all steps, along each real variable: cells are parts of it."""
    system, rng = space.system, np.random.default_rng(0)
    points = sample_initial(system, rng, _RUNS)
    if not points:
        return np.zeros(len(space.reals), np.int64)
    state = {n: np.array([float(point[n]) for point in points]) for n in system.variables}
    low = high = np.array([state[n].min() for n in space.reals])
    with np.errstate(all="ignore"), suppress(ModelError):  # a run into a state without a case: what is met is enough
        for _ in range(_STEPS):
            ask()
            ends = [(state[n].min(), state[n].max()) for n in space.reals]
            low, high = np.fmin(low, [a for a, _ in ends]), np.fmax(high, [b for _, b in ends])
            branch, alive = random_branches(system, state, rng)
            if not alive.any():
                break
            state, _ = step_batch(system, {n: v[alive] for n, v in state.items()}, branch[alive])
    met: Ints = np.nan_to_num((high - low) * space.unit, posinf=2.0**50).clip(0, 2.0**50).astype(np.int64)
    return met


class Cells:
    """Grids of cells about a question, one finer than the other. window: when p is to hold, and p."""

    def __init__(self, question: Question, window: Window, figures: CellCounts) -> None:
        self.question, self.figures = question, figures
        self._first, self._last, holds = window
        self.space = space_of_one(question)
        violated = nnf(holds, negate=True)
        self.stage = Stage([violated])
        ends = {d.name: (d.lower, d.upper) for d in self.space.system.variables.values()}
        low, high = to_boxes(self.space.frames[0], self.space.reals, [ends])
        self.low, self.width = low[0], np.maximum(high[0] - low[0], 1)
        noise = noise_of(drawn(question.system, 2))
        self._noise = np.array([n in noise for n in self.space.reals], bool)
        met = _met(self.space)
        self._met = np.where((met <= 0) | (met > self.width), self.width, met)
        self._along = _FIRST
        system, ranges = self.space.system, Ranges(self.space.system.box)
        updates = [(n, *ranges.of(e)) for branch in system.branches for n, e in branch.updates]
        leaving = {n for n, a, b in updates if a < system.variables[n].lower or b > system.variables[n].upper}
        self._stays = np.array([n not in leaving for n in self.space.reals])
        """Variables no update of which leaves the box, whatever cases of it the enclosures leave open."""
        self._new: Ints | None = None
        self._number: dict[tuple[int, ...], int] = {}
        self._edges: list[tuple[Ints, Ints]] = []
        self._roots, self._stuck = 0, False
        """Of the grid at hand: cells whose images are not known; the number of each, those of the initial sets first;
        which cells lead to which; and whether a state is a deadlock."""

    def grid(self, budget: Budget) -> Answer | None:
        """The next grid, in which None is where it is too coarse. Where the budget ends, it goes on later."""
        size = np.where(self._noise, self.width, np.maximum(-(-self._met // self._along), 1))
        answer = self._closed(size, budget)
        if answer is None and (size == 1).all():
            return Unknown(Reason.OPEN, "the finest grid does not decide it")
        if answer is None:
            self._along, self._new = 2 * self._along, None
        return answer

    def _closed(self, size: Ints, budget: Budget) -> Proved | None:
        """The cells that are reached; None where they do not prove p."""
        space, counts = self.space, self.figures
        grid, root = Grid(size, self.low, sweep=0, swept=True), space.root()
        noise = root.low[:1, self._noise], root.high[:1, self._noise]
        parts = np.maximum(size // _PARTS, 1)
        parts[self._noise] = np.maximum((noise[1] - noise[0]).sum(0) // _PARTS, 1)
        if self._new is None:
            first = distinct(self._reached(root, grid)[:, 1:])
            self._number = {tuple(row): i for i, row in enumerate(first.tolist())}
            self._roots, self._edges, self._stuck, self._new = len(first), [], False, first
        while len(self._new):
            counts.along, counts.cells = self._along, len(self._number)
            if len(self._number) > MAX_CELLS:
                raise OverflowError(f"there are more than {MAX_CELLS} cells")
            new = self._boxes(self._new, grid, noise)
            if self._last is None and self._violates(new).any():
                return None
            pieces = ended(classify(space, self.stage, new, np.arange(len(new)), 0, parts), budget)
            stuck = [any(not case.moves for case in cases) for cases in pieces.case_list]
            moves, images = advance(space, pieces, np.ones((len(pieces.kind), 1), bool), 0)
            top = self.low + self.width
            images.low[:, self._stays] = np.clip(images.low, self.low, top)[:, self._stays]
            images.high[:, self._stays] = np.clip(images.high, self.low, top)[:, self._stays]
            if space.outside(images, 1):
                return None
            edges = self._reached(images, grid)
            edges[:, 0] = pieces.node[moves.piece[edges[:, 0]]]
            self._note(edges, any(stuck[kind] for kind in present(pieces.kind)))
        if self._last is not None and not self._holds(grid, noise, budget):
            return None
        whole = self.question.certified and self._last is None and not self._noise.any()
        found = self._set(size) if whole else None
        proof = None if found is None else Inductive(found)
        return Proved("bounds", may_deadlock=self._stuck, inside=self.question.inside, proof=proof)

    def _note(self, edges: Ints, stuck: bool) -> None:
        """Number what is reached, and go on from what is new. edges: (E, ..), a new cell by its place, and a cell."""
        assert self._new is not None
        here = np.array([self._number[tuple(row)] for row in self._new.tolist()], dtype=np.int64)
        rows = distinct(edges[:, 1:])
        before = len(self._number)
        ends = [self._number.setdefault(tuple(row), len(self._number)) for row in rows.tolist()]
        there = np.array(ends, dtype=np.int64)
        if self._last is not None:
            self._edges.append((here[edges[:, 0]], there[groups(edges[:, 1:])]))
        self._stuck |= stuck
        self._new = rows[there >= before]

    def _holds(self, grid: Grid, noise: tuple[Ints, Ints], tick: Callable[[], None]) -> bool:
        """Does p hold in the cells that are reached after so many steps, for each step that is asked about?"""
        assert self._last is not None
        rows = np.array(list(self._number), dtype=np.int64).reshape(len(self._number), -1)
        wrong = self._violates(self._boxes(rows, grid, noise))
        source, target = (np.concatenate([e[i] for e in self._edges] or [np.zeros(0, np.int64)]) for i in (0, 1))
        here = np.arange(len(rows)) < self._roots
        for step in range(self._last + 1):
            tick()
            if step >= self._first and (here & wrong).any():
                return False
            after = np.zeros(len(rows), dtype=bool)
            after[target[here[source]]] = True
            here = after
        return True

    def _violates(self, cells: Boxes) -> Bools:
        """Mask of the cells a state of which may violate p."""
        atoms, _ = self.space.atoms(self.stage.atoms, cells, 0)
        return self.stage.formula_truth(atoms, np.zeros((len(cells), 0), bool))[:, 0]

    def _reached(self, boxes: Boxes, grid: Grid) -> Ints:
        """Pairs of boxes and cells that they meet, (E, 2 + n): number of the box, location, and place in the grid."""
        pairs: list[Ints] = [np.zeros((0, 2 + len(grid.cell)), np.int64)]
        for first in range(0, len(boxes), _TURN):
            ask()
            parts, origin = cut(boxes.take(slice(first, first + _TURN)), grid)
            pairs.append(distinct(np.concatenate([first + origin[:, None], cells(parts, grid)], 1)))
            if sum(map(len, pairs)) > _EDGES:
                raise OverflowError(f"cells have more than {_EDGES} images at once")
        return np.concatenate(pairs)

    def _boxes(self, rows: Ints, grid: Grid, noise: tuple[Ints, Ints]) -> Boxes:
        """Whole cells, with the noise of a step."""
        top = self.low + self.width
        low = np.minimum(self.low + rows[:, 1:] * grid.cell, top)
        high = np.minimum(low + grid.cell, top)
        low[:, self._noise], high[:, self._noise] = noise
        return Boxes(rows[:, 0].astype(np.intp), low, high, np.ones((len(rows), 1), bool))

    def _set(self, size: Ints) -> Invariant | None:
        """The cells as words; None for too many.

        A face between two cells belongs to the upper one alone, so that one predicate tells them apart.
        """
        if len(self._number) > MAX_WORDS:
            return None
        top = self.low + self.width
        known = {(at, *np.minimum(self.low + np.array(row) * size, top).tolist()) for at, *row in self._number}
        space, names = self.space, list(self.space.system.variables)
        rows: dict[tuple[Fraction, ...], int] = {}

        def literal(name: str, end: Fraction | int, sign: int, truth: str) -> tuple[int, str]:
            row = [Fraction(0)] * (len(names) + 1)
            row[0], row[1 + names.index(name)] = -sign * Fraction(end), Fraction(sign)
            return rows.setdefault(tuple(row), len(rows)), truth

        words = []
        for location, *corner in sorted(known):
            found = []
            for name, value in zip(space.integers, space.locations[location].values, strict=True):
                found += [literal(name, value, 1, "1"), literal(name, value + 1, 1, "0")]
            for i, name in enumerate(space.reals):
                low, high = Fraction(corner[i], space.unit), Fraction(corner[i] + int(size[i]), space.unit)
                above = (location, *corner[:i], corner[i] + int(size[i]), *corner[i + 1 :])
                found.append(literal(name, low, 1, "1"))
                found.append(literal(name, high, 1, "0") if above in known else literal(name, high, -1, "1"))
            words.append(dict(found))
        return Invariant(tuple(rows), tuple("".join(w.get(i, "-") for i in range(len(rows))) for w in words))
