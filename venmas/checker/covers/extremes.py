"""Extremes of the images of sets in some directions, of which many need not be followed."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

import numpy as np

from venmas.checker.covers.paving import Bools, Ints, Paving, numbered
from venmas.runtime.helping import helper

Sides: TypeAlias = tuple[Ints, Ints]
"""Lower and upper ends of boxes, (R, n) each."""
Piece: TypeAlias = tuple[bool, Ints]
"""A batch of sets: are they coarse, and which ones?"""

_FEW = 256
"""Sets up to which all are followed, and that are followed at once where another process helps."""
_ONCE, _TOP = 48, 4
"""Coarse sets that are looked into at once; where there are more, those that go farthest in a direction come first."""
NOWHERE = -(1 << 62)
"""A number below all ends."""


def farthest(size: int, of: Ints, low: Ints, high: Ints) -> Ints:
    """Upper ends of the images of so many sets in directions, then in their opposites, (size, 2 m).

    of: the sets that images are of, (R,); low, high: least and greatest values in the directions, (R, m).
    """
    ends = np.full((size, 2 * low.shape[1]), NOWHERE, dtype=np.int64)
    np.maximum.at(ends, of, np.hstack([high, -low]))
    return ends


class Extremes:
    """Upper ends of the images of sets in some directions, by branch and bound with one level.

    Around sets in two cells along each coordinate there is a coarse one. Sets in it are followed only where its image
    goes farther than those of all sets that were, or is open. What comes out is as narrow as if all had been followed.
    sets: those of a layer; count: directions; batch: sets at once; fixed: first numbers of cells that are not halved,
    as that of an initial set; coarse: are there coarse sets?
    """

    def __init__(self, sets: Paving, count: int, batch: int, fixed: int = 0, coarse: bool = True) -> None:
        self.ends = np.full(count, NOWHERE, dtype=np.int64)
        """Upper ends, once there is nothing more to follow."""
        self.open = np.zeros(0, dtype=np.int64)
        """Sets that are open."""
        self.left: deque[Piece] = deque()
        """Batches to be followed, of which `add` is to be told."""
        self._batch = batch
        self._sets: Sides = sets.low, sets.high
        self._at = np.zeros(0, dtype=np.int64)
        self._reach, self._wrong = np.zeros((0, count), dtype=np.int64), np.zeros(0, dtype=bool)
        """Coarse sets that were followed and are not looked into, how far they go, and whether they are open."""
        if coarse and len(sets) > _FEW:
            cell = sets.cell.copy()
            cell[:, 1 + fixed :] >>= 1
            number = numbered(cell)
            self._order = np.argsort(number, kind="stable")
            self._first = np.searchsorted(number[self._order], np.arange(number.max() + 2))
            low, high = (side[self._order] for side in self._sets)
            first = self._first[:-1]
            self._coarse: Sides = np.minimum.reduceat(low, first), np.maximum.reduceat(high, first)
            self._follow(True, np.arange(len(first)))
        else:
            self._follow(False, np.arange(len(sets)))

    def more(self) -> bool:
        """Are there batches to be followed? Else no coarse set goes farther than `ends`, or some set is open."""
        if not self.left and len(inner := self._inner()):
            self._follow(False, inner)
        return bool(self.left)

    def sides(self, piece: Piece) -> Sides:
        """The sets of a batch."""
        low, high = self._coarse if piece[0] else self._sets
        return low[piece[1]], high[piece[1]]

    def add(self, piece: Piece, ends: Ints, wrong: Bools) -> None:
        """Note how far the images of a batch go, (R, count), and which of its sets are open."""
        coarse, rows = piece
        if coarse:
            self._at = np.concatenate([self._at, rows])
            self._reach, self._wrong = np.concatenate([self._reach, ends]), np.concatenate([self._wrong, wrong])
        else:
            self.ends = np.maximum(self.ends, ends.max(0, initial=NOWHERE))
            self.open = np.concatenate([self.open, rows[wrong]])

    @property
    def bounds(self) -> Sides:
        """Least and greatest values, where ends are those in directions, then in their opposites."""
        high, low = np.split(self.ends, 2)
        return -low, high

    @property
    def none(self) -> bool:
        """Is there no image at all?"""
        return bool((self.ends == NOWHERE).all())

    def _inner(self) -> Ints:
        """The sets in coarse ones that are looked into next."""
        over = self._wrong | ((self._reach > self.ends).any(1) & (not len(self.open)))
        if int(over.sum()) > _ONCE:
            top = np.argpartition(-self._reach, min(_TOP, len(over) - 1), axis=0)[:_TOP].reshape(-1)
            first = np.zeros(len(over), dtype=bool)
            first[top] = first[np.flatnonzero(self._wrong)[:_ONCE]] = True
            over &= first
        rows, self._at, self._reach, self._wrong = (
            self._at[over],
            *(part[~over] for part in (self._at, self._reach, self._wrong)),
        )
        return np.concatenate([self._order[self._first[k] : self._first[k + 1]] for k in rows.tolist()] or [rows])

    def _follow(self, coarse: bool, rows: Ints) -> None:
        size = self._batch
        if helper() is not None:  # it may follow one of two batches
            size = min(size, max(_FEW, -(-len(rows) // 2)))
        self.left += [(coarse, rows[k : k + size]) for k in range(0, len(rows), size)]
