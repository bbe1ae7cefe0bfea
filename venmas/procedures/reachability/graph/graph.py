"""Abstract reachability graph over boxes, refined layer by layer, and bounded CTL labelling of what may hold on it.

Invariant: layer t covers every state that is reachable in t steps and matters there by boxes, its nodes. A *pass*
builds the layers forward (abstract post-image, `step`) and then labels them backward with the formulas that may hold
in some state of a node: EX by any move, AX by all. What no root may meet is refuted: bounds are rigorous, so that
this is a proof. Otherwise the next pass looks, with finer cells, only at regions in which something was still open
(counterexample-guided abstraction refinement, CEGAR).

Paths that meet in the same integers, and whose reals overlap, are one node: the number of nodes grows with the size of
the reachable set, not with the number of paths.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Bools, Floats, Ints
from venmas.logic import AX, EX, FALSE, Formula
from venmas.logic.stages import Stage, agenda
from venmas.procedures.hybrid.boxes import MAX_EDGES, Boxes, Grid, Known, check_count, cuts, different, joined, merge
from venmas.procedures.hybrid.frames import MAX_COORDINATE, check_size
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.graph.figures import Regions
from venmas.procedures.reachability.graph.split import Pieces
from venmas.procedures.reachability.graph.step import Moves, advance, classify, ended

# Tuning: no value here can make an answer wrong, only late. They were found on VerticalCAS: what halving and doubling
# them does there is told beside them, of cells (20, k up to 10), 800 ft of altitude (k = 20), and that with 90 ft/s of
# climb rate (k = 25).
DISTINCT = 256
"""Values of a coordinate that the first pass keeps apart in one layer: more make nodes, fewer merge what is far apart.
A quarter costs two thirds more time on 800 ft of altitude, four times as many change nothing."""
_FIRST_CELLS = 8
"""Cells of the grid along a wide side of the root in the first pass that is not rough: more keep nodes apart, fewer
merge. Half as many cost a fourth more time on the widest, twice as many a tenth."""
_FIRST_PIECES = 32
"""Pieces that a wide side of the root may be cut into by then: more decide choices in one pass, fewer leave it sooner.
Half as many cost two thirds more time on the widest at k = 25 and 12, and with tau from 20 to 30 s a third more;
violations there at k = 8 and 10 come a third sooner then, by 0.1 s. Cells do not tell the two apart."""
_ROUGH = 4
"""By how much the rough pass is coarser than that: it has to be cheap, and still to tell the sides apart."""
_MANY_WIDE = 8
"""Wide sides of the root from which on the rough pass has one cell along each: two would make 2^n of them, and most
sides of so many, such as the noise of later steps, do not matter yet."""
_MOST_SWEPT = 10_000
"""Open boxes of a layer up to which cells along the sweep are tried: they help where AX fails by different moves, and
multiply the nodes of a large layer."""
_SAMPLE, _PROPORTIONS = 64, (1 / 64, 4)
"""Boxes by which it is told what a coordinate counts for beside the sweep, and how much of that is believed: a sample
is cheap, and may miss where a coordinate matters."""
_FINER, _TILE, _SPREAD = 6, 250_000, 1.5
"""How many more pieces the next pass has than the rough one in as many cells of a coordinate, from how many on the
root is cut along it, and how much wider than the root the states of a step may be then: tiles keep several processes
busy, and look twice at what is reached from two of them."""
_IMAGES = 32_768
"""Images that are cut and merged at a time: what fits into the cache is merged in a third of the time, and what is in
two turns is merged once more. A quarter and four times as many cost at most a tenth more there."""
MOST_PIECES = 4_000_000
"""Pieces of one pass, at most, which take some 1.3 GB."""


@dataclass(eq=False)
class Layer:
    """One step of the graph: its N nodes; after a pass `may` (N, F) tells which formulas may hold in some state of one.

    With the P pieces that nodes were cut into, their moves, and the parts that their images come to in the next layer.
    """

    nodes: Boxes
    grid: Grid
    may: Bools
    atoms: Bools
    """Which atoms of the stage may hold in some state of a node, (N, A)."""
    pieces: Pieces | None = None
    piece_atoms: Bools | None = None
    piece_may: Bools | None = None
    piece_truth: dict[Formula, Bools] = field(default_factory=dict)
    """Which parts of the stage's formulas may hold in some state of a piece, (P,)."""
    moves: Moves | None = None
    part_move: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    """Images come to parts, each in one node of the next layer: the move of every part, ..."""
    part_node: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    """... its node, ..."""
    part_wanted: Bools | None = None
    """... and which formulas are asked there, (parts, F)."""

    def known(self) -> Known:
        """The nodes in which something may hold, asked for that only."""
        open_ = np.flatnonzero(self.may.any(1))
        nodes = self.nodes.take(open_)
        return Known(Boxes(nodes.location, nodes.low, nodes.high, self.may[open_]), self.grid)


class Graph:
    """Abstract reachability graph of a system for the core formula `target`.

    keep: keep the layers of every pass. root: a part of the initial set that alone is looked at. weights: what a rough
    pass over more than that has told (see `tiles`), so that there is none here. apart: only what is the same is merged,
    and a pass may have so many pieces.
    """

    def __init__(
        self,
        space: Space,
        target: Formula,
        tick: Callable[[], None],
        keep: bool = False,
        root: Boxes | None = None,
        weights: Sequence[Floats] = (),
        apart: int | None = None,
    ) -> None:
        self.space, self.target, self.tick, self.keep = space, target, tick, keep
        self._apart, self._most = apart is not None, MOST_PIECES if apart is None else apart
        self.past: list[list[Layer]] = []
        """The layers of all passes, the last one included, where they are to be kept for a proof."""
        self.stages: list[Stage] = agenda(target)
        self.counts = Regions()
        self.may_leave_box = self.may_deadlock = False
        """In some pass: the next one looks no more at regions in which nothing is open, but runs go there."""
        self.layers: list[Layer] = []
        self._cells: list[Ints] = []
        self._origins: list[Ints] = []
        self.root = root = space.root() if root is None else root
        spread = (root.high.max(0) - root.low.min(0)) if len(root) else np.ones(len(space.reals), dtype=np.int64)
        self.sweep = int(spread.argmax())
        self._universal = any(isinstance(f, AX) and f.operand != FALSE for s in self.stages for f in s.steps)
        """Is AX asked? It may fail by one move here and by another there, which unions along the sweep do not tell."""
        self._side = (root.high - root.low).max(0) if len(root) else spread
        self._weights = list(weights)
        """By layer and coordinate, what sides of the root do to open choices, in proportion to that of the sweep."""
        # where several sides are wide, a rough pass tells what each of them counts for
        self._level, self.rough = -1, bool((self._side > 0).sum() > 1 and not weights)
        self._counted, self._pieces, self.grows = 0, 0, False
        """Pieces before the last pass, and in it; were they fewer in the one before, so that there is no end?"""

    def refine(self) -> bool:
        """One pass, finer than the last; True when no initial state can meet the target."""
        return ended(self.passing(), self.tick)

    def passing(self) -> Generator[None, None, bool]:
        """The same with pauses, after each of which it may be gone on with."""
        if self.rough and self._level == 0:  # it was there to be learnt from: begin again
            self.rough, self._level, self._pieces = False, -1, 0
            self.may_leave_box = self.may_deadlock = False
            self._cells.clear()
            self._origins.clear()
            self.layers.clear()
            self.past.clear()
        known, self._counted = [layer.known() for layer in self.layers], self.counts.pieces
        self._level += 1
        self.counts.passes += 1
        self.layers = []
        images = self.root
        for step, stage in enumerate(self.stages):
            yield
            if known and step >= len(known):
                break  # the pass before left nothing open so late
            layer = self._gather(images, known[step] if known else None, step)
            self.layers.append(layer)
            if step + 1 == len(self.stages) or not len(layer.nodes):
                break
            found = yield from self._expand(layer, stage, step)
            if found is None:
                break
            images = found
        self._evaluate()
        pieces = self.counts.pieces - self._counted
        self._pieces, self.grows = pieces, 0 < self._pieces < pieces
        if self.keep:
            self.past.append(self.layers)
        return not self.layers[0].may.any()

    def add(self, counts: Regions, may_leave_box: bool, may_deadlock: bool) -> None:
        """Count what was done for a part of the root, and remember what runs from there may do."""
        self.counts.nodes += counts.nodes
        self.counts.pieces += counts.pieces
        self.counts.passes = max(self.counts.passes, counts.passes)
        self.may_leave_box |= may_leave_box
        self.may_deadlock |= may_deadlock

    def tiles(self) -> tuple[list[Boxes], list[Floats]]:
        """After the rough pass, the root in parts that are better taken one by one, and weights for them; else none.

        It is cut along a coordinate in which states do not spread, so that what is reached from parts does not overlap,
        and as finely as cells will be there, so that there are not many more pieces.
        """
        spread = [layer.nodes.high.max(0) - layer.nodes.low.min(0) for layer in self.layers if len(layer.nodes)]
        if not self.rough or not spread:
            return [], []
        side = np.maximum(self._side, 1).astype(float)
        grown = np.where(self._side > 0, np.max(spread, axis=0) / side, np.inf)
        at = int(grown.argmin())
        rough = self._cells[0][at]
        cell = _power(int(side[at] / self._fine(_FIRST_CELLS, 0, ahead=True)[at]))
        count = -(-int(side[at]) // cell)
        pieces = _FINER * self.counts.pieces * count / -(-int(side[at]) // rough)
        if grown[at] > _SPREAD or count == 1 or pieces <= _TILE:
            return [], []
        low, width = self.root.low, self.root.high[:, at] - self.root.low[:, at]
        found = []
        for i in range(count):
            part = self.root.take(np.arange(len(low)))
            part.low[:, at], part.high[:, at] = (low[:, at] + width * end // count for end in (i, i + 1))
            found.append(part)
        narrower = np.ones(len(side))
        narrower[at] = count
        return found, [w / narrower for w in self._weights]

    def _gather(self, images: Boxes, known: Known | None, step: int) -> Layer:
        """Images as nodes of a layer; the parts that matter are noted in the layer before."""
        asked = images.wanted.any(1)
        number = np.flatnonzero(asked)
        images = images if asked.all() else images.take(number)
        check_size(images.low, images.high)
        grid = self._grid(images, known, step)
        moves, wanted, unions, holders = [], [], [], []
        parts_so_far = nodes_so_far = 0
        # what is in the cache is done with in a third of the time
        turn = max(1, _IMAGES // 3) if known is not None and known.grid.swept else _IMAGES
        for first in range(0, max(1, len(images)), turn):
            self.tick()
            few, origin = images.take(slice(first, first + turn)), number[first : first + turn]
            if known is not None:
                few, kept = known.meet(few)
                origin = origin[kept]
            for parts, again in cuts(few, grid):
                self.tick()
                union, holder = merge(parts, grid)
                moves.append(origin[again].astype(np.int32))
                wanted.append(parts.wanted)
                unions.append(union)
                holders.append(holder + nodes_so_far)
                parts_so_far, nodes_so_far = parts_so_far + len(parts), nodes_so_far + len(union)
                check_count(parts_so_far, 1, MAX_EDGES)
                check_count(nodes_so_far, images.low.shape[1], MAX_EDGES)
        # one turn is merged already
        nodes, where = merge(joined(unions), grid) if len(unions) > 1 else (unions[0], np.arange(len(unions[0])))
        self.counts.nodes += len(nodes)
        if step:
            before = self.layers[step - 1]
            before.part_move, before.part_wanted = np.concatenate(moves), np.concatenate(wanted)
            before.part_node = where[np.concatenate(holders)].astype(np.int32)
            self.may_leave_box |= self.space.outside(nodes, step)
        atoms, _ = self.space.atoms(self.stages[step].atoms, nodes, step)
        return Layer(nodes, grid, np.zeros(nodes.wanted.shape, dtype=bool), atoms)

    def _grid(self, images: Boxes, known: Known | None, step: int) -> Grid:
        if len(self._cells) <= step:
            if self.rough:
                self._weights.append(self._weigh(images, step))
            parts = self._first(_FIRST_CELLS, step, ahead=True)
            cells = []
            for at in range(images.low.shape[1]):
                low, high = images.low[:, at], images.high[:, at]
                span = int(high.max() - low.min()) if len(images) else 0
                points = bool((low == high).all()) and different(low) <= DISTINCT
                side = int(self._side[at])
                share = int(side / parts[at])
                cells.append(_power(share) if side else 1 if points else _power(span // DISTINCT))
            self._cells.append(np.array(cells, dtype=np.int64))
            # what most of them move by moves the cells, too, so that images do not lie across them
            moves = self.layers[step - 1].moves if step else None
            drift = np.zeros(images.low.shape[1], dtype=np.int64) if moves is None else moves.drift
            start = self._origins[step - 1] if step else images.low.min(0) if len(images) else drift
            self._origins.append((start + drift) % (4 * MAX_COORDINATE))  # many steps would come to more than 64 bits
        if self._apart:
            return Grid(np.ones_like(self._cells[step]), self._origins[step], self.sweep)
        cell = np.maximum(self._cells[step] >> self._level, 1)
        sides = _sides(known.boxes) if known is not None and len(known.boxes) else None
        if len(images):  # cells much smaller than what is to be cut would only cost
            widest = _sides(images) if sides is None else np.minimum(sides, _sides(images))
            cell = np.array([max(int(c), _power(int(w) // 4)) for c, w in zip(cell, widest, strict=True)], np.int64)
        swept = self._universal and known is not None and sides is not None and len(known.boxes) <= _MOST_SWEPT
        if swept and sides is not None:
            cell[self.sweep] = _power(int(sides[self.sweep]) // 2)
        return Grid(cell, self._origins[step], self.sweep, swept)

    def _first(self, parts: int, step: int, ahead: bool = False) -> Floats:
        """Into how many parts a side is cut in this pass at first, (n,): see `_fine`."""
        if not self.rough:
            return self._fine(parts, step, ahead)
        many = int((self._side > 0).sum()) > _MANY_WIDE and parts == _FIRST_CELLS
        return np.full(len(self._side), 1 / _ROUGH if many else parts / _ROUGH)

    def _fine(self, parts: int, step: int, ahead: bool) -> Floats:
        """The same for the first pass that is not rough; `ahead`: as fine as any later step wants it."""
        weights = self._weights[step : None if ahead else step + 1] or self._weights[-1:]
        return parts * np.max(weights, axis=0) if weights else np.full(len(self._side), float(parts))

    def _weigh(self, images: Boxes, step: int) -> Floats:
        """What the sides of the root do to open choices of this step, in proportion to that of the sweep, (n,)."""
        if not len(images):
            return np.ones(len(self._side))
        rng = np.random.default_rng(step)
        sample = images.take(rng.integers(0, len(images), _SAMPLE))
        point, half = rng.integers(sample.low, sample.high + 1), self._side // (2 * _FIRST_CELLS)
        low, high = (np.clip(end, -MAX_COORDINATE, MAX_COORDINATE) for end in (point - half, point + half))
        found = self.space.decide(Boxes(sample.location, low, high, sample.wanted), step)
        force = np.nan_to_num(sum((d.influence.sum(0) for d in found), np.zeros(len(half))), nan=0.0, posinf=0.0)
        told = (self._side > 0) & (force[self.sweep] > 0)
        return np.where(told, np.clip(force / (force[self.sweep] or 1.0), *_PROPORTIONS), 1.0)

    def _expand(self, layer: Layer, stage: Stage, step: int) -> Generator[None, None, Boxes | None]:
        """The images of a layer's nodes; None where atoms decide all."""
        nodes = layer.nodes
        needed = stage.needed(layer.atoms, nodes.wanted)
        alive = np.flatnonzero(needed.any(1))
        if not len(alive):
            return None
        small = (self._side / self._first(_FIRST_PIECES, step)).astype(np.int64)
        small = np.maximum(small >> self._level, 1)
        least = np.where(self._side > 0, small, np.maximum(layer.grid.cell // 2, 1))
        layer.pieces = pieces = yield from classify(
            self.space, stage, nodes.take(alive), alive, step, least, not self.keep
        )
        self.counts.pieces += len(pieces.kind)
        if self.counts.pieces - self._counted > self._most:
            raise OverflowError("too many boxes")
        stuck = [any(not c.moves for c in cases) for cases in pieces.case_list]
        self.may_deadlock |= any(stuck) and any(stuck[k] for k in np.unique(pieces.kind))
        layer.piece_atoms, _ = self.space.atoms(stage.atoms, pieces.boxes, step)
        needed = stage.needed(layer.piece_atoms, pieces.boxes.wanted)
        asked = np.zeros((len(pieces.kind), len(stage.next)), dtype=bool)
        for i, operand in enumerate(stage.operand):
            asked[:, operand] |= needed[:, i]
        layer.moves, images = advance(self.space, pieces, asked, step)
        return images

    # -- formulas ------------------------------------------------------------------------------------------------------

    def _evaluate(self) -> None:
        for step in range(len(self.layers) - 1, -1, -1):
            layer, stage, nodes = self.layers[step], self.stages[step], self.layers[step].nodes
            # a node without pieces needs no step: its atoms decide
            none = np.zeros((len(nodes), len(stage.steps)), dtype=bool)
            layer.may = stage.formula_truth(layer.atoms, none) & nodes.wanted
            if layer.pieces is None or layer.piece_atoms is None:
                continue
            layer.piece_truth = stage.truth(layer.piece_atoms, self.steps_truth(step))
            truth = np.stack([layer.piece_truth[f] for f in stage.formulas], 1)
            layer.piece_may = truth & layer.pieces.boxes.wanted
            layer.may[layer.pieces.node] = False
            np.logical_or.at(layer.may, layer.pieces.node, layer.piece_may)

    def steps_truth(self, step: int) -> Bools:
        """(P, S): which step formulas may hold in some state of a piece."""
        layer, stage = self.layers[step], self.stages[step]
        assert layer.moves is not None and layer.pieces is not None
        moves, size = layer.moves, len(layer.pieces.kind)
        truth = np.zeros((size, len(stage.steps)), dtype=bool)
        after = self.layers[step + 1].may if step + 1 < len(self.layers) else None
        for i, formula in enumerate(stage.steps):
            holds = np.zeros(len(moves.piece), dtype=bool)
            if after is not None and layer.part_wanted is not None:
                operand = stage.operand[i]
                good = after[layer.part_node, operand] & layer.part_wanted[:, operand]
                holds[layer.part_move[good]] = True
            if isinstance(formula, EX):
                truth[moves.piece[holds], i] = True
            else:
                options = np.ones(len(moves.option_piece), dtype=bool)
                options[moves.option[~holds]] = False
                truth[moves.option_piece[options], i] = True
        return truth


def _sides(boxes: Boxes) -> Ints:
    """The greatest sides of some boxes, (n,)."""
    found: Ints = (boxes.high - boxes.low).max(0)
    return found


def _power(size: int) -> int:
    """Greatest power of two up to `size`, at least 1."""
    return 1 << max(0, size.bit_length() - 1)
