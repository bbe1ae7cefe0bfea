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

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from venmas.checker.exact.moves import MOST_OUTCOMES
from venmas.checker.fixed_point.lattice import MAX_COORDINATE, MOST_LOOKS
from venmas.checker.fixed_point.limbs import Ints
from venmas.checker.format.numbers import CheckError, read_index
from venmas.checker.format.rule import Line, Rule, rule
from venmas.checker.goals.listing import Listing
from venmas.checker.goals.rule import Place
from venmas.checker.goals.tables.check import Checking


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """Where cells lead: for every kind, move and cell of the kind the row of a target that refutes the formula.

    -1: none; -2 - i: the rows of cover i.
    """

    formula: int
    rows: tuple[tuple[Ints, ...], ...]
    covers: tuple[tuple[int, ...], ...]


@rule("table")
@dataclass(frozen=True, slots=True, eq=False)
class Table(Rule):
    """Rows that refute formulas, by their cells.

    frame, formulas: by number. integers: vectors. where, says (R,): of each row its integers, and the formulas that it
    refutes, as bits. low, side (n, R): coordinates and sides. splits: see `venmas.checker.goals.listing.cells`. kinds:
    place of the integers, and choices with outcomes as bits. kind (C,): of each cell, 0 for none, else 1 + its place.
    to: the lines of tables and lemmas whose rows, one after the other, are the targets. ahead: where cells lead.
    """

    misfit = "no table that fits the system and the frames and lemmas before it"
    frame: int
    formulas: tuple[int, ...]
    integers: tuple[tuple[int, ...], ...]
    where: Ints
    says: Ints
    low: Ints
    side: Ints
    splits: tuple[Ints, ...]
    kinds: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    kind: Ints
    to: tuple[int, ...]
    ahead: tuple[Ahead, ...]

    def to_json(self) -> dict[str, object]:
        """The line."""
        return {
            "rule": self.name,
            "frame": self.frame,
            "formulas": list(self.formulas),
            "integers": [list(v) for v in self.integers],
            "where": self.where.tolist(),
            "says": self.says.tolist(),
            "low": self.low.tolist(),
            "side": self.side.tolist(),
            "splits": [level.tolist() for level in self.splits],
            "kinds": [[place, [list(pair) for pair in choices]] for place, choices in self.kinds],
            "kind": self.kind.tolist(),
            "to": list(self.to),
            "ahead": [
                [a.formula, [[m.tolist() for m in kind] for kind in a.rows], [list(c) for c in a.covers]]
                for a in self.ahead
            ],
        }

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """Whole numbers in the shapes given above. Raises `CheckError`."""
        read = _Reader(cls, data, at)
        frame, formulas, integers, where, says, low, side, splits, kinds, kind, to, ahead = cls.entries(data, at)
        book, n = at.book, len(at.book.reals)
        vectors = tuple(tuple(read.ints(v, len(book.integers)).tolist()) for v in read.list(integers))
        rows = len(read.list(where))
        ends, sides = (read.columns(e, n, rows) for e in (low, side))
        read.need(all(type(n_) is int and n_ in book.listings for n_ in read.list(to)))
        return cls(
            read_index(at.line, frame, len(book.frames)),
            tuple(read_index(at.line, f, len(book.formulas)) for f in read.list(formulas, most=MOST_OUTCOMES)),
            vectors,
            read.ints(where, rows, 0, len(vectors) - 1),
            read.ints(says, rows, 0, (1 << len(formulas)) - 1),
            ends,
            sides,
            tuple(read.ints(level, None, 0, n) for level in read.list(splits)),
            tuple(read.kind(k, len(vectors), len(book.choices)) for k in read.list(kinds)),
            read.ints(kind, None, 0, len(kinds)),
            tuple(to),
            tuple(read.ahead(a, len(book.formulas)) for a in read.list(ahead)),
        )

    def apply(self, at: Place, inside: bool) -> None:
        """Check it but for what networks have to be asked, which is awaited, and keep its rows. Raises `CheckError`.

        inside: may states leave the declared box?
        """
        if at.book.semantics != "real":
            raise CheckError(at.line, "tables are about networks over the reals")
        listing = Listing(
            self.frame,
            tuple(at.book.formulas[f] for f in self.formulas),
            self.integers,
            self.where,
            self.says,
            np.ascontiguousarray(self.low.T),
            np.ascontiguousarray((self.low + self.side).T),
        )
        at.book.keep(at.line, 8 * len(listing) * (2 + 2 * len(at.book.reals)) + 8 * sum(map(len, self.integers)))
        try:
            Checking(self, listing, at, inside).run()
        except OverflowError as error:
            raise CheckError(at.line, str(error)) from error
        at.book.listings[at.line] = listing


class _Reader:
    """Entries of a line, of the right types and sizes."""

    def __init__(self, kind: type[Rule], data: Line, at: Place) -> None:
        self.kind_, self.data, self.at = kind, data, at

    def need(self, fits: bool) -> None:
        if not fits:
            raise self.kind_.refused(self.data, self.at)

    def list(self, data: object, size: int | None = None, most: int | None = None) -> list[Any]:
        self.need(isinstance(data, list))
        assert isinstance(data, list)
        self.need((size is None or len(data) == size) and (most is None or len(data) <= most))
        return data

    def ints(self, data: object, size: int | None, low: int = -MAX_COORDINATE, high: int = MAX_COORDINATE) -> Ints:
        found = self.list(data, size)
        self.need(set(map(type, found)) <= {int} and (not found or (low <= min(found) and max(found) <= high)))
        return np.array(found, dtype=np.int64)

    def columns(self, data: object, count: int, size: int) -> Ints:
        found = [self.ints(column, size) for column in self.list(data, count)]
        return np.array(found, dtype=np.int64).reshape(count, size)

    def kind(self, data: object, vectors: int, choices: int) -> tuple[int, tuple[tuple[int, int], ...]]:
        place, pairs = self.list(data, 2)
        found = [self.list(pair, 2) for pair in self.list(pairs)]
        for choice, bits in found:
            read_index(self.at.line, choice, choices)
            self.need(type(bits) is int and 0 < bits < 1 << MOST_OUTCOMES)
        self.need(len({c for c, _ in found}) == len(found))
        return read_index(self.at.line, place, vectors), tuple((c, bits) for c, bits in found)

    def ahead(self, data: object, formulas: int) -> Ahead:
        formula, rows, covers = self.list(data, 3)
        moves = tuple(tuple(self.ints(m, None) for m in self.list(kind)) for kind in self.list(rows))
        self.need(all(isinstance(c, list) and len(c) <= MOST_LOOKS for c in self.list(covers)))
        lists = tuple(tuple(self.ints(c, None, 0).tolist()) for c in self.list(covers))
        return Ahead(read_index(self.at.line, formula, formulas), moves, lists)
