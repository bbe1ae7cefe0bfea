"""Reach sets by symbolic linear bounds: for any system, as tight as the initial set is split finely.

    parts := the boxes of the initial regions, at level l in 2^l parts each
    for each step: the extremes of each direction over the linear bounds of all states; all their successors, those of
                   one part joined where they are many

Bounds are linear in the initial state over any number of steps, so that nothing wraps; what they lose in the networks'
units shrinks with the parts. Sides are split in turns, first those that move the bounds most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.bounds.states import State, States
from venmas.budget import asking
from venmas.logic.linear import LinearExpr
from venmas.model.evaluation.regions import bounding_box
from venmas.model.expressions.expr import Expr, Sum
from venmas.model.system.system import System
from venmas.procedures.reach import Layer

_MOST_NODES = 16
"""States of one part that are kept apart."""
_STEPS = 4
"""Steps by which it is told what the sides of the initial set count for."""

Box = Mapping[str, tuple[Fraction, Fraction]]


class BoundLayers:
    """The source."""

    name = "bound-propagation"
    help = "Linear bounds in the initial state, of which more and more parts are taken: any system."
    finest = 10

    def accepts(self, system: System) -> str | None:
        """Systems whose initial set has boxes."""
        return None if _boxes(system) else "there is no initial state"

    def layers(
        self, system: System, directions: Sequence[LinearExpr], steps: int, level: int, tick: Callable[[], None]
    ) -> Iterator[Layer]:
        """See `Source`."""
        exprs = [_expression(system, d) for d in directions]
        with np.errstate(over="ignore", invalid="ignore"):
            boxes = _boxes(system)
            if level:
                boxes = [part for box in boxes for part in _parts(system, box, level, tick)]
            yield from _layers(States.initial(system, boxes).members, exprs, steps, tick)


def _layers(states: Sequence[State], exprs: Sequence[Expr], steps: int, tick: Callable[[], None]) -> Iterator[Layer]:
    for step in range(steps + 1):
        tick()
        yield _layer(states, exprs)
        if step == steps or not states:
            continue
        after: dict[int, list[State]] = {}
        moves = [(state, move) for state in asking(states) for move in state.successors()]
        for state, move in moves:
            after.setdefault(id(state.box), []).append(move.state)
        if all(len(part) <= _MOST_NODES for part in after.values()):
            states = [move.state for _, move in moves]
            continue
        groups = [[(state, move) for state, move in moves if id(state.box) == part] for part in after]
        states = States.merge(groups).members


def _layer(states: Sequence[State], exprs: Sequence[Expr]) -> Layer:
    if not states:
        return Layer.nothing(len(exprs))
    low, high = np.full(len(exprs), np.inf), np.full(len(exprs), -np.inf)
    for batch in {id(s.batch): s.batch for s in states}.values():
        rows = [s.row for s in states if s.batch is batch]
        found = [batch.value(e) for e in exprs]
        low = np.minimum(low, [_least(q.lo[rows]) for q in found])
        high = np.maximum(high, [-_least(-q.hi[rows]) for q in found])
    return Layer.around(low, high, any(s.batch.found.may_leave_box for s in states))


def _least(values: Floats) -> float:
    """The least of some; minus infinity where floats overflowed."""
    return -np.inf if np.isnan(values).any() else float(values.min())


def _expression(system: System, direction: LinearExpr) -> Expr:
    return Sum(tuple((c, system[n]) for n, c in direction.terms), direction.constant)


def _boxes(system: System) -> list[Box]:
    return [box for region in system.regions if (box := bounding_box(system, region)) is not None]


def _parts(system: System, box: Box, level: int, tick: Callable[[], None]) -> list[Box]:
    """A box in 2^level parts, or as many as its sides come to."""
    parts = [box]
    wide = [n for n in system.variables if box[n][0] < box[n][1]]
    force = zip(wide, _influence(system, box, len(wide), tick), strict=True)
    counts = {n: f for n, f in force if not system.variables[n].integral}
    for _ in range(level if counts else 0):
        name = max(counts, key=lambda n: counts[n])
        counts[name] /= 2
        parts = [half for part in parts for half in _halves(part, name)]
    return parts


def _halves(box: Box, name: str) -> tuple[Box, Box]:
    low, high = box[name]
    middle = Fraction((float(low) + float(high)) / 2)
    middle = middle if low < middle < high else (low + high) / 2
    return {**box, name: (low, middle)}, {**box, name: (middle, high)}


def _influence(system: System, box: Box, sides: int, tick: Callable[[], None]) -> list[float]:
    """What each wide side of a box does to the variables after some steps, in proportion to all sides; never 0."""
    states: Sequence[State] = States.initial(system, [box]).members
    total = np.zeros(sides)
    for _ in range(_STEPS):
        tick()
        if not states:
            break
        state = states[0]
        for name in system.variables:
            q = state.batch.env[name]
            force = np.abs(q.low[state.row, 1:]) + np.abs(q.upp[state.row, 1:])
            if np.isfinite(force).all() and force.sum() > 0:
                total += force / force.sum()
        states = [step.state for step in state.successors()]
    return [float(t) + 1e-9 for t in total]


BOUND_PROPAGATION = BoundLayers()
