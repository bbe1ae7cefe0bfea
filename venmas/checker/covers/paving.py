"""Pavings: sets of integer vectors as boxes, at most one a cell of a grid (subpavings after Jaulin et al., 2001)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SIDE = 8
"""Units along the side of a cell: a box is rounded outward to one of them."""
_CUT, _MOST = 12_000_000, 1_000_000
"""Coordinates of all parts that boxes are cut into at once, and boxes of a paving."""
_ROOM = 2.0**62


class CrowdedError(Exception):
    """Boxes are too wide for their grid."""


@dataclass(frozen=True)
class Paving:
    """Boxes ``low <= y <= high``, one a cell, cells in lexicographic order. cell, low, high: (R, n)."""

    cell: Ints
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.cell)

    def rows(self, rows: Ints | Bools | slice) -> Paving:
        """Some of the boxes, in order."""
        return Paving(self.cell[rows], self.low[rows], self.high[rows])

    def joined(self, other: Paving) -> tuple[Paving, Paving]:
        """A paving that covers both; and those of its boxes that are none of `self`."""
        if not len(other):
            return self, other
        one = together([self, other])
        keys = _keys(list(np.concatenate([one.cell, self.cell]).T))  # cells of self are among those of both
        here = np.searchsorted(keys[: len(one)], keys[len(one) :])
        fresh = np.ones(len(one), dtype=bool)
        fresh[here] = ((one.low[here] != self.low) | (one.high[here] != self.high)).any(1)
        return one, one.rows(fresh)


def paved(low: Ints, high: Ints) -> Paving:
    """The paving around boxes ``low <= y <= high``, (R, n). Raises `CrowdedError`."""
    if not len(low):
        return Paving(low, low, high)
    ends = [(np.ascontiguousarray(a), np.ascontiguousarray(b)) for a, b in zip(low.T, high.T, strict=True)]
    sizes = [np.maximum((b - 1) // SIDE, a // SIDE) - a // SIDE + 1 for a, b in ends]
    if np.prod(np.array(sizes, dtype=float), axis=0).sum() * len(sizes) > _CUT:
        raise CrowdedError
    count = np.prod(sizes, axis=0)
    box = np.repeat(np.arange(len(low)), count)
    place = np.arange(len(box)) - np.repeat(np.cumsum(count) - count, count)  # of a part among those of its box
    cells, lows, highs = [], [], []
    for (a, b), size in zip(ends, sizes, strict=True):
        place, step = np.divmod(place, size[box])
        cells.append((a // SIDE)[box] + step)
        corner = cells[-1] * SIDE
        lows.append(np.maximum(a[box], corner))
        highs.append(np.minimum(b[box], corner + SIDE))
    return _merged(cells, lows, highs)


def together(pavings: Sequence[Paving]) -> Paving:
    """The paving around several. Raises `CrowdedError`."""
    made = _merged(*(list(np.concatenate([getattr(p, n) for p in pavings]).T) for n in ("cell", "low", "high")))
    if len(made) > _MOST:
        raise CrowdedError
    return made


def _merged(cells: Sequence[Ints], lows: Sequence[Ints], highs: Sequence[Ints]) -> Paving:
    """The hull of what is in each cell, from boxes by coordinate: n times (R,)."""
    keys = _keys(cells)
    order = np.argsort(keys)
    start = np.flatnonzero(np.diff(keys[order], prepend=-1))
    cell = np.stack([c[order[start]] for c in cells], 1)
    if not len(start):
        return Paving(cell, cell, cell)
    low = np.stack([np.minimum.reduceat(c[order], start) for c in lows], 1)
    return Paving(cell, low, np.stack([np.maximum.reduceat(c[order], start) for c in highs], 1))


def _keys(cells: Sequence[Ints]) -> Ints:
    """A number for each cell, (R,), in lexicographic order."""
    keys, room = np.zeros(len(cells[0]), dtype=np.int64), 1.0
    for column in cells if len(keys) else ():
        least = int(column.min())
        width = int(column.max()) - least + 1
        room *= width
        if room > _ROOM:
            raise CrowdedError
        keys = keys * width + (column - least)
    return keys
