"""The initial states of a system of integers: boxes at once, other sets by search (`initial`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from venmas.logic import TRUE
from venmas.logic.linear import Relation
from venmas.model.evaluation.points import TooManyError, initial_points
from venmas.model.system.system import System
from venmas.model.system.variables import Region
from venmas.procedures.explicit.states.initial import grid_points, integer_points
from venmas.procedures.explicit.states.integers import Integers, NotExplicitError

_BLOCK = 1 << 16


def initial_states(
    system: System, ranges: NDArray[np.int64], limit: int, tick: Callable[[], None]
) -> Iterator[Integers]:
    """The states (B, variables) of all initial sets in turn; one may come twice. ranges: (2, variables), declared.

    Raises `NotExplicitError` for more than `limit` of a set, and as `integer_points` does.
    """
    place = {name: i for i, name in enumerate(system.variables)}
    if system.initial_condition is not TRUE:
        yield from points_of_condition(system, limit, tick)
        return
    points: list[list[int]] = []
    for region in system.regions:
        box = _box(region, place, ranges)
        if box is None:
            yield from integer_points(system, region, ranges, limit, tick)
        elif all(low == high for low, high in zip(*box, strict=True)):
            points.append(box[0])
        elif all(low <= high for low, high in zip(*box, strict=True)):
            least, most = np.array(box, np.int64)
            yield from grid_points(least, most, limit, tick)
        if len(points) == _BLOCK:
            tick()
            yield np.array(points, np.int64)
            points = []
    if points:
        yield np.array(points, np.int64)


def points_of_condition(system: System, limit: int, tick: Callable[[], None]) -> Iterator[Integers]:
    """The points of an initial set that is given as a condition, in blocks. Raises `NotExplicitError`."""
    try:
        yield from initial_points(system, limit, tick)
    except TooManyError as error:
        raise NotExplicitError from error


def _box(region: Region, place: dict[str, int], ranges: NDArray[np.int64]) -> tuple[list[int], list[int]] | None:
    """Least and greatest values of a region that is a box of integers; None for another one."""
    low, high = ranges[0].tolist(), ranges[1].tolist()
    for row in region:
        if len(row.expr.terms) != 1 or row.relation is Relation.NE:
            return None
        ((name, factor),) = row.expr.terms
        i, end = place[name], -row.expr.constant / factor
        relation = row.relation if factor > 0 else row.relation.mirrored
        if relation is not Relation.LE and relation is not Relation.LT:
            low[i] = max(low[i], floor(end) + 1 if relation is Relation.GT else ceil(end))
        if relation is not Relation.GE and relation is not Relation.GT:
            high[i] = min(high[i], ceil(end) - 1 if relation is Relation.LT else floor(end))
    return low, high
