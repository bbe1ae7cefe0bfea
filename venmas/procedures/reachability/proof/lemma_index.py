"""Index of lemmas: refuted regions of a graph, and which of them cover a box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from venmas.bounds.rounding import Bools, Index, Ints
from venmas.logic import Formula
from venmas.procedures.hybrid.boxes import Boxes, Known, joined, ranks
from venmas.procedures.reachability.graph.graph import Graph
from venmas.procedures.reachability.graph.split import Pieces


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


@dataclass(frozen=True)
class Key:
    """A lemma: step, region, and position of the formula in its stage."""

    step: int
    region: int
    formula: int


class Cover:
    """Looks up refuted regions of all passes of a graph that kept its past."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._regions: dict[int, Regions] = {}
        self._rows: dict[tuple[int, int, int], Index] = {}
        self._pieces: dict[tuple[int, int], Index] = {}

    def regions(self, step: int) -> Regions:
        """Those of a step."""
        if step not in self._regions:
            self._regions[step] = Regions.of(self.graph, step)
        return self._regions[step]

    def find(
        self, step: int, formula: Formula, integers: tuple[int, ...], low: Ints, high: Ints
    ) -> list[tuple[Key, Ints, Ints]] | None:
        """Regions of a step in which `formula` is refuted and which cover the box, with their boxes."""
        number = self.graph.space.known(integers)
        stage = self.graph.stages[step]
        if number is None or formula not in stage.formulas:
            return None
        f, regions = stage.formulas.index(formula), self.regions(step)
        if (step, number, f) not in self._rows:
            self._rows[step, number, f] = np.flatnonzero((regions.where == number) & regions.refuted[:, f])
        rows = self._rows[step, number, f]
        wide = high > low
        a, b = np.maximum(regions.low[rows], low), np.minimum(regions.high[rows], high)
        near = rows[np.where(wide, b > a, b >= a).all(1)]
        found = [(Key(step, int(r), f), regions.low[r], regions.high[r]) for r in near]
        return found if _covered(low, high, [(a, b) for _, a, b in found]) else None

    def piece(self, pieces: Pieces, node: int, low: Ints, high: Ints) -> tuple[int | None, tuple[int, int] | None]:
        """The piece of a node that contains a box, or where to cut the box: coordinate and place."""
        key = (id(pieces), node)
        if key not in self._pieces:
            self._pieces[key] = np.flatnonzero(pieces.node == node)
        rows = self._pieces[key]
        a, b = pieces.boxes.low[rows], pieces.boxes.high[rows]
        inside = ((a <= low) & (high <= b)).all(1)
        if inside.any():
            return int(rows[inside.argmax()]), None
        wide = high > low
        meets = np.where(wide, np.minimum(b, high) > np.maximum(a, low), (b >= low) & (a <= high)).all(1)
        a, b = a[meets], b[meets]
        for at in np.flatnonzero(wide):
            places = np.unique(np.concatenate([a[:, at], b[:, at]]))
            places = places[(places > low[at]) & (places < high[at])]
            middle = (low[at] + high[at]) // 2
            for where in places[np.argsort(np.abs(places - middle), kind="stable")]:
                if not ((a[:, at] < where) & (where < b[:, at])).any():
                    return None, (int(at), int(where))
        return None, None


def _covered(low: Ints, high: Ints, boxes: list[tuple[Ints, Ints]]) -> bool:
    """Do closed boxes cover a box?"""
    waiting = [(low, high, 0)]
    while waiting:
        low, high, first = waiting.pop()
        wide = high > low
        for index in range(first, len(boxes)):
            a, b = np.maximum(boxes[index][0], low), np.minimum(boxes[index][1], high)
            if np.where(wide, b > a, b >= a).all():
                break
        else:
            return False
        for at in np.flatnonzero(wide):  # what sticks out on either side, one coordinate after the other
            if low[at] < a[at]:
                end = high.copy()
                end[at] = a[at]
                waiting.append((low, end, index + 1))
            if b[at] < high[at]:
                start = low.copy()
                start[at] = b[at]
                waiting.append((start, high, index + 1))
            low, high = low.copy(), high.copy()
            low[at], high[at] = a[at], b[at]
    return True
