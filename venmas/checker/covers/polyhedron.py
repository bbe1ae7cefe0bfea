"""Template polyhedra: sets ``low <= D y <= high`` of real vectors with integer bounds, and pavings of them.

Rows of D are the coordinates, then further directions, integers all of them (Sankaranarayanan, Sipma, Manna, VMCAI
2005). The box of a set is cut into cells by halving a cube of cells; of each part the box around what single bounds
leave of it is kept, rounded outward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from venmas.checker.covers.paving import SIDE, CrowdedError, Ints, Paving, Tick, unhurried

_PASSES = 2
"""Times that all bounds are looked at for a part."""
MOST_CELLS = 200_000
"""Cells of a polyhedron, at most, and of the cubes that these are halves of."""
MOST_AXES, MOST_DIRECTIONS, STEEPEST = 8, 128, 1 << 10
"""Coordinates and directions, at most, and the greatest entry of a direction."""
_FAR = 1 << 45
"""Greatest coordinate: 8 products with entries are less than 2^58, and so no sum that is made of them wraps, in parts
that have some of a set."""


@dataclass(frozen=True)
class Polyhedron:
    """A set ``low <= D y <= high``. directions: (m, n), those besides the coordinates; low, high: (n + m,)."""

    directions: Ints
    low: Ints
    high: Ints

    def paving(self, tick: Tick = unhurried, most: int = MOST_CELLS) -> Paving:
        """The cells that have some of it, as far as single bounds tell, with boxes around it.

        Raises `CrowdedError` where there are more than so many.
        """
        n = self.directions.shape[1]
        if max(-self.low[:n].min(), self.high[:n].max()) >= _FAR or max(-self.low.min(), self.high.max()) >= _FAR << 14:
            raise CrowdedError
        first = self.low[:n] // SIDE
        size = int((-(-self.high[:n] // SIDE) - first).max(initial=1))
        corners = np.indices((2,) * n).reshape(n, -1)
        cell, low, high = np.zeros((n, 1), dtype=np.int64), self.low[:n, None], self.high[:n, None]
        cut = [np.arange(1)] * len(self.directions)
        for level in range(max(0, size - 1).bit_length(), -1, -1):
            corner = ((cell << level) + first[:, None]) * SIDE
            low, high = np.maximum(low, corner), np.minimum(high, corner + (SIDE << level))
            cut = self._tightened(low, high, cut, tick)
            some = np.flatnonzero((low <= high).all(0))
            place = np.full(cell.shape[1], -1)
            place[some] = np.arange(len(some))
            cell, low, high = cell[:, some], low[:, some], high[:, some]
            if not level:
                break
            if len(some) << n > most << 3:
                raise CrowdedError
            cut = [_parts(at[at >= 0], n) for at in (place[at] for at in cut)]
            cell = (2 * cell[:, :, None] + corners[:, None]).reshape(n, -1)
            low, high = np.repeat(low, 1 << n, 1), np.repeat(high, 1 << n, 1)
        if len(some) > most:
            raise CrowdedError
        cell = cell + first[:, None]
        order = np.lexsort(cell[::-1])
        return Paving(np.insert(cell[:, order].T, 0, 0, 1), low[:, order].T, high[:, order].T)

    def _tightened(self, low: Ints, high: Ints, cut: Sequence[Ints], tick: Tick) -> list[Ints]:
        """Cut boxes, (n, R) twice, to what is around their points of it; those with none have low > high somewhere.

        cut: those that each direction may cut. Result: those that it still may.
        """
        # low only grows and high only shrinks: a part without any, whose sums may wrap then, stays one
        n, left = self.directions.shape[1], list(cut)
        for _ in range(_PASSES):
            for k, row in enumerate(self.directions):
                tick()
                left[k] = _cut(low, high, left[k], row, int(self.low[n + k]), int(self.high[n + k]))
        return left


def _parts(boxes: Ints, n: int) -> Ints:
    """The halves along each coordinate of boxes of some numbers."""
    return ((boxes[:, None] << n) + np.arange(1 << n)).reshape(-1)


def _cut(low: Ints, high: Ints, at: Ints, row: Ints, least: int, most: int) -> Ints:
    """Cut some of the boxes, (n, R) twice, to what is around their points with ``least <= row y <= most``.

    Result: those of them, or of parts of them, that may have others.
    """
    terms = [(axis, int(row[axis])) for axis in np.flatnonzero(row).tolist()]
    ends = {axis: (low[axis, at], high[axis, at]) for axis, _ in terms}
    under = sum((c * ends[axis][c < 0] for axis, c in terms), np.zeros(len(at), dtype=np.int64))
    over = sum((c * ends[axis][c > 0] for axis, c in terms), np.zeros(len(at), dtype=np.int64))
    some = np.flatnonzero((under < least) | (over > most))
    at, up, down = at[some], most - under[some], over[some] - least  # room above the least value, below the greatest
    for axis, c in terms if len(at) else ():
        a, b = ends[axis][0][some], ends[axis][1][some]
        if c > 0:
            high[axis, at], low[axis, at] = np.minimum(b, a - -up // c), np.maximum(a, b + -down // c)
        else:
            low[axis, at], high[axis, at] = np.maximum(a, b + -up // -c), np.minimum(b, a - -down // -c)
    return at
