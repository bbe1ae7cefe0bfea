"""Trees of midpoints that cut regions into cells."""

from __future__ import annotations

import numpy as np

from venmas.bounds.rounding import Bools, Index, Ints


class Tree:
    """Boxes cut at midpoints: a forest, whose first nodes are its roots."""

    def __init__(self, low: Ints, high: Ints) -> None:
        self.low, self.high, self.roots = low, high, len(low)
        self.root = np.arange(len(low))
        self.axis = np.full(len(low), -1, dtype=np.int64)
        self.child = np.full(len(low), -1, dtype=np.intp)

    def cut(self, nodes: Index, axis: Index) -> Index:
        """Cut leaves; the first halves, each followed by its second."""
        first = len(self.low) + 2 * np.arange(len(nodes))
        self.axis[nodes], self.child[nodes] = axis, first
        low, high = np.repeat(self.low[nodes], 2, axis=0), np.repeat(self.high[nodes], 2, axis=0)
        at, rows = axis, 2 * np.arange(len(nodes))
        middle = (low[rows, at] + high[rows, at]) >> 1
        high[rows, at] = middle
        low[rows + 1, at] = middle
        self.low, self.high = np.concatenate([self.low, low]), np.concatenate([self.high, high])
        self.root = np.concatenate([self.root, np.repeat(self.root[nodes], 2)])
        self.axis = np.concatenate([self.axis, np.full(2 * len(nodes), -1, dtype=np.int64)])
        self.child = np.concatenate([self.child, np.full(2 * len(nodes), -1, dtype=np.intp)])
        return first

    def follow(self, low: Ints, high: Ints, of: Index) -> None:
        """Cut roots as pieces (low, high, root) of them were cut, as far as that was at midpoints."""
        while len(of):
            order = np.argsort(of, kind="stable")
            low, high, of = low[order], high[order], of[order]
            start = np.flatnonzero(np.diff(of, prepend=-1))
            nodes = of[start]
            middle = (self.low[of] + self.high[of]) >> 1
            left, right = high <= middle, low >= middle
            apart = np.logical_and.reduceat(left | right, start) & ~np.logical_and.reduceat(left, start)
            apart &= ~np.logical_and.reduceat(right, start)
            able: Bools = np.asarray(apart.any(1))
            axis = apart.argmax(1)
            first = np.full(len(nodes), -1, dtype=np.intp)
            first[able] = self.cut(nodes[able], axis[able])
            group = np.repeat(np.arange(len(nodes)), np.diff(start, append=len(of)))
            keep = able[group]
            side = ~left[np.arange(len(of)), axis[group]]
            of = (first[group] + side)[keep]
            low, high = low[keep], high[keep]

    def leaves(self, roots: Index) -> tuple[list[Ints], Index]:
        """The splits of some roots, level by level (see `venmas.checker.goals.listing.cells`), and their leaves in
        order."""
        levels, found, nodes = [], [np.zeros(0, dtype=np.intp)], roots
        while len(nodes):
            axis = self.axis[nodes]
            levels.append(axis + 1)
            found.append(nodes[axis < 0])
            first = self.child[nodes[axis >= 0]]
            nodes = np.stack([first, first + 1], 1).reshape(-1)
        return levels, np.concatenate(found)
