"""Exact reach sets of systems of integers: the states after each step, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from venmas.bounds.rounding import float_beside
from venmas.budget import ask
from venmas.linear import LinearExpr
from venmas.model.cases import UnsuitableError
from venmas.model.system import System
from venmas.search.explicit.reach import StateGraph
from venmas.search.layers import Layer
from venmas.search.states.integers import Integers, NotExplicitError

_MOST = 1_000_000
"""States of one step, at most."""


class ExplicitLayers:
    """The source."""

    name = "explicit"
    help = "Exact: states one by one, where all variables are integers."
    finest = 0

    def accepts(self, system: System) -> str | None:
        """Systems of integers."""
        real = next((d.name for d in system.variables.values() if not d.integral), None)
        return None if real is None else f"the variable {real} is a real number"

    def layers(
        self, system: System, directions: Sequence[LinearExpr], steps: int, level: int, tick: Callable[[], None]
    ) -> Iterator[Layer]:
        """See `Source`."""
        names, leaves = list(system.variables), False
        try:
            graph = StateGraph(system, _MOST, tick)
            states = graph.packing.states(graph.keys)
            for _ in range(steps + 1):
                tick()
                if not len(states):
                    yield Layer.nothing(len(directions), leaves)
                    continue
                ends = [_range(d, names, states) for d in directions]
                low, high = np.array(ends, dtype=float).reshape(-1, 2).T
                yield Layer(low, high, np.zeros(len(ends)), may_leave=leaves)
                found: list[Integers] = []
                states_found = 0
                for first in range(0, len(states), graph.columns.rows):
                    tick()
                    for _, _, new, outside in graph.columns.steps(states[first : first + graph.columns.rows]):
                        leaves |= bool(outside.any())
                        found.append(np.unique(new[~outside], axis=0))
                        states_found += len(found[-1])
                        if states_found > 2 * _MOST:  # of several branches, most are often the same
                            found = [_different(found)]
                            states_found = len(found[0])
                states = _different(found) if found else states[:0]
        except NotExplicitError as error:
            raise UnsuitableError(str(error) or f"more than {_MOST} states of one step") from error


def _different(parts: Sequence[Integers]) -> Integers:
    """Each of the states once. Raises `NotExplicitError` for too many."""
    ask()
    found = np.unique(np.concatenate(parts), axis=0)
    if len(found) > _MOST:
        raise NotExplicitError
    return found


def _range(direction: LinearExpr, names: Sequence[str], states: Integers) -> list[float]:
    """The extremes of a direction over states, rounded outward: in whole numbers, term by term."""
    scale = lcm(direction.constant.denominator, *(c.denominator for _, c in direction.terms))
    total = np.full(len(states), int(direction.constant * scale), dtype=object)
    for name, factor in direction.terms:
        ask()
        total = total + states[:, names.index(name)].astype(object) * int(factor * scale)
    return [float_beside(Fraction(int(e), scale), side) for e, side in ((total.min(), -1), (total.max(), 1))]


EXPLICIT = ExplicitLayers()
