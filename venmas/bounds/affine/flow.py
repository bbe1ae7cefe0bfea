"""Flows over affine forms: Taylor series in time with a remainder over a box that solutions stay in.

For each of `substeps` equal parts of the period, of length h, from forms X (Moore, *Interval Analysis*, 1966;
Nedialkov, Jackson, Corliss, *Validated solutions of initial value problems for ordinary differential equations*,
Applied Mathematics and Computation 105, 1999):

    D with [0, h] f(X + D) inside D       Picard's operator keeps x0 + D for each x0 in X: a solution exists, is the
                                          only one, and stays in x0 + D
    end:    sum_{k<=p} h**k x_k(X) + h**(p+1) x_{p+1}(X + D)
    tube:   e(t) likewise for t in a *slice* of the part, e any expression

A row without such a D is broken, alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from venmas.bounds.affine.boxes import Box, Boxes
from venmas.bounds.affine.extrema import Curve, at, over, together
from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.rounding import FEW, TINY, Floats
from venmas.budget import ask
from venmas.model.evaluation.cuts import Fineness
from venmas.model.evaluation.jets import Jets
from venmas.model.expressions.expr import Expr
from venmas.model.expressions.smooth_nodes import Extremum, Flow

_TRIES = 12
_MORE = 0.1


@dataclass
class _Part:
    """A part of the period: jets from where it starts, and those over the box in which it goes on."""

    length: Fraction
    jets: Jets[Form]
    around: Jets[Box]


class Course:
    """A flow followed over its period: `ends`, by variable, and the extrema of expressions on the way."""

    def __init__(
        self, ring: Forms, flow: Flow, start: Mapping[str, Form], outside: Callable[[Expr], Form], fine: Fineness
    ) -> None:
        """start: forms of the variables that move. outside: the value of what is constant over the period."""
        self.ring, self.fine = ring, fine
        self._known: dict[int, tuple[Curve, Curve]] = {}
        self.parts: list[_Part] = []
        h = flow.period / fine.substeps
        state = {name: ring.fresh(start[name]) for name in flow.names}
        for _ in range(fine.substeps):
            ask()
            jets = Jets(ring, flow, state, outside)
            around = _boxed(ring, flow, state, jets, outside, h)
            jets.upto(fine.order)
            last = around.upto(fine.order + 1)
            self.parts.append(_Part(h, jets, around))
            ends = {
                name: _sum(ring, jets.state[name][: fine.order + 1], last[name][fine.order + 1], h)
                for name in flow.names
            }
            state = {name: ring.fresh(form) for name, form in ends.items()}
        self.ends = state

    def extremum(self, node: Extremum) -> Form:
        """The least or greatest value: between that of the enclosures of all slices and that at their ends.

        Both sides are told around the linear part of the slice that comes lowest (highest), so that the result still
        depends on the initial values.
        """
        ring, rows = self.ring, np.arange(self.ring.size)
        tubes, points = self._curves(node.expr)
        low, high = tubes.ends(np.zeros((ring.size, 1)))
        slope = tubes.z[high.argmax(0) if node.greatest else low.argmin(0), rows]
        slope[:, 0] = 0.0
        (low, high), (least, most) = tubes.ends(slope), points.ends(slope)
        if node.greatest:
            return ring.fresh(ring.along(slope, np.minimum(least.max(0), high.max(0)), high.max(0)))
        return ring.fresh(ring.along(slope, low.min(0), np.maximum(low.min(0), most.min(0))))

    def _curves(self, expr: Expr) -> tuple[Curve, Curve]:
        """An expression over slices of the period, and at their ends."""
        if id(expr) not in self._known:
            p, width, made = self.fine.order, self.ring.symbols, []
            for part in self.parts:
                known, rest = part.jets.of(expr, p)[: p + 1], part.around.of(expr, p + 1)[p + 1]
                made.append([f(self.ring, width, part.length, self.fine.slices, known, rest) for f in (over, at)])
            self._known[id(expr)] = together([m[0] for m in made]), together([m[1] for m in made])
        return self._known[id(expr)]


def _sum(ring: Forms, known: Sequence[Form | None], rest: Box | None, t: Fraction) -> Form:
    """The series at time t with its remainder."""
    terms = [(t**k, a) for k, a in enumerate(known) if a is not None]
    if rest is not None:
        terms.append((t ** len(known), Form(rest.mid[:, None], rest.rad)))
    return ring.combine(terms)


def _boxed(
    ring: Forms, flow: Flow, state: Mapping[str, Form], jets: Jets[Form], outside: Callable[[Expr], Form], h: Fraction
) -> Jets[Box]:
    """The jets over X + D, for a D that passes Picard's test; rows without one are broken."""
    up = float(h) * (1 + FEW)

    def reach(rates: Mapping[str, Sequence[Form | Box | None]]) -> dict[str, tuple[Floats, Floats]]:
        """[0, h] times the rates, rounded outward."""
        reached = {}
        for name in flow.names:
            rate = rates[name][1]
            lo, hi = (np.zeros(ring.size),) * 2 if rate is None else rate.ends
            reached[name] = np.minimum(lo * up - TINY, 0.0), np.maximum(hi * up + TINY, 0.0)
        return reached

    target = reach(jets.upto(1))
    passed = np.zeros(ring.size, dtype=bool)
    taken: dict[str, tuple[Floats, Floats]] = {}
    for _ in range(_TRIES):
        for name, (lo, hi) in target.items():
            more = _MORE * (hi - lo) + 1e-9 * np.abs(state[name].z[:, 0]) * up
            new = lo - more, hi + more
            old = taken.get(name, new)
            taken[name] = np.where(passed, old[0], new[0]), np.where(passed, old[1], new[1])
        trial = Boxes(ring.size)
        start = {n: trial.add(trial.between(*state[n].ends), trial.between(*taken[n])) for n in flow.names}
        around = Jets(trial, flow, start, partial(_range, trial, outside))
        target = reach(around.upto(1))
        passed = ~trial.broken
        for name, (lo, hi) in target.items():
            # the whole line maps into itself, whether there are solutions or not
            passed &= np.isfinite(taken[name]).all(0) & (taken[name][0] <= lo) & (hi <= taken[name][1])
        if (passed | ring.broken).all():
            break
    ring.broken |= ~passed
    return around


def _range(ring: Boxes, outside: Callable[[Expr], Form], expr: Expr) -> Box:
    return ring.between(*outside(expr).ends)
