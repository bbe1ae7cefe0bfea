"""Checks of a table: its cells cover its rows, their images are held by targets, and formulas fail there.

- For every cell of a kind and every choice of it, no outcome is possible but those listed. For a comparison, with the
  form of its expression (at the kind's integers, no outcomes known), by its exact least and greatest value over the
  cell; for an argmax of affine forms, by those of all differences of two; for an argmax of outputs of one network whose
  inputs are affine, by differences in integers of 2^-40, as `venmas.checker.fixed_point.networks` defines them. Index i
  is not possible if some difference to a higher index is negative throughout, or one to a lower index is positive
  nowhere.
- Unless `inside`, for every cell of a kind and every move, what the move updates stays in the declared ranges.
- The image of a cell under a move: for every coordinate of the targets' frame, the exact least value of its form over
  the cell rounded down, the greatest rounded up (at most 2^50 in size). The move *leads to where f fails* if its entry
  of `ahead` names a target that has the integers of the move, refutes f, and holds the image; or a cover whose targets
  with these integers that refute f cover the image (as closed boxes; found by cutting off what sticks out of one after
  the other, in at most 10,000 looks).
- EX f fails in a cell of a kind if f is in `ahead` and all moves lead to where f fails; AX f, if f is in `ahead` and in
  every case one move does. An atom fails if its form says so, exactly, over the cell; true nowhere, false everywhere;
  And if an operand does, Or if all do. Every formula that a row refutes has to fail in all its cells.

A row about EX f or AX f rests on rows about f, which is smaller: there is no circle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from venmas.budget import ask
from venmas.checker.exact.moves import Behaviour, Move, NotAffineError, OpenChoiceError
from venmas.checker.fixed_point.evaluation import Asked, Bools, Key, Tabling
from venmas.checker.fixed_point.lattice import MAX_COORDINATE, cover
from venmas.checker.fixed_point.limbs import Ints
from venmas.checker.format.numbers import CheckError
from venmas.checker.goals.listing import Listing, Targets, cells
from venmas.checker.goals.rule import Place
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top

if TYPE_CHECKING:
    from venmas.checker.goals.tables.table import Ahead, Table

MOST_NUMBERS = 1 << 22
"""Coordinates of the cells of a table, at most."""
NO_ROW, FIRST_COVER = -1, -2


class Checking:
    """A table that is being checked."""

    def __init__(self, table: Table, rows: Listing, at: Place, inside: bool) -> None:
        self.table, self.rows, self.line, self.book, self.may_leave = table, rows, at.line, at.book, inside
        self.tabling = at.book.tabling

    def _refuse(self, problem: str) -> CheckError:
        return CheckError(self.line, problem)

    def run(self) -> None:
        """Check all but what networks have to be asked. Raises `CheckError`."""
        table, rows = self.table, self.rows
        if any((side < 0).any() for side in table.side) or (
            len(rows) and int(rows.high.max(initial=0)) > MAX_COORDINATE
        ):
            raise self._refuse("the box of a row is empty, or too large")
        size = max(1, len(self.book.reals))
        pieces = cells(rows.low, rows.high, table.splits, MOST_NUMBERS // size)
        if pieces is None or len(pieces[2]) != len(table.kind):
            raise self._refuse(f"the splits do not fit the rows, or make more than {MOST_NUMBERS} numbers of cells")
        self.low, self.high, self.row = pieces
        self.place = table.where[self.row]
        self._look_ahead()
        verdict = Verdict(self.tabling, table.frame, table.integers, self.place, (self.low, self.high), self.steps)
        for i, formula in enumerate(rows.formulas):
            fails = verdict.fails(formula)
            claimed = (rows.says[self.row] >> i & 1).astype(bool)
            if not fails[claimed].all():
                row = int(self.row[np.flatnonzero(claimed & ~fails)[0]])
                raise self._refuse(f"it does not show what row {row} says")

    def _look_ahead(self) -> None:
        """Note of every kind where its moves lead, and in which cells those images are covered, formula by formula."""
        table, book = self.table, self.book
        listings = [book.listings[n] for n in table.to]
        if len({part.frame for part in listings}) > 1:
            raise self._refuse("the targets are of several frames")
        if sum(map(len, listings)) * max(1, len(book.reals)) > MOST_NUMBERS:
            raise self._refuse("more targets than a table may have")
        targets = Targets(listings, len(book.reals))
        formulas = [book.formulas[a.formula] for a in table.ahead]
        if len(set(formulas)) < len(formulas) or any(len(a.rows) != len(table.kinds) for a in table.ahead):
            raise self._refuse("a formula is looked ahead for twice, or not for all kinds")
        refuting = [targets.refuting(f) for f in formulas]
        declared = np.zeros(1, dtype=bool)
        if targets.count:
            box = targets.frame, targets.where, targets.low, targets.high
            declared = self.tabling.declared(targets.integers, *box)
        self.steps: dict[Formula, Bools] = {
            step: np.zeros(len(self.row), dtype=bool) for f in formulas for step in (EX(f), AX(f))
        }
        for k, (place, choices) in enumerate(table.kinds):
            ask()
            at = np.flatnonzero(table.kind == k + 1)
            key: Key = table.integers[place], choices
            if (self.place[at] != place).any():
                raise self._refuse("a cell has other integers than its kind")
            low, high = self.low[at], self.high[at]
            try:
                made = self.tabling.behaviour(key)
                for choice, bits in choices:
                    self._outcomes(self.tabling.bits(key[0], choice, table.frame, low, high), bits)
            except (NotAffineError, OpenChoiceError) as error:
                raise self._refuse(f"kind {k}: {error}") from error
            covered: list[list[Bools]] = [[] for _ in formulas]
            for m, move in enumerate(made.moves):
                if not listings:
                    self._stays(move, low, high)
                    continue
                kept = np.zeros(len(at), dtype=bool)
                ends = self.tabling.image(move, table.frame, targets.frame).around(low, high)
                here = targets.place(move.integers)
                for a, part in enumerate(table.ahead):
                    if len(part.rows[k]) != len(made.moves) or len(part.rows[k][m]) != len(at):
                        raise self._refuse(f"kind {k} has {len(made.moves)} moves of {len(at)} cells")
                    held = refuting[a] & (targets.where == here)
                    covered[a].append(self._covered(part, part.rows[k][m], held, targets, *ends))
                    rows = part.rows[k][m]
                    kept |= covered[a][-1] & (rows >= 0) & declared[np.maximum(rows, 0)]
                if not kept.all():  # else the targets tell, which are fewer
                    self._stays(move, low, high)
            for formula, moves in zip(formulas, covered, strict=True):
                if moves or not made.moves:
                    self.steps[EX(formula)][at], self.steps[AX(formula)][at] = step_fails(made, moves, len(at))

    def _stays(self, move: Move, low: Ints, high: Ints) -> None:
        """Refuse cells whose states a move may lead out of the declared ranges, unless the claim excludes that."""
        if not self.may_leave and not self.tabling.inside(move, self.table.frame, low, high).all():
            raise self._refuse("a state may leave its range, and the claim does not exclude it")

    def _outcomes(self, found: Ints | Asked, bits: int) -> None:
        if isinstance(found, Asked):
            self.book.awaited.add(self.line, found, bits)
        elif (found & ~np.int64(bits)).any():
            raise self._refuse("an outcome that the table leaves out is possible in a cell")

    def _covered(self, ahead: Ahead, rows: Ints, held: Bools, targets: Targets, low: Ints, high: Ints) -> Bools:
        """Mask of the images that lie where the formula fails, (B,)."""
        if len(rows) and (int(rows.max()) >= targets.count or int(rows.min()) <= FIRST_COVER - len(ahead.covers)):
            raise self._refuse("a target or cover that does not exist is named")
        covered = np.zeros(len(rows), dtype=bool)
        one = np.flatnonzero(rows >= 0)
        r = rows[one]
        covered[one] = held[r] & (targets.low[r] <= low[one]).all(1) & (high[one] <= targets.high[r]).all(1)
        for i in np.flatnonzero(rows <= FIRST_COVER).tolist():
            ask()
            parts = [r for r in ahead.covers[FIRST_COVER - int(rows[i])] if r < targets.count and held[r]]
            boxes = [(targets.low[r].tolist(), targets.high[r].tolist()) for r in parts]
            covered[i] = cover(low[i].tolist(), high[i].tolist(), boxes)
        return covered


def step_fails(made: Behaviour, moves: Sequence[Bools], size: int) -> tuple[Bools, Bools]:
    """Masks of so many cells of a kind where EX f and AX f fail; moves: of each, cells that it leads there."""
    every, none = np.ones(size, dtype=bool), np.zeros(size, dtype=bool)
    in_case = [np.logical_or.reduce([none, *(moves[m] for m in case)]) for case in made.cases]
    return np.logical_and.reduce([every, *moves]), np.logical_and.reduce([every, *in_case])


@dataclass(frozen=True, eq=False)
class Verdict:
    """Masks of formulas that fail, in cells of a frame by integers (`place` among them) and box.

    steps: in which cells formulas EX f and AX f fail, where that is known; True of no other.
    """

    tabling: Tabling
    frame: int
    integers: Sequence[tuple[int, ...]]
    place: Ints
    box: tuple[Ints, Ints]
    steps: Mapping[Formula, Bools]
    known: dict[Formula, Bools] = field(default_factory=dict)

    def fails(self, formula: Formula) -> Bools:
        """In which cells no state meets a formula, as far as it is shown, (C,)."""
        if formula not in self.known:
            ask()
            self.known[formula] = self._shown(formula)
        return self.known[formula]

    def _shown(self, formula: Formula) -> Bools:
        nowhere = np.zeros(len(self.place), dtype=bool)
        match formula:
            case Top():
                return nowhere
            case Bottom():
                return ~nowhere
            case And(operands):
                return np.asarray(np.logical_or.reduce([self.fails(o) for o in operands]), dtype=bool)
            case Or(operands):
                return np.asarray(np.logical_and.reduce([self.fails(o) for o in operands]), dtype=bool)
            case EX() | AX():
                return self.steps.get(formula, nowhere)
            case Atom(comparison):
                for place in np.flatnonzero(np.bincount(self.place)).tolist():
                    at = np.flatnonzero(self.place == place)
                    low, high = (end[at] for end in self.box)
                    nowhere[at] = self.tabling.never(comparison, self.integers[place], self.frame, low, high)
                return nowhere
        raise TypeError(f"not a core formula: {formula}")
