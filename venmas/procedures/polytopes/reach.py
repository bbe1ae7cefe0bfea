"""Exact reach sets by enumeration: the polytopes of initial states with affine runs, step by step.

    polytopes := the boxes of the initial set, at level l in 4^l parts each
    for each step: the extremes of each direction over all vertices; cut until every move is affine, and move

Nothing is joined, so that what it says is exact but for rounding, and it gives up where paths are many. In more than
two dimensions each cut moves vertices by what rounding left of the cuts before (`venmas.bounds.polytopes`), so that
errors multiply over many cuts. They are measured, and parts of the initial set are cut less often.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from fractions import Fraction

import numpy as np

from venmas.bounds.polytopes import Polytopes, joined
from venmas.bounds.rounding import Floats
from venmas.logic import TRUE
from venmas.logic.linear import LinearExpr
from venmas.model.system.system import System
from venmas.model.transform.cases import UnsuitableError
from venmas.procedures.hybrid.view import Space, space_of
from venmas.procedures.polytopes.enumerate import Enumeration
from venmas.procedures.reach import Layer

_ROWS = 1024
"""Polytopes that are moved at once."""
_HALVED = 2
"""How often boxes are halved more at each level."""
_MOST = 1_000_000
"""Vertices of one layer, at most: some 10 s a step."""


class PolytopeLayers:
    """The source."""

    name = "polytopes"
    help = "Exact: polytopes of initial states with affine runs, where paths and free dimensions are few."
    finest = 5

    def accepts(self, system: System) -> str | None:
        """At most four free dimensions."""
        try:
            with space_of(system) as space:
                Enumeration(space, TRUE)
        except (UnsuitableError, OverflowError, RecursionError) as error:
            return str(error) or "the system is nested too deeply"
        return None

    def layers(
        self, system: System, directions: Sequence[LinearExpr], steps: int, level: int, tick: Callable[[], None]
    ) -> Iterator[Layer]:
        """See `Source`."""
        with space_of(system) as space, np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            work = Enumeration(space, TRUE)
            state = range(len(space.reals))
            parts = _by_location(
                [(space.number(start.values), found) for start, found in work.initial(_HALVED * level)]
            )
            for step in range(steps + 1):
                yield _layer(space, work, parts, directions)
                if step == steps:
                    break
                after: list[tuple[int, Polytopes]] = []
                for number, polytopes in parts.items():
                    for at in range(0, len(polytopes), _ROWS):
                        after += _moved(work, polytopes.take(slice(at, at + _ROWS)).rooted(state), number, tick)
                        if sum(int(found.count.sum()) for _, found in after) > _MOST:
                            raise OverflowError("too many polytopes")
                parts = _by_location(after)


def _by_location(found: Sequence[tuple[int, Polytopes]]) -> dict[int, Polytopes]:
    """The polytopes of each location."""
    return {number: joined([p for n, p in found if n == number]) for number in dict.fromkeys(n for n, _ in found)}


def _layer(space: Space, work: Enumeration, parts: dict[int, Polytopes], directions: Sequence[LinearExpr]) -> Layer:
    found = [_ranges(space, work, n, polytopes, directions) for n, polytopes in parts.items() if len(polytopes)]
    if not found:
        return Layer.nothing(len(directions))
    lows, highs, radii = zip(*found, strict=True)
    low, high, off = np.min(lows, 0), np.max(highs, 0), 2 * np.max(radii, 0)  # a vertex is a radius off, its bound too
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise OverflowError("numbers beyond those of floats")
    return Layer(low, high, off)


def _ranges(
    space: Space, work: Enumeration, number: int, polytopes: Polytopes, directions: Sequence[LinearExpr]
) -> tuple[Floats, Floats, Floats]:
    """Least and greatest values of the directions in a location, and how far these may be from what is reached."""
    values = {
        n: LinearExpr((), Fraction(v)) for n, v in zip(space.integers, space.locations[number].values, strict=True)
    }
    size = len(space.reals)
    valued = polytopes.affine(range(size), *work.partition.rows([d.substitute(values) for d in directions]))
    low, high = valued.ranges(slice(size, None))
    return low.min(0), high.max(0), valued.radius()[:, size:].max(0)


def _moved(
    work: Enumeration, polytopes: Polytopes, number: int, tick: Callable[[], None]
) -> Iterator[tuple[int, Polytopes]]:
    """Where the polytopes of a location go: location and polytopes, whose quantities are the new state alone."""
    after = _driven(work.partition.after(polytopes, number, tuple(range(len(work.space.reals)))), tick)
    size = len(work.space.reals)
    for at in range(polytopes.width, after.width, 2 + size):
        target = after.x[:, 0, at]
        for found in np.unique(target[target >= 0]):
            yield int(found), after.take(target == found).quantities(range(at + 2, at + 2 + size))


def _driven(steps: Generator[None, None, Polytopes], tick: Callable[[], None]) -> Polytopes:
    while True:
        tick()
        try:
            next(steps)
        except StopIteration as end:
            found: Polytopes = end.value
            return found


POLYTOPES = PolytopeLayers()
