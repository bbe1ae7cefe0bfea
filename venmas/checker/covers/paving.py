"""Pavings: sets of integer vectors as boxes, at most one a cell of a grid (subpavings after Jaulin et al., 2001).

Cells that are marked are cut into cells half as wide along each coordinate, some of which may be marked again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SIDE = 8
"""Units along the side of a cell: a box is rounded outward to one of them, in smaller cells to smaller ones."""
_CUT, _MOST = 12_000_000, 1_000_000
"""Coordinates of all parts that boxes are cut into at once, on all levels, and boxes of a paving."""
ROOM = 2.0**62
_FINER = 16
"""Halvings from units to others up to which pavings are compared: coordinates are less than 2^45."""

Tick: TypeAlias = Callable[[], object]
"""Ends work that takes seconds by an error, between its operations."""


def unhurried() -> None:
    """No end of the work."""


class CrowdedError(Exception):
    """Boxes are too wide for their grid."""


@dataclass(frozen=True)
class Marks:
    """Cells that are cut: of each level, (R, n), in cells of that level, which are 2^level a cell of level 0."""

    cells: tuple[Ints, ...] = ()

    @property
    def depth(self) -> int:
        """Levels of cells that are cut: coordinates are in units of 2^-depth of those of level 0."""
        return len(self.cells)

    def same(self, other: Marks) -> bool:
        """Are the same cells cut?"""
        return self.depth == other.depth and all(map(np.array_equal, self.cells, other.cells))

    def having(self, cells: Ints) -> Marks:
        """The same with more cells, (R, 1 + n), as of a paving."""
        made = list(self.cells)
        for level in range(int(cells[:, 0].max(initial=-1)) + 1):
            more = cells[cells[:, 0] == level, 1:]
            made[level : level + 1] = [np.concatenate([made[level], more])] if level < len(made) else [more]
        return Marks(tuple(made))


def marked(step: int, cuts: Iterable[tuple[int, Ints]], units: Callable[[int], Hashable]) -> Marks:
    """The cells that are cut at a step, from those of some steps on: as long as coordinates have the same units."""
    marks = Marks()
    for begin, cells in cuts:
        if begin <= step and units(begin) == units(step):
            marks = marks.having(cells)
    return marks


@dataclass(frozen=True)
class Paving:
    """Boxes ``low <= y <= high``, one a cell, cells in lexicographic order.

    cell: (R, 1 + n), its level, then its place among those of its level. low, high: (R, n), in the smallest units.
    """

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

    def found(self, other: Paving) -> Ints:
        """The place in another paving of each box, (R,); -1 where it has none that is the same."""
        if not len(self) or not len(other):
            return np.full(len(self), -1)
        at = _places(self.cell, other.cell)
        return np.where((other.low[at] == self.low).all(1) & (other.high[at] == self.high).all(1), at, -1)

    def outside(self, other: Other, halved: Sequence[int]) -> Paving:
        """Those of the boxes that are in no box of another paving. halved: as of that one, of the units at hand."""
        finer = np.subtract(halved, other.halved)
        if not len(self) or not len(other.paving) or np.abs(finer).max() > _FINER:
            return self
        up, down = np.maximum(finer, 0), np.maximum(-finer, 0)
        low, high, one = self.low << down, self.high << down, other.paving
        inside = np.zeros(len(self), dtype=bool)
        for level in range(other.depth + 1):
            at = _places(np.insert(low // (SIDE << other.depth - level << up), 0, level, 1), one.cell)
            inside |= (one.low[at] << up <= low).all(1) & (high <= one.high[at] << up).all(1)
        return self.rows(~inside)

    def cut(self, before: Marks, after: Marks) -> Paving:
        """The same boxes in cells of which more are cut."""
        more = after.depth - before.depth
        return self if after.same(before) else paved(self.low << more, self.high << more, after)


class Other(NamedTuple):
    """A paving in other units. depth: up to which cells are cut; halved: how often its smallest units were halved, of
    each coordinate."""

    paving: Paving
    depth: int
    halved: tuple[int, ...]


@dataclass
class Parts:
    """Parts of boxes in cells. box: (R,), which one it is of. cell, low, high: as of a paving."""

    box: Ints
    cell: Ints
    low: Ints
    high: Ints


def paved(low: Ints, high: Ints, marks: Marks = Marks(), tick: Tick = unhurried) -> Paving:
    """The paving around boxes ``low <= y <= high``, (R, n), in the smallest units. Raises `CrowdedError`."""
    made = parts(low, high, marks, tick)
    return _merged(*(list(a.T) for a in (made.cell, made.low, made.high)), tick=tick)


def parts(low: Ints, high: Ints, marks: Marks, tick: Tick = unhurried) -> Parts:
    """The parts of boxes in the cells that they meet, rounded outward to units of levels. Raises `CrowdedError`."""
    box, made, total = np.arange(len(low)), list[Parts](), 0
    for level in range(marks.depth + 1):
        fine = marks.depth - level
        at, cells, low, high = _cut(low, high, SIDE << fine, tick)
        box = box[at]
        here = among(cells, marks.cells[level]) if fine else np.zeros(len(cells), dtype=bool)
        if (total := total + cells.size - int(here.sum()) * cells[0:1].size) > _CUT:
            raise CrowdedError
        made.append(_of_level(level, fine, box, cells, low, high, ~here))
        box, low, high = box[here], low[here], high[here]
    if len(made) == 1:
        return made[0]
    return Parts(*(np.concatenate([getattr(p, n) for p in made]) for n in ("box", "cell", "low", "high")))


def _of_level(level: int, fine: int, box: Ints, cells: Ints, low: Ints, high: Ints, rows: Bools) -> Parts:
    """Those of the parts that are cut no further, rounded."""
    if not rows.all():
        box, cells, low, high = box[rows], cells[rows], low[rows], high[rows]
    if fine:
        low, high = low >> fine << fine, -(-high >> fine) << fine
    return Parts(box, np.array([np.full(len(cells), level), *cells.T]).T, low, high)


def among(cells: Ints, others: Ints) -> Bools:
    """Cells that are some of the others: (R,)."""
    if not len(others) or not len(cells):
        return np.zeros(len(cells), dtype=bool)
    keys = _keys(list(np.concatenate([cells, others]).T))
    return np.isin(keys[: len(cells)], keys[len(cells) :])


def _places(cells: Ints, others: Ints) -> Ints:
    """The place of each cell among others in lexicographic order, (R,); -1 where it is none of them."""
    keys = _keys(list(np.concatenate([cells, others]).T))
    keys, known = keys[: len(cells)], keys[len(cells) :]
    at = np.minimum(np.searchsorted(known, keys), len(others) - 1)
    return np.where(known[at] == keys, at, -1)


def _cut(low: Ints, high: Ints, side: int, tick: Tick) -> tuple[Ints, Ints, Ints, Ints]:
    """Parts of boxes in cells of a width: which boxes they are of, cells, and ends. Raises `CrowdedError`."""
    if not len(low):
        return np.arange(0), low, low, high
    firsts, sizes = spans(low, high, side)
    count = np.prod(sizes, axis=0)
    box = np.repeat(np.arange(len(low)), count)
    place = np.arange(len(box)) - np.repeat(np.cumsum(count) - count, count)  # of a part among those of its box
    cells, lows, highs = [], [], []
    ends = [(np.ascontiguousarray(a), np.ascontiguousarray(b)) for a, b in zip(low.T, high.T, strict=True)]
    for (a, b), first, size in zip(ends, firsts, sizes, strict=True):
        tick()
        place, step = np.divmod(place, size[box])
        cells.append(first[box] + step)
        corner = cells[-1] * side
        lows.append(np.maximum(a[box], corner))
        highs.append(np.minimum(b[box], corner + side))
    return box, np.array(cells).T, np.array(lows).T, np.array(highs).T  # by columns


def spans(low: Ints, high: Ints, side: int) -> tuple[list[Ints], list[Ints]]:
    """The first cell that each box meets, and the number of cells, by coordinate: n times (R,).

    Raises `CrowdedError` where parts of boxes in cells are too many.
    """
    firsts = [a // side for a in low.T]
    sizes = [np.maximum((b - 1) // side, a) - a + 1 for a, b in zip(firsts, high.T, strict=True)]
    if np.prod(np.array(sizes, dtype=float), axis=0).sum() * len(sizes) > _CUT:
        raise CrowdedError
    return firsts, sizes


def together(pavings: Sequence[Paving]) -> Paving:
    """The paving around several. Raises `CrowdedError`."""
    made = _merged(*(list(np.concatenate([getattr(p, n) for p in pavings]).T) for n in ("cell", "low", "high")))
    if len(made) > _MOST:
        raise CrowdedError
    return made


def _merged(cells: Sequence[Ints], lows: Sequence[Ints], highs: Sequence[Ints], *, tick: Tick = unhurried) -> Paving:
    """The hull of what is in each cell, from boxes by coordinate: n times (R,)."""
    tick()
    keys = _keys(cells)
    order = np.argsort(keys)
    tick()
    start = np.flatnonzero(np.diff(keys[order], prepend=-1))
    cell = np.stack([c[order[start]] for c in cells], 1)
    if not len(start):
        return Paving(cell, np.array(lows).T, np.array(highs).T)
    low = np.stack([np.minimum.reduceat(c[order], start) for c in lows], 1)
    return Paving(cell, low, np.stack([np.maximum.reduceat(c[order], start) for c in highs], 1))


def numbered(cells: Ints) -> Ints:
    """A number of each cell, (R,), the same for the same ones: 0, 1, .. in lexicographic order."""
    return np.unique(_keys(list(cells.T)), return_inverse=True)[1]


def _keys(cells: Sequence[Ints]) -> Ints:
    """A number for each cell, (R,), in lexicographic order."""
    keys, room = np.zeros(len(cells[0]), dtype=np.int64), 1.0
    for column in cells if len(keys) else ():
        least = int(column.min())
        width = int(column.max()) - least + 1
        room *= width
        if room > ROOM:
            raise CrowdedError
        keys = keys * width + (column - least)
    return keys
