"""Refuted regions of a graph, and the trees of midpoints that cut them into cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from venmas.bounds.rounding import Bools, Index, Ints
from venmas.search.regions.graph.graph import Graph
from venmas.search.regions.graph.split import Pieces
from venmas.search.space.boxes import Boxes, Known, joined, ranks


@dataclass(eq=False)
class Regions:
    """The regions of a step in which something is refuted, of all passes: R of them.

    A node is the hull of parts that meet what the pass before left open, so that it may hold more than these: what a
    pass shows of a node is shown of the states that all passes before left open, and regions are nodes cut to those.

    keys: of each, pass and node. where: their locations. refuted (R, F): which formulas of the stage. pieces, low and
    high, and the region that each is a part of.
    """

    keys: list[tuple[int, int]]
    where: Index
    low: Ints
    high: Ints
    refuted: Bools
    piece_low: Ints
    piece_high: Ints
    piece_of: Index

    @staticmethod
    def of(graph: Graph, step: int) -> Regions:
        """Those of a graph that kept its past. Raises `OverflowError` for too many."""
        keys: list[tuple[int, int]] = []
        parts, pieces = [], []
        before: list[Known] = []
        for turn, layers in enumerate(graph.past):
            if step >= len(layers):
                break
            layer = layers[step]
            nodes = layer.nodes
            refuted = Boxes(nodes.location, nodes.low, nodes.high, nodes.wanted & ~layer.may)
            node = np.flatnonzero(refuted.wanted.any(1))
            regions = refuted.take(node)
            for known in reversed(before):
                regions, origin = known.meet(regions)
                node = node[origin]
            kept = _widest(regions, node)
            regions, node = regions.take(kept), node[kept]
            if layer.pieces is not None:
                low, high, of = _cut(layer.pieces, regions, node)
                pieces.append((low, high, of + len(keys)))
            keys += [(turn, int(n)) for n in node]
            parts.append(regions)
            before.append(layer.known())
        if not pieces:
            none = np.zeros((0, len(graph.space.reals)), dtype=np.int64)
            pieces = [(none, none, np.zeros(0, dtype=np.intp))]
        every = joined(parts)
        cut = [np.concatenate(column) for column in zip(*pieces, strict=True)]
        return Regions(keys, every.location, every.low, every.high, every.wanted, *cut)


def _widest(regions: Boxes, node: Index) -> Index:
    """Regions that no other one of the same node holds, which is refuted as well; `node` ascends."""
    first, last = np.searchsorted(node, node), np.searchsorted(node, node, "right")
    kept = np.ones(len(node), dtype=bool)
    for i in np.flatnonzero(last - first > 1).tolist():
        others = np.arange(first[i], last[i])
        others = others[(others != i) & kept[others]]
        holds = (regions.low[others] <= regions.low[i]).all(1) & (regions.high[i] <= regions.high[others]).all(1)
        kept[i] = not (holds & (regions.wanted[others] | ~regions.wanted[i]).all(1)).any()
    return np.flatnonzero(kept)


def _cut(pieces: Pieces, regions: Boxes, node: Index) -> tuple[Ints, Ints, Index]:
    """The pieces of nodes cut to regions of these: low, high, and the region of each."""
    order = np.argsort(pieces.node, kind="stable")
    first = np.searchsorted(pieces.node[order], node)
    count = np.searchsorted(pieces.node[order], node, "right") - first
    rows, of = order[np.repeat(first, count) + ranks(count)], np.repeat(np.arange(len(node)), count)
    low, high = (
        np.maximum(pieces.boxes.low[rows], regions.low[of]),
        np.minimum(pieces.boxes.high[rows], regions.high[of]),
    )
    kept = ((high > low) | (high == low) & (regions.high == regions.low)[of]).all(1)
    return low[kept], high[kept], of[kept]


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
        """The splits of some roots, level by level (see `venmas.checker.listing.cells`), and their leaves in order."""
        levels, found, nodes = [], [np.zeros(0, dtype=np.intp)], roots
        while len(nodes):
            axis = self.axis[nodes]
            levels.append(axis + 1)
            found.append(nodes[axis < 0])
            first = self.child[nodes[axis >= 0]]
            nodes = np.stack([first, first + 1], 1).reshape(-1)
        return levels, np.concatenate(found)
