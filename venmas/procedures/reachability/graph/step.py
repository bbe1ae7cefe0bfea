"""Abstract post-image of a layer: boxes are cut where a choice is open (input splitting), then moved by what is left.

Invariant: the pieces of a box cover it, and the images of a piece cover the successors of all its states. Moves are
translations in the frame of the next step where that can be, which round nothing; others are rounded outward.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from venmas.bounds.rounding import Bools, Index, Ints
from venmas.budget import ask
from venmas.logic.stages import Stage
from venmas.model.transform.cases import Move, UnsuitableError
from venmas.procedures.hybrid.boxes import MAX_EDGES, Boxes, at_once, check_count, joined, present, ranks, turns
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.graph.split import Cases, Pieces, cut_compiled, too_many_cases

T = TypeVar("T")

MINOR = 0.25
"""Part of the greatest influence on open choices below which a coordinate is not cut: a cut there doubles the boxes
for little. Compiled code has the same (tests/bounds/test_rounding.py)."""
FEW = 256
"""Boxes up to which a round costs about the same, so that they are cut into four at once: fewer rounds, and some boxes
that a single cut would have settled. A quarter and four times as many cost at most a tenth more on VerticalCAS."""


@dataclass(eq=False)
class Moves:
    """Moves of pieces: (piece, case, move) by rows."""

    piece: Index
    option: Index
    """Number of the (piece, case) that a move belongs to."""
    option_piece: Index
    move: list[Move]
    which: Index
    """Position in `move` of each row's move."""
    drift: Ints
    """The most frequent shift, coordinate by coordinate, (n,); a move that is no translation counts as none."""


def ended(work: Generator[None, None, T], tick: Callable[[], None]) -> T:
    """What work with pauses comes to; `tick` is called in each pause."""
    while True:
        tick()
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


def classify(
    space: Space,
    stage: Stage,
    boxes: Boxes,
    node: Index,
    step: int,
    least: Ints,
    join: bool = True,
) -> Generator[None, None, Pieces]:
    """Pieces of boxes (B,), cut until all choices that matter are decided or sides are at most `least` (n,).

    There is a pause before each round (`ended`).

    Each round bounds the choices over all boxes that are left (zonotopes) and halves those with an open one along the
    side of the greatest influence on it. Raises `OverflowError` for too many, and `UnsuitableError` where too many
    cases are left in a box too small to be cut.

    join: see `venmas.procedures.reachability.graph.split.cut_compiled`.
    """
    watched = bool(stage.atoms) and any(f.depth for f in stage.formulas)
    met = Cases()
    kind: Index
    done: list[tuple[Boxes, Index, Index]] = []
    total, most = 0, at_once(boxes.low.shape[1])
    waiting: list[tuple[Boxes, Index]] = []
    while len(boxes) or waiting:
        yield
        if not len(boxes):
            boxes, node = waiting.pop()
        if len(boxes) > most:
            waiting.append((boxes.take(slice(most, None)), node[most:]))
            boxes, node = boxes.take(slice(most)), node[:most]
        compiled = (
            (yield from cut_compiled(space, stage, met, boxes, step, least, join))
            if space.worth_compiled_code
            else None
        )
        if compiled is not None:
            boxes, source, kind = compiled
            done.append((boxes, node[source], kind))
            total += len(boxes)
            check_count(total + sum(len(b) for b, _ in waiting), boxes.low.shape[1])
            boxes = boxes.take(slice(0))
            continue
        kind = np.zeros(len(boxes), dtype=np.intp)
        force = np.zeros(boxes.low.shape)
        open_, crowded = (np.zeros(len(boxes), dtype=bool) for _ in range(2))
        for decided in space.decide(boxes, step):
            rows = decided.rows
            unique, which = _distinct(decided.signature)
            names = np.zeros(len(unique), dtype=np.intp)
            several, many = (np.zeros(len(unique), dtype=bool) for _ in range(2))
            for i, signature in enumerate(unique.tolist()):
                ask()
                cases = space.locations[decided.location].cases(tuple(signature))
                if cases is None:
                    several[i] = many[i] = True
                    continue
                names[i] = met.number(cases)
                several[i] = len(cases) > 1
            kind[rows], open_[rows], force[rows] = names[which], several[which], decided.influence
            crowded[rows] = many[which]
        if watched:
            may, may_not = space.atoms(stage.atoms, boxes, step)
            open_ |= (may & may_not).any(1)
        width = boxes.high - boxes.low
        able = (width > np.maximum(least, 1)) & (force >= MINOR * force.max(1, keepdims=True))
        split = open_ & able.any(1)
        if (crowded & ~split).any():
            raise too_many_cases()
        done.append((boxes.take(~split), node[~split], kind[~split]))
        total += int((~split).sum())
        # where nothing tells which side matters, the longest one in terms of what counts as small
        score = np.where(able, force + 1e-12 * width / np.maximum(least, 1), -1.0)[split]
        at = score.argmax(1)
        boxes, node = halves(boxes.take(split), at), np.repeat(node[split], 2)
        if len(boxes) <= FEW:
            boxes, node = halves(boxes, np.repeat(at, 2)), np.repeat(node, 2)
        check_count(total + len(boxes) + sum(len(b) for b, _ in waiting), boxes.low.shape[1])
    boxes, node, kind = joined([b for b, _, _ in done]), *(np.concatenate([d[i] for d in done]) for i in (1, 2))
    return Pieces(boxes, node, met.listed, kind)


def _distinct(signature: Ints) -> tuple[Ints, Index]:
    """The different rows, and which of them each row is."""
    if len(signature) == 1:
        return signature, np.zeros(1, dtype=np.intp)
    if signature.shape[1] == 1:  # by far the most frequent, and the cheaper question
        unique, which = np.unique(signature[:, 0], return_inverse=True)
        return unique[:, None], which
    unique, which = np.unique(signature, axis=0, return_inverse=True)
    return unique, which.reshape(-1)


def halves(boxes: Boxes, at: Index) -> Boxes:
    """Every box as its lower and its upper half along a coordinate, next to each other."""
    double = boxes.take(np.repeat(np.arange(len(boxes)), 2))
    rows = np.arange(len(boxes))
    middle = (boxes.low[rows, at] + boxes.high[rows, at]) // 2
    double.high[2 * rows, at] = middle
    double.low[2 * rows + 1, at] = middle
    return double


def advance(space: Space, pieces: Pieces, wanted: Bools, step: int) -> tuple[Moves, Boxes]:
    """All moves of pieces, and the image under each; wanted (P, F'): what is asked of a piece's successors."""
    moves: list[Move] = []
    numbers: dict[int, int] = {}
    listed: list[int] = []
    option: list[int] = []
    size = len(pieces.case_list)
    first, options, counts = (np.zeros(size, dtype=np.intp) for _ in range(3))
    for kind in present(pieces.kind):
        first[kind] = len(listed)
        cases = pieces.case_list[kind]
        options[kind] = len(cases)
        for i, case in enumerate(cases):
            for move in case.moves:
                if id(move) not in numbers:
                    numbers[id(move)] = len(moves)
                    moves.append(move)
                listed.append(numbers[id(move)])
                option.append(i)
        counts[kind] = len(listed) - first[kind]
    space.choose_frame(step + 1, moves)
    maps = [space.map(m, step) for m in moves]
    n = pieces.boxes.low.shape[1]
    shifts = np.array([m.shift if m is not None and m.shift is not None else np.zeros(n) for m in maps], dtype=np.int64)
    shifts = shifts.reshape(-1, n)
    targets = np.array([space.number(m.integers) for m in moves], dtype=np.intp)
    count = counts[pieces.kind]
    check_count(float(count.sum()), n, MAX_EDGES)
    piece = np.repeat(np.arange(len(pieces.kind)), count)
    row = first[pieces.kind][piece] + ranks(count)
    which = np.array(listed, dtype=np.intp)[row]
    start = np.cumsum(options[pieces.kind]) - options[pieces.kind]
    low, high = pieces.boxes.low[piece], pieces.boxes.high[piece]
    for few in turns(len(piece), n):
        low[few] += shifts[which[few]]
        high[few] += shifts[which[few]]
    for i, (move, map_) in enumerate(zip(moves, maps, strict=True)):
        ask()
        if map_ is None or map_.shift is None:
            every = np.flatnonzero(which == i)
            for few in turns(len(every), n * n):
                rows = every[few]
                boxes = pieces.boxes.take(piece[rows])
                low[rows], high[rows] = image(space, move, boxes.low, boxes.high, step)
    made = Moves(
        piece,
        start[piece] + np.array(option, dtype=np.intp)[row],
        np.repeat(np.arange(len(pieces.kind)), options[pieces.kind]),
        moves,
        which,
        _most_frequent(shifts, np.bincount(which, minlength=len(moves))),
    )
    return made, Boxes(targets[which], low, high, wanted[piece])


def _most_frequent(rows: Ints, count: Index) -> Ints:
    """The value that counts most, column by column."""
    if len(rows) == 1:
        return rows.reshape(-1)
    found = np.zeros(rows.shape[1], dtype=np.int64)
    for at, column in enumerate(rows.T if len(rows) else ()):
        values, which = np.unique(column, return_inverse=True)
        found[at] = values[np.bincount(which, weights=count).argmax()]
    return found


def image(space: Space, move: Move, low: Ints, high: Ints, step: int) -> tuple[Ints, Ints]:
    """Boxes around the images of boxes (B, n) of a step under a move, in the next frame."""
    map_ = space.map(move, step)
    if map_ is not None:
        return map_.apply(low, high)
    evaluator, _ = space.evaluator(low, high, step)
    forms = [evaluator.value(e) for e in move.reals]
    after = space.frames[step + 1]
    new_low, new_high = np.empty_like(low), np.empty_like(high)
    for j, row in enumerate(after.inverse):
        terms = [(c * after.unit, f) for c, f in zip(row, forms, strict=True) if c]
        lo, hi = evaluator.total(terms).range()
        if not (np.isfinite(lo).all() and np.isfinite(hi).all() and max(abs(lo).max(), abs(hi).max()) < 2.0**52):
            raise UnsuitableError("coordinates of regions are too large")
        new_low[:, j], new_high[:, j] = np.floor(lo).astype(np.int64), np.ceil(hi).astype(np.int64)
    return new_low, new_high
