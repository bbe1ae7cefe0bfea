"""Unions of boxes, those of one step: cutting along a grid, merging (join of the abstract domain), meeting another one.

What comes out of a cut is counted before anything is copied, and made in turns of a few MB, with a look at the limits
before each: large fresh arrays would cost more in the kernel than all that is done with them.

Boxes are closed and hold integer vectors. Those of the same grid cell are merged: along one coordinate, the *sweep*, to
a union of intervals, in the others to their hull. The grid need not divide the sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from venmas.bounds.rounding import Bools, Index, Ints
from venmas.budget import ask, room_mb

MAX_BOXES = 2_000_000
"""Boxes that are handled together, at most."""
MAX_EDGES = 8_000_000
"""Images of the boxes of one layer, at most, and parts that these are cut into."""
_NUMBERS = 2**25
"""Coordinates of the boxes that are handled together, at most: 0.5 GB. Only boxes of more than 16 are fewer for it."""
_TURN = 2**20
"""Coordinates of boxes that are handled in one turn."""
_BYTES = 48
"""For each coordinate of a box: both ends, and copies of them in between."""
_PAIRS = 1_000_000
"""Pairs of boxes that are compared at a time, in a few MB for each coordinate."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """B boxes: location (B,), low, high (B, n), and which formulas are asked there, wanted (B, F)."""

    location: Index
    low: Ints
    high: Ints
    wanted: Bools

    def __len__(self) -> int:
        return len(self.location)

    def take(self, index: Index | Bools | slice) -> Boxes:
        """Some of the boxes."""
        return Boxes(self.location[index], self.low[index], self.high[index], self.wanted[index])


def joined(parts: Sequence[Boxes]) -> Boxes:
    """One after the other."""
    if len(parts) == 1:
        return parts[0]
    return Boxes(
        np.concatenate([b.location for b in parts]),
        np.concatenate([b.low for b in parts]),
        np.concatenate([b.high for b in parts]),
        np.concatenate([b.wanted for b in parts]),
    )


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells: their sizes (n,), where one of them begins (n,), and the sweep coordinate; whether that has cells, too."""

    cell: Ints
    origin: Ints
    sweep: int
    swept: bool = False

    @property
    def cut(self) -> list[int]:
        """Coordinates that are cut."""
        return [i for i in range(len(self.cell)) if i != self.sweep or self.swept]


def check_count(count: float, size: int, most: int = MAX_BOXES) -> None:
    """Is there room for so many boxes of `size` coordinates? Raises `OverflowError` where not, before they are made."""
    numbers = count * max(size, 1)
    if count > most or numbers > _NUMBERS * (most / MAX_BOXES):
        raise OverflowError("too many boxes")
    if numbers > _TURN and numbers * _BYTES / 2**20 > room_mb():
        raise OverflowError(f"the memory limit leaves no room for {count:.0f} regions")


def at_once(size: int) -> int:
    """Boxes of `size` coordinates that are handled in one turn."""
    return max(1, _TURN // max(size, 1))


def turns(count: int, size: int) -> Iterator[slice]:
    """The rows 0 .. count-1 in turns, with a look at the limits before each."""
    for first in range(0, count, at_once(size)):
        ask()
        yield slice(first, min(count, first + at_once(size)))


def cuts(boxes: Boxes, grid: Grid) -> Iterator[tuple[Boxes, Index]]:
    """Cut boxes along the grid, in turns; for every part, which box it is from."""
    axes: list[tuple[int, Ints, Index]] = []
    total = np.ones(len(boxes))
    for at in grid.cut:
        size, start = grid.cell[at], grid.origin[at]
        first = (boxes.low[:, at] - start) // size
        count = (np.maximum(first, (boxes.high[:, at] - start - 1) // size) - first + 1).astype(np.intp)
        if not (count == 1).all():
            axes.append((at, first, count))
            total *= count
    if not axes:
        yield boxes, np.arange(len(boxes))
        return
    check_count(float(total.sum()), boxes.low.shape[1])
    each = total.astype(np.intp)
    ends = np.cumsum(each)
    for turn in turns(int(ends[-1]), boxes.low.shape[1]):
        begin, end = np.searchsorted(ends, [turn.start, turn.stop - 1], "right")
        origin = np.repeat(np.arange(begin, end + 1), each[begin : end + 1])
        skipped = turn.start - int(ends[begin] - each[begin])
        origin = origin[skipped : skipped + turn.stop - turn.start]
        rank = np.arange(turn.start, turn.stop) - (ends - each)[origin]
        parts = boxes.take(origin)
        for at, first, count in reversed(axes):  # parts differ first along the last one
            number = count[origin]
            above = rank // number
            low = (first[origin] + rank - above * number) * grid.cell[at] + grid.origin[at]
            np.maximum(parts.low[:, at], low, out=parts.low[:, at])
            np.minimum(parts.high[:, at], low + grid.cell[at], out=parts.high[:, at])
            rank = above
        yield parts, origin


def cut(boxes: Boxes, grid: Grid) -> tuple[Boxes, Index]:
    """All at once."""
    found = list(cuts(boxes, grid))
    return joined([parts for parts, _ in found]), np.concatenate([origin for _, origin in found])


def present(numbers: Index) -> Index:
    """The different numbers, in order, where they are small and not negative."""
    return np.flatnonzero(np.bincount(numbers))


def ranks(count: Index) -> Index:
    """0, 1, .., count[0]-1, 0, 1, .., count[1]-1, .."""
    total = np.arange(int(count.sum()))
    return total - np.repeat(np.cumsum(count) - count, count)


def bisect(sorted_: Ints, value: Ints, start: Index, stop: Index, side: str) -> Index:
    """As `numpy.searchsorted`, for each value within its own part [start, stop) of an array."""
    low, high = start.copy(), stop.copy()
    while (busy := np.flatnonzero(low < high)).size:
        middle = (low[busy] + high[busy]) // 2
        found, wanted = sorted_[middle], value[busy]
        below = found < wanted if side == "left" else found <= wanted
        low[busy[below]] = middle[below] + 1
        high[busy[~below]] = middle[~below]
    return low


def cells(boxes: Boxes, grid: Grid) -> Ints:
    """(B, n): location and grid cell of boxes that were cut."""
    parts = [boxes.location.astype(np.int64)]
    parts += [(boxes.low[:, at] - grid.origin[at]) // grid.cell[at] for at in grid.cut]
    # a part may begin where its cell ends only if it is a point there: then it counts for the cell it begins
    return np.stack(parts, 1)


def groups(keys: Ints) -> Index:
    """The place of each row of keys (B, n) among the different ones in their order."""
    if not len(keys):
        return np.zeros(0, dtype=np.intp)
    floor = keys.min(0)
    span = keys.max(0) - floor + 1
    if codable(span):
        return np.unique(code_of(keys, floor, span), return_inverse=True)[1]
    order = np.lexsort(keys.T[::-1])
    fresh = np.zeros(len(order), dtype=np.intp)
    fresh[1:] = (keys[order[1:]] != keys[order[:-1]]).any(1)
    group = np.empty(len(order), dtype=np.intp)
    group[order] = np.cumsum(fresh)
    return group


def distinct(keys: Ints) -> Ints:
    """The different rows of keys (B, n), in their order."""
    if not len(keys):
        return keys
    floor = keys.min(0)
    span = keys.max(0) - floor + 1
    if not codable(span):
        return np.unique(keys, axis=0)
    return keys[np.unique(code_of(keys, floor, span), return_index=True)[1]]  # many times as fast


def different(numbers: Ints) -> int:
    """Number of different ones."""
    ordered = np.sort(numbers)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + bool(len(ordered))


def codable(span: Ints) -> bool:
    """Do rows of keys with these spans have numbers of 64 bits?"""
    return float(np.prod(span.astype(float))) < 2.0**62


def code_of(keys: Ints, floor: Ints, span: Ints) -> Ints:
    """One number for each row of keys (B, n) in floor .. floor + span - 1, in their order."""
    code = np.zeros(len(keys), dtype=np.int64)
    for column in range(keys.shape[1]):
        code = code * span[column] + (keys[:, column] - floor[column])
    return code


def merge(boxes: Boxes, grid: Grid) -> tuple[Boxes, Index]:
    """Union of boxes that were cut; for every box, which one of the union holds it."""
    if not len(boxes):
        return boxes, np.zeros(0, dtype=np.intp)
    group = groups(cells(boxes, grid))
    start, end = boxes.low[:, grid.sweep], boxes.high[:, grid.sweep]
    base = int(start.min())
    width = int(end.max()) - base + 2
    if width * (int(group.max()) + 1) >= 2**62:
        raise OverflowError("coordinates of regions are too large")
    places = group * width - base
    order = np.argsort(places + start)
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (places + start)[order[1:]] > np.maximum.accumulate((places + end)[order])[:-1]
    first = np.flatnonzero(fresh)
    union = Boxes(
        boxes.location[order][first],
        np.minimum.reduceat(boxes.low[order], first, axis=0),
        np.maximum.reduceat(boxes.high[order], first, axis=0),
        np.logical_or.reduceat(boxes.wanted[order], first, axis=0),
    )
    holder = np.empty(len(order), dtype=np.intp)
    holder[order] = np.cumsum(fresh) - 1
    return union, holder


class Known:
    """Boxes of a layer in which something is still open, for looking up what of new boxes lies in them.

    They are the result of `merge` on `grid`, so that boxes of one cell do not overlap along the sweep.
    """

    def __init__(self, boxes: Boxes, grid: Grid) -> None:
        self.grid = grid
        keys = cells(boxes, grid) if len(boxes) else np.zeros((0, 1 + len(grid.cut)), dtype=np.int64)
        self._floor = keys.min(0) if len(boxes) else np.zeros(keys.shape[1], dtype=np.int64)
        self._span = keys.max(0) - self._floor + 1 if len(boxes) else np.ones(keys.shape[1], dtype=np.int64)
        if not codable(self._span):
            raise OverflowError("coordinates of regions are too large")
        code = code_of(keys, self._floor, self._span)
        order = np.lexsort((boxes.low[:, grid.sweep], code))
        self.boxes, self._codes = boxes.take(order), code[order]
        unique, first = np.unique(self._codes, return_index=True)
        self._unique, self._first = unique, np.append(first, len(order))

    def meet(self, boxes: Boxes) -> tuple[Boxes, Index]:
        """The parts of boxes that lie in known ones, asked for no more than those; of every part, which box it is from.

        Every state of a box that is in a known one and asked for a formula by both is in a part that asks for it. A
        part without width where its box has some is left out only where a wider one has it and asks for as much: what
        it asks for may be open in that known box alone, since paths that come together here need not have met before.
        """
        near, total = [], np.ones(len(boxes))
        for column, at in enumerate(self.grid.cut, 1):
            size = self.grid.cell[at]
            low, high = (ends[:, at] - self.grid.origin[at] for ends in (boxes.low, boxes.high))
            least, most = self._floor[column], self._floor[column] + self._span[column] - 1
            # neighbours that only touch are among them
            first, last = np.maximum((low - 1) // size, least), np.minimum(high // size, most)
            count = np.maximum(last - first + 1, 0).astype(np.intp)
            near.append((first, count))
            total *= count
        check_count(float(total.sum()), boxes.low.shape[1])
        ends, found, done = np.cumsum(total), [], 0
        while done < len(boxes):
            ask()
            before = ends[done - 1] if done else 0
            stop = max(done + 1, int(np.searchsorted(ends, before + at_once(boxes.low.shape[1]), "right")))
            few = slice(done, stop)
            parts, origin = self._meet(boxes.take(few), [(first[few], count[few]) for first, count in near])
            found.append((parts, origin + done))
            done = stop
        if not found:
            return boxes, np.arange(0)
        return joined([parts for parts, _ in found]), np.concatenate([origin for _, origin in found])

    def _meet(self, boxes: Boxes, near: list[tuple[Ints, Index]]) -> tuple[Boxes, Index]:
        """The same; near: along each coordinate that is cut, the first cell to look at, and how many."""
        origin = np.arange(len(boxes))
        candidates: list[Ints] = [boxes.location.astype(np.int64)]
        for first, count in near:
            number = count[origin]
            index = np.repeat(np.arange(len(origin)), number)
            candidates = [c[index] for c in candidates] + [first[origin][index] + ranks(number)]
            origin = origin[index]
        keys = np.stack(candidates, 1)
        inside = ((keys >= self._floor) & (keys < self._floor + self._span)).all(1)
        keys, origin = keys[inside], origin[inside]
        code = code_of(keys, self._floor, self._span)
        group = np.minimum(np.searchsorted(self._unique, code), max(0, len(self._unique) - 1))
        found = self._unique[group] == code if len(self._unique) else np.zeros(len(code), dtype=bool)
        group, origin = group[found], origin[found]
        # the known boxes of a cell follow each other along the sweep
        sweep = self.grid.sweep
        start, stop = self._first[group], self._first[group + 1]
        first = bisect(self.boxes.high[:, sweep], boxes.low[origin, sweep], start, stop, "left")
        count = bisect(self.boxes.low[:, sweep], boxes.high[origin, sweep], first, stop, "right") - first
        check_count(float(count.sum()), boxes.low.shape[1])
        index = np.repeat(np.arange(len(group)), count)
        other = first[index] + ranks(count)
        origin = origin[index]
        low = np.maximum(boxes.low[origin], self.boxes.low[other])
        high = np.minimum(boxes.high[origin], self.boxes.high[other])
        wanted = boxes.wanted[origin] & self.boxes.wanted[other]
        wide = boxes.high[origin] > boxes.low[origin]
        parts = Boxes(boxes.location[origin], low, high, wanted)
        keep = (high >= low).all(1) & wanted.any(1)
        thick = keep & ((high > low) | ~wide).all(1)
        keep[_held(parts, origin, np.flatnonzero(keep & ~thick), np.flatnonzero(thick))] = False
        return parts.take(keep), origin[keep]


def _held(parts: Boxes, origin: Index, thin: Index, thick: Index) -> Index:
    """Which thin parts a thick one of the same box holds and asks for as much; `origin` ascends."""
    first = np.searchsorted(origin[thick], origin[thin])
    count = np.searchsorted(origin[thick], origin[thin], "right") - first
    held = np.zeros(len(thin), dtype=bool)
    ends = np.cumsum(count)
    start = 0
    while start < len(thin):  # not too many pairs at once
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] - count[start] + _PAIRS)))
        few = np.repeat(np.arange(start, stop), count[start:stop])
        a, b = thin[few], thick[first[few] + ranks(count[start:stop])]
        inside = (parts.low[b] <= parts.low[a]) & (parts.high[a] <= parts.high[b])
        held[few[inside.all(1) & (parts.wanted[b] | ~parts.wanted[a]).all(1)]] = True
        start = stop
    return thin[held]
