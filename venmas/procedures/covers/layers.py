"""Layers of a cover, the last ones of which are kept: from sets that are open back to cells that lead to them.

    some sets of a layer are open
        their cells, those of the sets before that reach them, and so on for some layers, are cut
        it goes on from the first of these layers

Counterexample-guided refinement (Clarke, Grumberg, Jha, Lu, Veith, CAV 2000) of cells.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from venmas.bounds.rounding import Ints
from venmas.checker.covers.grid import MOST_CHANGES, Cut
from venmas.checker.covers.paving import Marks, Other, Paving, among, marked, parts, paved, together

BATCH = 1024
"""Sets that are followed together."""
_BACK = 12
"""Layers that are kept."""
_FIRST = 3
"""Layers in which cells are cut the first time; twice as many each time that the same sets are open again."""
_DEEPEST = 6
"""Times that a cell is cut, at most."""
_SETS = 2000
"""Sets up to which units are halved in any case."""
_PATIENCE = 40
"""Layers besides as many as it took so far, after which nothing new is not worth more."""
_CELLS = 50_000
"""Cells that are cut, at most."""

Halved = tuple[int, ...]


class CoarseError(Exception):
    """A cover is too coarse. step: where; share: of the sets there that are open, 0 where these are too many."""

    def __init__(self, step: int, share: float = 0.0) -> None:
        super().__init__(f"a cover is too coarse after {step} steps")
        self.step, self.share = step, share


class Images(NamedTuple):
    """Boxes around what comes of sets. of: (R,), the set; low, high: (R, n)."""

    of: Ints
    low: Ints
    high: Ints


@dataclass
class Layer:
    """Sets that are followed. known: all that was reached so far, if what follows them has the same property; others:
    the same in units of before.

    marks: the cells that are cut at its step. todo: sets that are to be followed, in batches; left: those that are not
    yet. Of the others: images, and pavings around them; open: sets that are open.
    """

    step: int
    sets: Paving
    marks: Marks = field(default_factory=Marks)
    known: Paving | None = None
    others: tuple[Other, ...] = ()
    todo: Ints = field(default_factory=lambda: np.arange(0))
    left: deque[int] = field(default_factory=deque)
    images: list[Images] = field(default_factory=list)
    made: list[Paving] = field(default_factory=list)
    open: list[Ints] = field(default_factory=list)
    after: int = 0
    depth: int = 0
    """Step of the next layer, and how often cells are cut there."""

    def __post_init__(self) -> None:
        self.follows(np.arange(len(self.sets)))

    @property
    def size(self) -> int:
        """Number of sets."""
        return len(self.sets)

    def follows(self, rows: Ints) -> None:
        """These sets are to be followed, and no others."""
        self.todo, self.left = rows, deque(range(-(-len(rows) // BATCH)))

    def rows(self, number: int) -> Ints:
        """The sets of a batch."""
        return self.todo[number * BATCH : (number + 1) * BATCH]

    def takes(self, old: Layer, after: Marks) -> None:
        """Take what came of sets of an earlier layer for this step, where they are the same. after: cells that are cut
        in the next layer."""
        before, more = old.sets, self.marks.depth - old.marks.depth
        same = self.sets.found(Paving(before.cell, before.low << more, before.high << more))  # (R,), -1 for none
        same[np.isin(same, np.concatenate(old.open))] = -1
        place = np.full(len(before), -1)
        place[same[same >= 0]] = np.flatnonzero(same >= 0)
        image, more = old.all, after.depth - old.depth
        rows = np.flatnonzero(place[image.of] >= 0)
        self.images.append(Images(place[image.of[rows]], image.low[rows] << more, image.high[rows] << more))
        self.made.append(paved(*self.images[-1][1:], after))
        self.open.append(same[:0])
        self.follows(np.flatnonzero(same < 0))

    @property
    def all(self) -> Images:
        """Those of all sets."""
        return Images(*(np.concatenate(column) for column in zip(*self.images, strict=True)))

    def leading(self, cells: Ints, marks: Marks) -> Ints:
        """Sets that reach some of the cells of the next layer."""
        image, more = self.all, marks.depth - self.depth
        made = parts(image.low << more, image.high << more, marks)
        return np.unique(image.of[made.box[among(made.cell, cells)]])


@dataclass(frozen=True)
class Cells:
    """Cells that are cut from a step on, until units are halved. cell: as of a paving."""

    step: int
    cell: Ints

    def written(self) -> Cut:
        """The same as part of a certificate."""
        return Cut(self.step, tuple(map(tuple, self.cell.tolist())))


class Layers:
    """The last layers of a cover. wanted: how often units of the coordinates would be halved by each step, in all, to
    be as small beside what runs reach as at first; halved: how often they are, as far as it went."""

    def __init__(self, wanted: Sequence[Halved]) -> None:
        self._wanted = wanted
        self.halved: list[Halved] = [(0,) * len(wanted[0])]
        self._most = _SETS
        self.cuts: list[Cells] = []
        self._layers: deque[Layer] = deque()
        self._stuck, self._back, self._depth, self._share = -1, 0, 0, 0.0
        self._passes = self._farthest = self._since = 0
        """Layers so far, the last step, and how many it took to come there."""
        self._marks: dict[int, Marks] = {}
        self._old: dict[int, Layer] = {}
        """Layers that are made again."""

    @property
    def last(self) -> Layer:
        """The one that is followed."""
        return self._layers[-1]

    def begin(self, sets: Paving) -> None:
        """The first sets."""
        self._layers.append(Layer(0, sets))

    def halved_at(self, step: int) -> Halved:
        """Halvings by then."""
        return self.halved[min(step, len(self.halved) - 1)]

    def reaches(self, step: int) -> None:
        """Say how often units are halved by then: as long as sets do not become more than there were before."""
        last, wanted = list(self.halved[-1]), self._wanted[min(step, len(self._wanted) - 1)]
        self._most, size = max(self._most, self.last.size), self.last.size
        if step < len(self.halved):
            return
        less = list(map(int.__sub__, wanted, last))
        if 2 * size <= self._most and max(less) > 0:
            last[less.index(max(less))] += 1
        self.halved += [self.halved[-1]] * (step - len(self.halved)) + [tuple(last)]

    def units(self, step: int) -> Halved | None:
        """Units of coordinates at a step; those of the first sets are of their own kind."""
        return self.halved_at(step) if step else None

    def _smallest(self, step: int) -> Halved:
        """Halvings of the smallest units by then."""
        depth = self.marks(step).depth
        return tuple(h + depth for h in self.halved_at(step))

    def marks(self, step: int) -> Marks:
        """Cells that are cut at a step."""
        if step not in self._marks:
            self._marks[step] = marked(step, ((cut.step, cut.cell) for cut in self.cuts), self.units)
        return self._marks[step]

    def goes_on(self, step: int, counts: bool) -> bool:
        """The next layer; is any set new? counts: has what follows sets of this step the same property as before?"""
        before, marks = self.last, self.marks(step)
        made = together(before.made)
        before.made.clear()
        known, others, same = before.known, before.others, self.units(step) == self.units(before.step)
        # what is in a set of before is followed already, if all that comes after that set was looked at
        if known is None or not counts:
            fresh = known = made
        else:
            if not same:
                others = (*others, Other(known, before.marks.depth, self._smallest(before.step)))
            for other in others:
                made = made.outside(other, self._smallest(step))
            known, fresh = known.cut(before.marks, marks).joined(made) if same else (made, made)
        self._next(Layer(step, fresh, marks, known, others))
        return len(fresh) > 0

    def _next(self, layer: Layer) -> None:
        self._layers.append(layer)
        self._passes += 1
        if layer.step > self._farthest:
            self._farthest, self._since = layer.step, self._passes
        while len(self._layers) > _BACK:
            self._layers.popleft()
        old = self._old.pop(layer.step, None)
        if old is not None and old.images:
            layer.takes(old, self.marks(old.after))

    def _plan(self, step: int, share: float) -> bool:
        """Plan how far to go back, and how often to cut, where a share of the volume of cells is open: once more than
        for the last time. Does it help?"""
        if step != self._stuck:
            self._stuck, self._back, self._depth, self._share = step, _FIRST, 1, share
        elif self._back < _BACK:
            self._back *= 2
        elif share > self._share or self._depth == _DEEPEST:
            return False
        else:
            self._back, self._depth, self._share = _FIRST, self._depth + 1, share
        return True

    def back(self) -> bool:
        """Cut cells that lead to open sets, and go back to where they are; False where there is nothing to cut."""
        layers, rows = self._layers, np.unique(np.concatenate(self.last.open))
        weights = 0.5 ** (self.last.sets.cell[:, 0] * self.last.sets.low.shape[1])
        share = float(weights[rows].sum() / weights.sum())
        if self._passes > 2 * self._since + _PATIENCE or not self._plan(self.last.step, share):
            return False
        cells: dict[Halved | None, Cells] = {}
        at = last = len(layers) - 1
        while True:
            here = layers[at].sets.cell[rows]
            few = here[here[:, 0] < self._depth]
            if len(few):
                units = self.units(layers[at].step)
                known = cells.get(units)
                cells[units] = Cells(layers[at].step, few if known is None else np.concatenate([known.cell, few]))
            if not at or last - at + 1 == self._back:
                break
            at -= 1
            rows = layers[at].leading(here, layers[at + 1].marks)
        if not cells:  # they were cut as often before
            return self.back()
        every = [*self.cuts, *cells.values()]
        if sum(len(cut.cell) for cut in every) > _CELLS or len(every) > MOST_CHANGES:
            return False
        for cut in reversed(cells.values()):
            self.cuts.append(Cells(cut.step, np.unique(cut.cell, axis=0)))
        self.cuts.sort(key=lambda cut: cut.step)
        self._marks.clear()
        while layers and layers[-1].step >= min(cut.step for cut in cells.values()):
            old = layers.pop()
            self._old[old.step] = old
        marks = self.marks(old.step)
        reached = None if old.known is None else old.known.cut(old.marks, marks)
        self._next(Layer(old.step, old.sets.cut(old.marks, marks), marks, reached, old.others))
        return True
