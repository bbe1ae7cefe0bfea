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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.rounding import FEW, TINY, Floats
from venmas.budget import ask
from venmas.model.expr import Expr
from venmas.model.smooth.cuts import Fineness
from venmas.model.smooth.jets import Jets
from venmas.model.smooth.nodes import Extremum, Flow

_TRIES = 12
_MORE = 0.1


@dataclass
class _Part:
    """A part of the period: jets from where it starts, and those over the box in which it goes on."""

    length: Fraction
    jets: Jets[Form]
    around: Jets[Form]


class Course:
    """A flow followed over its period: `ends`, by variable, and the extrema of expressions on the way."""

    def __init__(
        self, ring: Forms, flow: Flow, start: Mapping[str, Form], outside: Callable[[Expr], Form], fine: Fineness
    ) -> None:
        """start: forms of the variables that move. outside: the value of what is constant over the period."""
        self.ring, self.fine = ring, fine
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
            ends = {name: _sum(ring, jets.state[name], last[name], h, fine.order) for name in flow.names}
            state = {name: ring.fresh(form) for name, form in ends.items()}
        self.ends = state

    def extremum(self, node: Extremum) -> Form:
        """The least or greatest value: between that of the enclosures of all slices and that at their ends.

        Both sides are told around the linear part of the slice that comes lowest, so that the result still depends on
        the initial values.
        """
        ring, sign, p = self.ring, Fraction(-1 if node.greatest else 1), self.fine.order
        tubes: list[Form] = []
        points: list[Form] = []
        for part in self.parts:
            known, last = part.jets.of(node.expr, p), part.around.of(node.expr, p + 1)
            for i in range(self.fine.slices + 1):
                points.append(ring.scale(_sum(ring, known, last, part.length * i / self.fine.slices, p), sign))
            tubes += (ring.scale(form, sign) for form in self._slices(part.length, known, last[p + 1]))
        lowest = np.stack([form.ends[0] for form in tubes]).argmin(0)
        width = max(form.z.shape[1] for form in tubes)
        slope = np.stack([form.wide(width - 1) for form in tubes])[lowest, np.arange(ring.size)]
        along = Form(slope, np.zeros(ring.size))
        low = np.min([ring.rest(form, along).ends[0] for form in tubes], axis=0)
        high = np.min([ring.rest(form, along).ends[1] for form in points], axis=0)
        return ring.scale(ring.along(along, low, np.maximum(high, low)), sign)

    def _slices(self, length: Fraction, known: Sequence[Form | None], rest: Form | None) -> Iterator[Form]:
        """Enclosures over slices of a part: about the middle of each, the terms of time in the radius."""
        ring, p = self.ring, self.fine.order
        terms = [(k, a) for k, a in enumerate(known[: p + 1]) if a is not None]
        half = length / (2 * self.fine.slices)
        for i in range(self.fine.slices):
            middle = (2 * i + 1) * half
            centre = ring.combine([(middle**k, a) for k, a in terms])
            spread = np.zeros(ring.size)
            for j in range(1, p + 1):  # of tau**j, |tau| <= half: sum of binomial(k, j) known_k middle**(k - j)
                above = [(comb(k, j) * middle ** (k - j), a) for k, a in terms if k >= j]
                spread = spread + ring.combine(above).size * float(half**j)
            if rest is not None:
                spread = spread + rest.size * float((middle + half) ** (p + 1))
            yield Form(centre.z, (centre.e + spread * (1 + 2 * p * FEW)) * (1 + FEW) + TINY)


def _sum(ring: Forms, known: Sequence[Form | None], last: Sequence[Form | None], t: Fraction, order: int) -> Form:
    """The series at time t with its remainder."""
    terms = [(t**k, a) for k, a in enumerate(known[: order + 1]) if a is not None]
    if (rest := last[order + 1]) is not None:
        terms.append((t ** (order + 1), rest))
    return ring.combine(terms)


def _boxed(
    ring: Forms, flow: Flow, state: Mapping[str, Form], jets: Jets[Form], outside: Callable[[Expr], Form], h: Fraction
) -> Jets[Form]:
    """The jets over X + D, for a D that passes Picard's test; rows without one are broken."""
    up = float(h) * (1 + FEW)

    def reach(rates: Mapping[str, list[Form | None]]) -> dict[str, tuple[Floats, Floats]]:
        """[0, h] times the rates, rounded outward."""
        found = {}
        for name in flow.names:
            rate = rates[name][1]
            lo, hi = (np.zeros(ring.size),) * 2 if rate is None else rate.ends
            found[name] = np.minimum(lo * up - TINY, 0.0), np.maximum(hi * up + TINY, 0.0)
        return found

    wanted = reach(jets.upto(1))
    passed = np.zeros(ring.size, dtype=bool)
    taken: dict[str, tuple[Floats, Floats]] = {}
    for _ in range(_TRIES):
        for name, (lo, hi) in wanted.items():
            more = _MORE * (hi - lo) + 1e-9 * np.abs(state[name].z[:, 0]) * up
            new = lo - more, hi + more
            old = taken.get(name, new)
            taken[name] = np.where(passed, old[0], new[0]), np.where(passed, old[1], new[1])
        trial = Forms(ring.size, ring.symbols)
        start = {name: ring.add(state[name], ring.between(*taken[name])) for name in flow.names}
        around = Jets(trial, flow, start, outside)
        wanted = reach(around.upto(1))
        passed = ~trial.broken
        for name, (lo, hi) in wanted.items():
            passed &= (taken[name][0] <= lo) & (hi <= taken[name][1])
        if (passed | ring.broken).all():
            break
    ring.broken |= ~passed
    around.ring = ring  # the coefficients of higher order
    return around
