"""Cell mapping: AG p for ever by a union of cells of a grid that no step leaves.

    repeat, on a grid twice as fine
        cells := those that an initial region meets
        step all new cells, cut where a choice is open                                (`graph.step`)
        add the cells that their images meet; one may violate p, or leave the box: too coarse
        no cell is new: proved, the cells are an inductive set

Cell-to-cell mapping (Hsu, 1980) with the enclosures of the reachability graph. Its sets need not be convex, nor
be entered or come back to after any fixed number of steps, as those of `procedures.kinduction`; there are many more of
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.answer import Answer, Proved, Unknown
from venmas.bounds.rounding import Ints
from venmas.budget import Budget, ask, limited
from venmas.errors import Reason
from venmas.logic import Always, nnf
from venmas.logic.stages import Stage
from venmas.model.canonical.canonical import shared
from venmas.model.expressions.domain import Ranges
from venmas.model.invariant import Invariant
from venmas.model.transform.cases import UnsuitableError
from venmas.procedure import Run
from venmas.procedures.hybrid.boxes import Boxes, Grid, cells, cut, distinct, present
from venmas.procedures.hybrid.frames import Frame, to_boxes
from venmas.procedures.hybrid.view import Space
from venmas.procedures.inductive.write import Inductive
from venmas.procedures.reachability.graph.step import advance, classify
from venmas.question import Question

_FIRST, MAX_CELLS = 16, 200_000
"""Cells along a variable's range in the first grid, and all of them at most."""
MAX_WORDS = 4096
"""Cells of a set that is written down."""
_TURN = 2000
"""Boxes that are cut into cells between two looks at the time."""
_PARTS = 8
"""Parts of a cell's side that are not cut further where a choice is open."""


@dataclass
class CellCounts:
    """Of the last grid: cells along each side of the box, and those that were reached."""

    along: int = 0
    cells: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("cells", f"{self.cells} reached, of {self.along} along each side")] if self.along else []


class CellMapping:
    """The procedure."""

    name = "cell-mapping"
    help = "Cells of a grid over the reals that no step leaves."

    def accepts(self, question: Question, run: Run) -> str | None:
        """AG p, p about one state, of a system with a real variable."""
        if not isinstance(question.asked, Always) or question.asked.start:
            return "it is for AG p from the present state on, with p about one state"
        if question.inductive is not None:
            return "it is to be proved by the set that was given"
        try:
            _space(question).root()
        except (UnsuitableError, OverflowError, RecursionError) as error:
            return str(error) or "the system is nested too deeply"
        return None

    def start(self, question: Question, run: Run) -> CellSession:
        """Nothing is done yet."""
        return CellSession(question)


def _space(question: Question) -> Space:
    """A view of the system of its own, all steps of which have the variables as coordinates."""
    space = Space(shared(question.system), question.semantics == "float32")
    space.frames.append(Frame.identity(len(space.reals), space.unit))
    return space


class CellSession:
    """A grid at a time."""

    def __init__(self, question: Question) -> None:
        assert isinstance(question.asked, Always)
        self.question, self.figures = question, CellCounts()
        self.space = _space(question)
        violated = nnf(question.asked.invariant, negate=True)
        self.stage = Stage([violated])
        ends = {d.name: (d.lower, d.upper) for d in self.space.system.variables.values()}
        low, high = to_boxes(self.space.frames[0], self.space.reals, [ends])
        self.low, self.width = low[0], np.maximum(high[0] - low[0], 1)
        self._along = _FIRST
        system, ranges = self.space.system, Ranges(self.space.system.box)
        updates = [(n, *ranges.of(e)) for branch in system.branches for n, e in branch.updates]
        leaving = {n for n, a, b in updates if a < system.variables[n].lower or b > system.variables[n].upper}
        self._stays = np.array([n not in leaving for n in self.space.reals])
        """Variables no update of which leaves the box, whatever cases of it the enclosures leave open."""

    def advance(self, budget: Budget) -> Answer | None:
        """One grid; None where it is too coarse."""
        size = np.maximum(-(-self.width // self._along), 1)
        try:
            with limited(budget), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                found = self._closed(size, budget)
        except (UnsuitableError, OverflowError, RecursionError) as error:
            return Unknown(Reason.OPEN, f"no set of cells: {str(error) or type(error).__name__}")
        if found is not None:
            return found
        if (size == 1).all():
            return Unknown(Reason.OPEN, "the finest grid does not decide it")
        self._along *= 2
        return None

    def _closed(self, size: Ints, budget: Budget) -> Proved | None:
        """The cells that are reached; None where they do not prove p."""
        space, counts = self.space, self.figures
        grid = Grid(size, self.low, sweep=0, swept=True)
        new = self._cells(space.root(), grid)
        known = set(_keys(new))
        may_deadlock = False
        while len(new):
            counts.along, counts.cells = self._along, len(known)
            if len(known) > MAX_CELLS:
                raise OverflowError(f"there are more than {MAX_CELLS} cells")
            atoms, _ = space.atoms(self.stage.atoms, new, 0)
            if self.stage.formula_truth(atoms, np.zeros((len(new), 0), bool)).any():
                return None
            node = np.arange(len(new))
            pieces = classify(space, self.stage, new, node, 0, np.maximum(size // _PARTS, 1), budget)
            stuck = [any(not case.moves for case in cases) for cases in pieces.case_list]
            may_deadlock |= any(stuck[kind] for kind in present(pieces.kind))
            _, images = advance(space, pieces, np.ones((len(pieces.kind), 1), bool), 0)
            top = self.low + self.width
            images.low[:, self._stays] = np.clip(images.low, self.low, top)[:, self._stays]
            images.high[:, self._stays] = np.clip(images.high, self.low, top)[:, self._stays]
            if space.outside(images, 1):
                return None
            reached = self._cells(images, grid)
            keys = _keys(reached)
            fresh = np.array([key not in known for key in keys], bool)
            known.update(keys)
            new = reached.take(fresh)
        found = self._set(known, size) if self.question.certified else None
        proof = None if found is None else Inductive(found)
        return Proved("bounds", may_deadlock=may_deadlock, inside=self.question.inside, proof=proof)

    def _cells(self, boxes: Boxes, grid: Grid) -> Boxes:
        """The whole cells that some boxes meet, each once."""
        found: list[Ints] = [np.zeros((0, 1 + len(grid.cell)), np.int64)]
        for first in range(0, len(boxes), _TURN):
            ask()
            parts, _ = cut(boxes.take(slice(first, first + _TURN)), grid)
            found.append(distinct(cells(parts, grid)))  # the location first
            if sum(map(len, found)) > 2 * MAX_CELLS:
                found = [distinct(np.concatenate(found))]
                if len(found[0]) > MAX_CELLS:
                    raise OverflowError(f"there are more than {MAX_CELLS} cells")
        rows = distinct(np.concatenate(found))
        top = self.low + self.width
        low = np.minimum(self.low + rows[:, 1:] * grid.cell, top)
        return Boxes(rows[:, 0], low, np.minimum(low + grid.cell, top), np.ones((len(rows), 1), bool))

    def _set(self, known: set[tuple[int, ...]], size: Ints) -> Invariant | None:
        """The cells as words; None for too many.

        A face between two cells belongs to the upper one alone, so that one predicate tells them apart.
        """
        if len(known) > MAX_WORDS:
            return None
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


def _keys(boxes: Boxes) -> list[tuple[int, ...]]:
    """Location and lower corner of cells."""
    return [tuple(row) for row in np.concatenate([boxes.location[:, None], boxes.low], 1).tolist()]


CELL_MAPPING = CellMapping()
