"""Abstract counterexamples: single initial states, with branches, that regions in which the target may hold suggest.

The open part of a graph is followed from the root to pieces whose atoms alone may show the formula, and from a point of
such a piece back to the initial set: where moves are translations this gives an exact run.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from venmas.bounds.rounding import Bools, Index, Ints
from venmas.procedures.hybrid.boxes import Boxes
from venmas.procedures.hybrid.trials import Candidate
from venmas.procedures.reachability.graph.graph import Graph
from venmas.procedures.reachability.graph.split import Pieces
from venmas.procedures.reachability.graph.step import Moves, image

_ENDS, _WAYS = 6, 1000
"""Ends of runs that are followed back per step of a pass, and moves into a node that are looked at in each step back,
at most: more find a violation in an earlier pass, and are looked at in vain in every pass where there is none."""


def candidates(graph: Graph) -> Iterator[Candidate]:
    """Initial states whose runs may meet the target, most promising first."""
    seen: set[tuple[object, ...]] = set()
    marks = _marks(graph)
    for step, where, point in _ends(graph, marks):
        found = _back(graph, marks, step, where, point)
        if found is not None:
            key = (tuple(found.state.values()), found.branches)
            if key not in seen:
                seen.add(key)
                yield found
    root = open_root(graph)
    for row in range(min(4, len(root))):
        for point in _points(root.take(np.array([row]))):
            yield Candidate(state_at(graph, point, int(root.location[row])), ())


def slices(graph: Graph, count: int, points: bool) -> Boxes | None:
    """Lines along the sweep (or points) of the part of the root that is open: there, graphs are nearly exact.

    None where the initial set is no more than that.
    """
    nodes = open_root(graph)
    if not (wide(graph) or (points and (nodes.high > nodes.low).any())):
        return None
    rng = np.random.default_rng(len(graph.layers))
    nodes = nodes.take(np.resize(rng.permutation(len(nodes)), count))
    place = nodes.low + rng.integers(0, nodes.high - nodes.low + 1)
    low, high = nodes.low.copy(), nodes.high.copy()
    fixed = np.full(low.shape, True)
    fixed[:, graph.sweep] = points
    low[fixed] = high[fixed] = place[fixed]
    return Boxes(nodes.location, low, high, nodes.wanted)


def point(graph: Graph) -> Boxes:
    """A state of the part of the root that is open."""
    nodes = open_root(graph)
    rng = np.random.default_rng(graph.counts.passes)
    nodes = nodes.take(rng.integers(0, len(nodes), 1))
    place = rng.integers(nodes.low, nodes.high + 1)
    return Boxes(nodes.location, place, place, nodes.wanted)


def wide(graph: Graph) -> bool:
    """Is the open part of the root wide in another direction than the sweep?"""
    nodes = open_root(graph)
    apart = nodes.high > nodes.low
    apart[:, graph.sweep] = False
    return bool(apart.any())


def open_root(graph: Graph) -> Boxes:
    """The part of the root in which the target may hold."""
    return graph.layers[0].nodes.take(np.flatnonzero(graph.layers[0].may.any(1))) if graph.layers else graph.root


def state_at(graph: Graph, point: Ints, number: int) -> dict[str, Fraction]:
    """The state at a point of the root, in a location."""
    space = graph.space
    values = dict(zip(space.integers, map(Fraction, space.locations[number].values), strict=True))
    values.update({n: Fraction(int(v), space.unit) for n, v in zip(space.reals, point, strict=True)})
    return {n: values[n] for n in space.system.variables}


def _marks(graph: Graph) -> list[Bools]:
    """Per layer, (P or N, F): what may hold there, on the way from the root, in pieces (or nodes, at an end)."""
    marks: list[Bools] = []
    node_marks = graph.layers[0].may
    for step, layer in enumerate(graph.layers):
        stage = graph.stages[step]
        if (
            layer.pieces is None
            or layer.piece_atoms is None
            or layer.piece_may is None
            or layer.moves is None
            or layer.part_wanted is None
        ):
            marks.append(node_marks)
            break
        marks.append(node_marks[layer.pieces.node] & layer.piece_may)
        if step + 1 == len(graph.layers):
            break
        after = graph.layers[step + 1].may
        node_marks = np.zeros(after.shape, dtype=bool)
        needed = stage.needed(layer.piece_atoms, marks[-1]) & graph.steps_truth(step)
        for i, operand in enumerate(stage.operand):
            live = needed[layer.moves.piece[layer.part_move], i] & layer.part_wanted[:, operand]
            good = live & after[layer.part_node, operand]
            node_marks[layer.part_node[good], operand] = True
    return marks


def _ends(graph: Graph, marks: list[Bools]) -> Iterator[tuple[int, int, Ints]]:
    """Points of pieces (or nodes) whose atoms show a marked formula without a further step."""
    for step in range(len(marks)):
        layer, stage = graph.layers[step], graph.stages[step]
        boxes = layer.nodes if layer.pieces is None else layer.pieces.boxes
        rows = np.flatnonzero(marks[step].any(1))
        if not len(rows):
            continue
        part = boxes.take(rows)
        none = np.zeros((len(rows), len(stage.steps)), dtype=bool)
        may, may_not = graph.space.atoms(stage.atoms, part, step)
        able = (stage.formula_truth(may, none) & marks[step][rows]).any(1)
        sure = (stage.formula_truth(may & ~may_not, none) & marks[step][rows]).any(1)
        order = np.argsort(-(able.astype(int) + sure), kind="stable")[: int(able.sum())]
        places = np.linspace(0, len(order) - 1, _ENDS).astype(int)
        picked = order[places[np.diff(places, prepend=-1) > 0]] if len(order) else order
        for row in picked:
            one = part.take(np.array([row]))
            for point in _points(one):
                spot = Boxes(one.location, point[None], point[None], one.wanted)
                atoms, _ = graph.space.atoms(stage.atoms, spot, step)
                if (stage.formula_truth(atoms, none[:1]) & marks[step][rows[row]]).any():
                    yield step, int(rows[row]), point
                    break


def _points(box: Boxes) -> list[Ints]:
    """The middle of a box, then corners."""
    low, high = box.low[0], box.high[0]
    corners = [np.where([i >> j & 1 for j in range(len(low))], high, low) for i in range(2 ** min(len(low), 4))]
    return [(low + high) // 2, *corners]


def _back(graph: Graph, marks: list[Bools], step: int, where: int, point: Ints) -> Candidate | None:
    """Follow a point back to the initial set."""
    branches: list[int] = []
    layer = graph.layers[step]
    node = where if layer.pieces is None else int(layer.pieces.node[where])
    while step:
        layer = graph.layers[step - 1]
        if layer.moves is None or layer.pieces is None:
            return None
        into: Index = layer.part_move[layer.part_node == node]
        into = into[marks[step - 1][layer.moves.piece[into]].any(1)][:_WAYS]
        if not len(into):
            return None
        row = _nearest(graph, layer.moves, layer.pieces, into, step - 1, point)
        move = layer.moves.move[layer.moves.which[row]]
        piece = layer.moves.piece[row]
        map_ = graph.space.map(move, step - 1)
        low, high = layer.pieces.boxes.low[piece], layer.pieces.boxes.high[piece]
        point = (
            np.clip(point - map_.shift, low, high) if map_ is not None and map_.shift is not None else (low + high) // 2
        )
        branches.append(move.branches[0])
        node = int(layer.pieces.node[piece])
        step -= 1
    number = int(graph.layers[0].nodes.location[node])
    return Candidate(state_at(graph, point, number), tuple(reversed(branches)))


def _nearest(graph: Graph, moves: Moves, pieces: Pieces, rows: Index, step: int, point: Ints) -> int:
    """Which of some moves of a step leads nearest to a point."""
    best = np.inf, -1
    for which in np.unique(moves.which[rows]):
        mine = rows[moves.which[rows] == which]
        boxes = pieces.boxes.take(moves.piece[mine])
        low, high = image(graph.space, moves.move[which], boxes.low, boxes.high, step)
        away = (np.maximum(low - point, 0) + np.maximum(point - high, 0)).sum(1)
        best = min(best, (float(away.min()), int(mine[away.argmin()])))
    return best[1]
