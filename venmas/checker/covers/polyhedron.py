"""Template polyhedra: sets ``low <= D y <= high`` of real vectors with integer bounds, and pavings of them.

Rows of D are the coordinates, then further directions, integers all of them (Sankaranarayanan, Sipma, Manna, VMCAI
2005). The box of a set is cut into cells by halving a cube of cells; of each part the box around what single bounds
leave of it is kept, rounded outward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from venmas.checker.covers.paving import SIDE, Bools, CrowdedError, Ints, Paving, Tick, unhurried

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
        corners = np.indices((2,) * n).reshape(n, -1).T
        cell, low, high = np.zeros((1, n), dtype=np.int64), self.low[None, :n], self.high[None, :n]
        for level in range(max(0, size - 1).bit_length(), -1, -1):
            corner = ((cell << level) + first) * SIDE
            low, high = np.maximum(low, corner), np.minimum(high, corner + (SIDE << level))
            some, low, high = self._tightened(low, high, tick)
            cell, low, high = cell[some], low[some], high[some]
            if not level:
                break
            if len(cell) << n > most << 3:
                raise CrowdedError
            cell = (2 * cell[:, None] + corners).reshape(-1, n)
            low, high = np.repeat(low, 1 << n, 0), np.repeat(high, 1 << n, 0)
        if len(cell) > most:
            raise CrowdedError
        cell = cell + first
        order = np.lexsort(cell.T[::-1])
        return Paving(np.insert(cell[order], 0, 0, 1), low[order], high[order])

    def _tightened(self, low: Ints, high: Ints, tick: Tick) -> tuple[Bools, Ints, Ints]:
        """Boxes around it in some boxes, (R, n) twice, after those of them that have any of it."""
        # low only grows and high only shrinks: a part without any, whose sums may wrap then, stays one
        n, low, high = self.directions.shape[1], low.copy(), high.copy()
        for _ in range(_PASSES):
            for row, least, most in zip(self.directions, self.low[n:], self.high[n:], strict=True):
                tick()
                axes = np.flatnonzero(row)
                a, b = row[axes] * low[:, axes], row[axes] * high[:, axes]
                a, b = np.minimum(a, b), np.maximum(a, b)
                over, under = most - a.sum(1), b.sum(1) - least  # room above the least value, and below the greatest
                for j, axis in enumerate(axes):
                    up, down = over + a[:, j], b[:, j] - under  # row[axis] y is at most up, at least down
                    if row[axis] < 0:
                        up, down = -down, -up
                    c = abs(int(row[axis]))
                    high[:, axis] = np.minimum(high[:, axis], -(-up // c))
                    low[:, axis] = np.maximum(low[:, axis], down // c)
        return np.asarray((low <= high).all(1)), low, high
