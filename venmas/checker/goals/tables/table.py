"""The rule `table`: lemmas about many regions of a frame at once, with the cells that they are cut into.

A row is a region: integers, and a box of integer coordinates. It is cut at midpoints into cells. A cell that has to
look a step ahead is of a *kind*: integers and, for some choices, the outcomes that are possible there. What such cells
do in every combination of outcomes is a list of affine moves (`venmas.checker.exact.moves`); for every move and cell
the table names the row of a later region that holds the image, or several that cover it. Then (docs/certificates.md)

    EX f fails in a cell, if all its moves lead to where f fails;
    AX f fails in a cell, if in each combination of outcomes one of the moves does;
    atoms fail where their affine forms say so, And and Or as they are made of these,

and a row's formula fails if it does in all its cells. A lemma of EX f or AX f rests on lemmas of f, a smaller formula,
so that there is no circle. Outcomes that hang on networks are checked for many tables together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from venmas.checker.exact.moves import MOST_OUTCOMES
from venmas.checker.fixed_point.lattice import MAX_COORDINATE, MOST_LOOKS
from venmas.checker.fixed_point.limbs import Ints
from venmas.checker.format.fields import Count, Limit
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import Rule, rule
from venmas.checker.goals.listing import Listing
from venmas.checker.goals.rule import Place
from venmas.checker.goals.tables.check import Checking

Coordinates = Annotated[Ints, Limit(-MAX_COORDINATE, MAX_COORDINATE)]
Places = Annotated[Ints, Limit(least=0)]
Targets = Annotated[Ints, Limit(-MAX_COORDINATE, MAX_COORDINATE)]
Outcomes = Annotated[int, Limit(1, (1 << MOST_OUTCOMES) - 1)]


class Ahead(NamedTuple):
    """Targets of cells: for every kind, move and cell of the kind the row of a target that refutes the formula.

    -1: none; -2 - i: the rows of cover i.
    """

    formula: Count
    rows: tuple[tuple[Targets, ...], ...]
    covers: tuple[Annotated[tuple[Count, ...], Limit(most=MOST_LOOKS)], ...]


@rule("table")
@dataclass(frozen=True, slots=True, eq=False)
class Table(Rule):
    """Rows that refute formulas, by their cells.

    frame, formulas: by number. integers: vectors. where, says (R,): of each row its integers, and the formulas that it
    refutes, as bits. low, side (n, R): coordinates and sides. splits: see `venmas.checker.goals.listing.cells`. kinds:
    place of the integers, and choices with outcomes as bits. kind (C,): of each cell, 0 for none, else 1 + its place.
    to: the lines of tables and lemmas whose rows, one after the other, are the targets. ahead: where cells lead.
    """

    frame: Count
    formulas: Annotated[tuple[Count, ...], Limit(most=MOST_OUTCOMES)]
    integers: tuple[tuple[Annotated[int, Limit(-MAX_COORDINATE, MAX_COORDINATE)], ...], ...]
    where: Places
    says: Places
    low: tuple[Coordinates, ...]
    side: tuple[Coordinates, ...]
    splits: tuple[Places, ...]
    kinds: tuple[tuple[Count, tuple[tuple[Count, Outcomes], ...]], ...]
    kind: Places
    to: tuple[Count, ...]
    ahead: tuple[Ahead, ...]

    def _need(self, fits: bool, at: Place) -> None:
        if not fits:
            raise at.refused("no table that fits the system and the frames and lemmas before it")

    def _fits(self, at: Place) -> None:
        """Whatever is named is there, and lists are as long as what they are about. Raises `CheckError`."""
        book, size, rows = at.book, len(at.book.reals), len(self.where)
        named = [(self.frame, len(book.frames)), *((f, len(book.formulas)) for f in self.formulas)]
        named += [(a.formula, len(book.formulas)) for a in self.ahead]
        named += [(place, len(self.integers)) for place, _ in self.kinds]
        named += [(choice, len(book.choices)) for _, choices in self.kinds for choice, _ in choices]
        for index, count in named:
            at.index(index, count)
        self._need(all(len(vector) == len(book.integers) for vector in self.integers), at)
        self._need(all(line in book.listings for line in self.to), at)
        self._need(len(self.says) == rows and len(self.low) == len(self.side) == size, at)
        self._need(all(len(column) == rows for column in (*self.low, *self.side)), at)
        self._need(not rows or int(self.where.max()) < len(self.integers), at)
        self._need(not rows or int(self.says.max()) < 1 << len(self.formulas), at)
        self._need(all(not len(level) or int(level.max()) <= size for level in self.splits), at)
        self._need(not len(self.kind) or int(self.kind.max()) <= len(self.kinds), at)
        self._need(all(len({choice for choice, _ in choices}) == len(choices) for _, choices in self.kinds), at)

    def apply(self, at: Place, inside: bool) -> None:
        """Check it but for what networks have to be asked, which is awaited, and keep its rows. Raises `CheckError`.

        inside: may states leave the declared box?
        """
        self._fits(at)
        if at.book.semantics != "real":
            raise CheckError(at.line, "tables are about networks over the reals")
        listing = Listing(
            self.frame,
            tuple(at.book.formulas[f] for f in self.formulas),
            self.integers,
            self.where,
            self.says,
            self._rows(self.low),
            self._rows([a + b for a, b in zip(self.low, self.side, strict=True)]),
        )
        at.book.keep(at.line, 8 * len(listing) * (2 + 2 * len(at.book.reals)) + 8 * sum(map(len, self.integers)))
        try:
            Checking(self, listing, at, inside).run()
        except OverflowError as error:
            raise CheckError(at.line, str(error)) from error
        at.book.listings[at.line] = listing

    def _rows(self, columns: Sequence[Ints]) -> Ints:
        """Columns (R,) as rows (R, n)."""
        array = np.array(columns, dtype=np.int64).reshape(len(columns), len(self.where))
        return np.ascontiguousarray(array.T)
