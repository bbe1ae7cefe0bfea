"""Lemmas by the row, as tables state them, and cells that rows are cut into along midpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from venmas.checker.exact.cell import rational
from venmas.checker.fixed_point.lattice import MAX_COORDINATE
from venmas.checker.fixed_point.limbs import Ints
from venmas.checker.goals.lemmas import Lemma, Matrix
from venmas.logic import Formula


@dataclass(frozen=True, eq=False)
class Listing:
    """R regions of a frame: no state of one meets the formulas that it speaks of.

    integers: the vectors that occur; where (R,): which of them; low, high (R, n): coordinates. formulas: F; says (R,):
    which of them are refuted, as bits.
    """

    frame: int
    formulas: tuple[Formula, ...]
    integers: tuple[tuple[int, ...], ...]
    where: Ints
    says: Ints
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.where)

    def lemma(self, row: int, formula: Formula, inverse: Matrix) -> Lemma | None:
        """A row's statement about a formula, as a lemma; None where it makes none."""
        said = [f for i, f in enumerate(self.formulas) if int(self.says[row]) >> i & 1]
        if formula not in said:
            return None
        low, high = (tuple(map(rational, end[row].tolist())) for end in (self.low, self.high))
        return Lemma(formula, self.integers[int(self.where[row])], inverse, low, high, self.frame)


def listed(lemma: Lemma) -> Listing | None:
    """A lemma as a listing of one row: the integers in its box; None where there are none, or too large ones."""
    low, high = [ceil(v) for v in lemma.low], [floor(v) for v in lemma.high]
    if any(a > b or max(abs(a), abs(b)) > MAX_COORDINATE for a, b in zip(low, high, strict=True)):
        return None
    one = np.ones(1, dtype=np.int64)
    ends = (np.array([end], dtype=np.int64).reshape(1, -1) for end in (low, high))
    return Listing(lemma.frame, (lemma.formula,), (lemma.integers,), one - 1, one, *ends)


class Targets:
    """The rows of several listings of one frame, one after the other."""

    def __init__(self, listings: Sequence[Listing], size: int) -> None:
        self.frame = listings[0].frame if listings else -1
        places: dict[tuple[int, ...], int] = {}
        formulas: dict[Formula, list[tuple[int, Ints]]] = {}
        where, count = [], 0
        for part in listings:
            numbers = [places.setdefault(v, len(places)) for v in part.integers]
            where.append(np.array(numbers, dtype=np.int64)[part.where])
            for i, formula in enumerate(part.formulas):
                formulas.setdefault(formula, []).append((count, part.says >> i & 1))
            count += len(part)
        none = np.zeros((0, size), dtype=np.int64)
        self.count, self._places, self._formulas = count, places, formulas
        self.integers = list(places)
        self.where = np.concatenate(where) if where else np.zeros(0, dtype=np.int64)
        self.low = np.concatenate([p.low for p in listings]) if listings else none
        self.high = np.concatenate([p.high for p in listings]) if listings else none

    def place(self, integers: tuple[int, ...]) -> int:
        """The number of a vector of integers, -1 where none of the rows has it."""
        return self._places.get(integers, -1)

    def refuting(self, formula: Formula) -> np.ndarray:
        """Mask of the rows that refute a formula, (rows,) of booleans."""
        mask = np.zeros(self.count, dtype=bool)
        for start, said in self._formulas.get(formula, ()):
            mask[start : start + len(said)] |= said.astype(bool)
        return mask


def cells(low: Ints, high: Ints, splits: Sequence[Ints], most: int) -> tuple[Ints, Ints, Ints] | None:
    """The cells of boxes (R, n): low, high (C, n) and the box that each is of, (C,).

    splits: level by level, for every box that is left to be looked at, in order, 0 where it is a cell, or 1 + the
    coordinate along which it is cut at its middle (rounded down) in two, which follow each other on the next level.
    None where they do not fit, or there would be more than `most` cells. The two halves cover a box, so that the cells
    cover what they are of.
    """
    row = np.arange(len(low))
    done: list[tuple[Ints, Ints, Ints]] = []
    count = 0
    for codes in splits:
        if len(codes) != len(row):
            return None
        leaf = codes == 0
        done.append((low[leaf], high[leaf], row[leaf]))
        cut = np.flatnonzero(~leaf)
        count += len(row) + len(cut)
        if count > most:
            return None
        low, high, row = (np.repeat(part[cut], 2, axis=0) for part in (low, high, row))
        at, first = codes[cut] - 1, 2 * np.arange(len(cut))
        middle = (low[first, at] + high[first, at]) >> 1
        high[first, at] = middle
        low[first + 1, at] = middle
    if len(row):
        return None
    return tuple(np.concatenate(column) for column in zip(*done, strict=True)) if done else (low, high, row)  # type: ignore[return-value]
