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
    """Boxes ``low <= y <= high``, one a cell. cell, low, high: (R, n)."""

    cell: Ints
    low: Ints
    high: Ints

    def __len__(self) -> int:
        return len(self.cell)

    def rows(self, rows: Ints | Bools | slice) -> Paving:
        """Some of the boxes."""
        return Paving(self.cell[rows], self.low[rows], self.high[rows])

    def joined(self, other: Paving) -> tuple[Paving, Paving]:
        """A paving that covers both; and those of its boxes that are none of `self`."""
        if not len(other):
            return self, other
        one = together([self, other])
        both = np.concatenate([np.hstack(self.parts), np.hstack(one.parts)])
        _, first, count = np.unique(both, axis=0, return_index=True, return_counts=True)
        fresh = np.sort(first[(first >= len(self)) & (count == 1)]) - len(self)
        return one, one.rows(fresh)

    @property
    def parts(self) -> tuple[Ints, Ints, Ints]:
        """Cells, and the ends of their boxes."""
        return self.cell, self.low, self.high


def paved(low: Ints, high: Ints) -> Paving:
    """The paving around boxes ``low <= y <= high``, (R, n). Raises `CrowdedError`."""
    if not len(low):
        return Paving(low, low, high)
    first, last = low // SIDE, np.maximum((high - 1) // SIDE, low // SIDE)
    sizes = last - first + 1
    if sizes.astype(float).prod(1).sum() * low.shape[1] > _CUT:
        raise CrowdedError
    made: list[tuple[Ints, Ints, Ints]] = []
    kinds, which = np.unique(sizes, axis=0, return_inverse=True)
    for number, size in enumerate(kinds.tolist()):
        rows = np.flatnonzero(which.reshape(-1) == number)
        steps = np.indices(size).reshape(len(size), -1).T
        cell = first[rows, None] + steps
        corner = cell * SIDE
        within = np.maximum(low[rows, None], corner), np.minimum(high[rows, None], corner + SIDE)
        made.append((*(part.reshape(-1, low.shape[1]) for part in (cell, *within)),))  # type: ignore[arg-type]
    return _merged(*(np.concatenate(part) for part in zip(*made, strict=True)))


def together(pavings: Sequence[Paving]) -> Paving:
    """The paving around several. Raises `CrowdedError`."""
    made = _merged(*(np.concatenate(part) for part in zip(*(p.parts for p in pavings), strict=True)))
    if len(made) > _MOST:
        raise CrowdedError
    return made


def _merged(cell: Ints, low: Ints, high: Ints) -> Paving:
    """The hull of what is in each cell."""
    if not len(cell):
        return Paving(cell, low, high)
    least = cell.min(0)
    span = cell.max(0) - least + 1
    if span.astype(float).prod() > _ROOM:
        raise CrowdedError
    key = np.zeros(len(cell), dtype=np.int64)
    for axis, width in enumerate(span.tolist()):
        key = key * width + (cell[:, axis] - least[axis])
    order = np.argsort(key, kind="stable")
    start = np.flatnonzero(np.diff(key[order], prepend=-1))
    return Paving(cell[order[start]], np.minimum.reduceat(low[order], start), np.maximum.reduceat(high[order], start))
