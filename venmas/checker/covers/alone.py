"""Sets of a cover that are followed one by one, as forms of integers of any length (`flowpipes.state`)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from venmas.checker.covers.batch.course import Course, Leg
from venmas.checker.covers.grid import Rows
from venmas.checker.covers.parts import Hull
from venmas.checker.covers.paving import SIDE, Tick
from venmas.checker.flowpipes.forms import Form, Forms, enclosing
from venmas.checker.flowpipes.state import States
from venmas.checker.flowpipes.target import Target

_LARGEST = 1 << 45
"""Coordinates beyond which sets are too wide for any grid."""
_SETS = 4096
"""Sets that `stride` steps make of one, at most."""


class OpenError(Exception):
    """A cover does not show its claim."""


class Alone:
    """The steps of a system, a set at a time. course: the same in batches; target: what no state may be; bits: of the
    unit of values; hull: what to include all in, if anything."""

    def __init__(self, course: Course, target: Target, bits: int, hull: Hull | None) -> None:
        self._course, self._target, self._bits, self._hull = course, target, bits, hull
        self._axes, self._system = course.axes, course.axes.system

    def followed(
        self, leg: Leg, low: Sequence[int], high: Sequence[int], tick: Tick
    ) -> list[tuple[list[int], list[int]]]:
        """Boxes around what follows a set. Raises `OpenError` where that does not show what is claimed."""
        sets = [self._start(leg, low, high)]
        for step in range(leg.begun + 1, leg.begun + leg.steps + 1):
            after = list[States]()
            for states, branch in product(sets, self._system.branches):
                if states.truth(branch.guard) is False:
                    continue
                tick()
                for made in states.after(branch):
                    self._look(made, step)
                    after.append(self._drawn(made))
                if len(after) > _SETS:
                    raise OpenError(f"one set becomes more than {_SETS}")
            sets = after
        rows = (*leg.rows, *(_turned(direction, leg.rows) for direction in leg.directions))
        return [self._box(made, rows) for made in sets]

    def _start(self, leg: Leg, low: Sequence[int], high: Sequence[int]) -> States:
        """A set, as of a paving."""
        bits, forms = self._bits, dict[str, Form]()
        ring = Forms(bits, 0)
        if leg.begun:
            axes = [ring.fresh(Form(a + b << bits - 1, (), b - a << bits - 1)) for a, b in zip(low, high, strict=True)]
            for name, column in zip(self._axes.names, leg.columns, strict=True):
                forms[name] = ring.fresh(_combined(ring, column, axes))
        else:
            region = low[0] // SIDE >> leg.depth
            for axis, name in enumerate(self._axes.names):
                first, last = (leg.parts.at(region, axis, side[1 + axis], leg.depth) for side in (low, high))
                forms[name] = ring.fresh(enclosing(first, last, bits))
        forms |= {name: ring.constant(value) for name, value in self._axes.fixed.items()}
        course = self._course
        made = self._drawn(States(self._system, forms, ring.symbols, bits, course.fine, single=course.single))
        if not leg.begun:
            self._look(made, 0)
        return made

    def _drawn(self, states: States) -> States:
        """A set with the noise of a step."""
        if not self._axes.noise:
            return states
        forms: dict[str, Form] = {n: f for n, f in states.forms.items() if n not in self._axes.noise}
        ring = Forms(self._bits, states.symbols)
        forms |= {name: ring.fresh(enclosing(*ends, self._bits)) for name, ends in self._axes.noise.items()}
        return states.having({name: forms[name] for name in self._system.variables}, ring.symbols)

    def _box(self, states: States, rows: Rows) -> tuple[list[int], list[int]]:
        """The least box of integer coordinates around a set."""
        ring, bits = Forms(self._bits, states.symbols), self._bits
        lows, highs = [], []
        forms = [states.forms[name] for name in self._axes.names]
        for row in rows:
            low, high = _combined(ring, row, forms).range
            lows.append(low >> bits)
            highs.append(-(-high >> bits))
        if max(-min(lows), max(highs)) >= _LARGEST:
            raise OpenError("sets are too wide for the grid")
        return lows, highs

    def _look(self, states: States, step: int) -> None:
        """Raises `OpenError` where a state may break what is claimed."""
        course = self._course
        if step >= course.first and not self._target.refuted(states):
            raise OpenError(f"a state after {step} steps may break it, as far as its enclosures tell")
        for name in self._axes.looked_at if (course.inside or self._hull is not None) and step else ():
            low, high = states.forms[name].range
            decl, unit = self._system.variables[name], 1 << self._bits
            if course.inside and not (decl.lower * unit <= low and high <= decl.upper * unit):
                raise OpenError(f"{name} may leave its range after {step} steps")
            if self._hull is not None:
                self._hull.add(name, low, high, self._bits)


def _turned(direction: Sequence[int], rows: Rows) -> tuple[Fraction, ...]:
    """A direction of coordinates as one of variables."""
    return tuple(
        sum((c * x for c, x in zip(direction, column, strict=True)), Fraction(0)) for column in zip(*rows, strict=True)
    )


def _combined(ring: Forms, factors: Sequence[Fraction], forms: Sequence[Form]) -> Form:
    """The sum of multiples of forms."""
    total = ring.constant(Fraction(0))
    for factor, form in zip(factors, forms, strict=True):
        total = ring.add(total, ring.scale(form, factor)) if factor else total
    return total
