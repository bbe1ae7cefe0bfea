"""Graph of the runs from one initial state, which merges nothing: what a formula may be along them, as floats tell.

Every region is one point, so that only choices which rounding leaves open, and points off the lattice, are left open.
What the graph excludes need not be searched for in exact numbers, where a state costs some hundred times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from venmas.logic import Formula
from venmas.procedures.hybrid.boxes import Boxes
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.graph.graph import Graph

_MOST = 400_000
"""Points of a graph, at most: a second's work, and 130 MB."""


class Runs:
    """The graph of the runs from a state, which is a box of one point.

    Raises `OverflowError` for more of them than are worth it, and as `Graph` does.
    """

    def __init__(self, space: Space, target: Formula, root: Boxes, tick: Callable[[], None]) -> None:
        self._space = space
        self._graph = Graph(space, target, tick, root=root, apart=_MOST)
        self.excluded = self._graph.refine()
        """Is it shown that the state does not meet the target?"""
        self.size = self._graph.counts.nodes
        self._rows: dict[int, dict[tuple[int, ...], int]] = {}
        """By step, the points by location and coordinates."""

    def possible(self, formula: Formula, step: int, state: Mapping[str, Fraction]) -> bool:
        """May a formula hold in a state of these runs? False only where it does not."""
        if step >= len(self._graph.layers) or formula not in self._graph.stages[step].places:
            return True
        row, at = self._row(step, state), self._graph.stages[step].places[formula]
        layer = self._graph.layers[step]
        return row is None or not layer.nodes.wanted[row, at] or bool(layer.may[row, at])

    def _row(self, step: int, state: Mapping[str, Fraction]) -> int | None:
        """The node that is a state, None where there is none."""
        space, nodes = self._space, self._graph.layers[step].nodes
        number = space.known(tuple(int(state[name]) for name in space.integers))
        place = space.frames[step].place([state[name] for name in space.reals])
        if number is None or place is None:
            return None
        if step not in self._rows:
            points = (nodes.low == nodes.high).all(1).nonzero()[0]
            keys = zip(nodes.location[points].tolist(), *nodes.low[points].T.tolist(), strict=True)
            self._rows[step] = dict(zip(keys, points.tolist(), strict=True))
        return self._rows[step].get((number, *place))
