"""Reach sets of boxes: layers of the abstract reachability graph, with nothing asked of them.

    boxes := the initial regions, in the frame of step 0
    for each step: the extremes of each direction over all boxes; cut where a choice is open, down to a least side;
                   moved by what is left; cut along the grid of the next step and merged there

A level more halves the least sides and the cells. Where moves are translations in their frames, and coordinates are
few or take few values, that is exact but for the pieces in which a choice stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from venmas.bounds.rounding import Ints, float_beside
from venmas.logic import TRUE
from venmas.logic.linear import LinearExpr
from venmas.logic.stages import agenda
from venmas.model.system.system import System
from venmas.model.transform.cases import UnsuitableError
from venmas.procedures.hybrid.boxes import MAX_BOXES, Boxes, Grid, check_count, cuts, distinct, joined, merge, present
from venmas.procedures.hybrid.frames import MAX_COORDINATE, check_size
from venmas.procedures.hybrid.view import Space, space_of
from venmas.procedures.reach import Layer
from venmas.procedures.reachability.graph.graph import DISTINCT
from venmas.procedures.reachability.graph.step import advance, classify, ended

_CELLS = 8
"""Cells along a wide side of the initial set at level 0."""
_PIECES = 64
"""Pieces that such a side may be cut into then."""
_STAGE = agenda(TRUE)[0]


class ReachabilityLayers:
    """The source."""

    name = "reachability"
    help = "Boxes in moving frames, merged where they meet: many branches over many steps."
    finest = 8

    def accepts(self, system: System) -> str | None:
        """Systems over the reals, in discrete modes."""
        try:
            with space_of(system):
                return None
        except (UnsuitableError, OverflowError, RecursionError) as error:
            return str(error) or "the system is nested too deeply"

    def layers(
        self, system: System, directions: Sequence[LinearExpr], steps: int, level: int, tick: Callable[[], None]
    ) -> Iterator[Layer]:
        """See `Source`."""
        with space_of(system) as space, np.errstate(over="ignore", invalid="ignore"):
            boxes, leaves = space.root(), False
            side: Ints = (boxes.high - boxes.low).max(0) if len(boxes) else np.zeros(len(space.reals), np.int64)
            grid = Grid(_cells(boxes, side, level), boxes.low.min(0) if len(boxes) else side, _sweep(side))
            for step in range(steps + 1):
                tick()
                if not len(boxes):
                    yield Layer.nothing(len(directions), leaves)
                    continue
                check_size(boxes.low, boxes.high)
                leaves |= space.outside(boxes, step)
                yield _layer(space, directions, boxes, step, leaves)
                if step == steps:
                    break
                least = np.maximum(np.where(side > 0, (side // _PIECES) >> level, grid.cell // 2), 1)
                pieces = ended(classify(space, _STAGE, boxes, np.arange(len(boxes)), step, least), tick)
                moves, images = advance(space, pieces, pieces.boxes.wanted, step)
                if not len(images):
                    boxes = images
                    continue
                origin = (grid.origin + moves.drift) % (4 * MAX_COORDINATE)
                grid = Grid(_cells(images, side, level), origin, grid.sweep)
                boxes = _merged(images, grid)


def _merged(images: Boxes, grid: Grid) -> Boxes:
    """Images cut along the grid and merged, some at a time. Raises `OverflowError` for too many."""
    unions, count = [], 0
    for parts, _ in cuts(images, grid):
        unions.append(merge(parts, grid)[0])
        count += len(unions[-1])
        check_count(count, images.low.shape[1], MAX_BOXES)
    found = merge(joined(unions), grid)[0] if len(unions) > 1 else unions[0]
    if len(found) > MAX_BOXES // 4:
        raise OverflowError("too many boxes")
    return found


def _sweep(side: Ints) -> int:
    return int(side.argmax())


def _cells(boxes: Boxes, side: Ints, level: int) -> Ints:
    """Sides of the grid's cells: parts of the initial set's; points that are few stay apart."""
    found = []
    for at, width in enumerate(side.tolist()):
        low, high = boxes.low[:, at], boxes.high[:, at]
        if width:
            found.append(width // _CELLS >> level)
        elif not len(boxes) or ((low == high).all() and len(distinct(low[:, None])) <= DISTINCT << level):
            found.append(1)
        else:
            found.append(int(high.max() - low.min()) // DISTINCT >> level)
    return np.maximum(np.array(found, dtype=np.int64), 1)


def _layer(space: Space, directions: Sequence[LinearExpr], boxes: Boxes, step: int, leaves: bool) -> Layer:
    low, high = np.full(len(directions), np.inf), np.full(len(directions), -np.inf)
    for i, direction in enumerate(directions):
        located = not direction.variables <= set(space.reals)
        for number in present(boxes.location).tolist() if located else [None]:
            some = boxes if number is None else boxes.take(boxes.location == number)
            least, most = _extremes(space, direction, some, number, step)
            low[i], high[i] = min(low[i], least), max(high[i], most)
    return Layer.around(low, high, leaves)


def _extremes(space: Space, direction: LinearExpr, boxes: Boxes, number: int | None, step: int) -> tuple[float, float]:
    """The range of a direction over boxes of a location (None: of any, as integers do not matter)."""
    expr = direction
    if number is not None:
        values = zip(space.integers, space.locations[number].values, strict=True)
        expr = direction.substitute({n: LinearExpr((), Fraction(v)) for n, v in values})
    row = space.row(expr, step)
    least, most = row.range(boxes.low, boxes.high)
    return float_beside(Fraction(int(least.min()), row.scale), -1), float_beside(
        Fraction(int(most.max()), row.scale), 1
    )


REACHABILITY = ReachabilityLayers()
