"""Flows over affine forms: Taylor series in time with a remainder over a box that solutions stay in.

For each of `substeps` equal parts of the period, of length h, from forms X (Moore, *Interval Analysis*, 1966; Nedialkov,
Jackson, Corliss, *Validated solutions of initial value problems for ordinary differential equations*, Applied
Mathematics and Computation 105, 1999):

    D with [0, h] f(X + D) inside D       Picard's operator keeps x0 + D for each x0 in X: a solution exists, is the only
                                          one, and stays in x0 + D
    end:    sum_{k<=p} h**k x_k(X) + h**(p+1) x_{p+1}(X + D)
    tube:   e(t) likewise for t in a *slice* of the part, e any expression

A row without such a D is broken, alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.rounding import FEW, TINY, Floats
from venmas.budget import ask
from venmas.model.expr import Expr
from venmas.model.smooth.jets import Jets
from venmas.model.smooth.nodes import Extremum, Flow

_TRIES = 12
_MORE = 0.1


@dataclass(frozen=True)
class Fineness:
    """How finely flows are enclosed. order: of Taylor series. substeps: of a period. slices: of a substep, for extrema.
    symbols: for each variable, beyond which symbols are boxed."""

    order: int = 4
    substeps: int = 1
    slices: int = 1
    symbols: int = 20


@dataclass
class _Part:
    """A part of the period: jets from where it starts, and those over the box in which it goes on."""

    length: Fraction
    jets: Jets[Form]
    around: Jets[Form]


class Course:
    """A flow followed over its period: `ends`, by variable, and the extrema of expressions on the way."""

    def __init__(self, ring: Forms, flow: Flow, start: Mapping[str, Form], outside: Callable[[Expr], Form], fine: Fineness):
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
        sign = Fraction(-1 if node.greatest else 1)
        tubes, points = [], []
        for part in self.parts:
            known, last = (jets.of(node.expr, self.fine.order + extra) for jets, extra in ((part.jets, 0), (part.around, 1)))
            for form, inside in self._slices(part.length, known, last):
                (points if inside is None else tubes).append(self.ring.scale(form, sign))
        lows = np.stack([form.ends[0] for form in tubes])
        lowest = lows.argmin(0)
        width = max(form.z.shape[1] for form in tubes)
        slope = np.stack([form.wide(width - 1) for form in tubes])[lowest, np.arange(self.ring.size)]
        around = Form(slope, np.zeros(self.ring.size))
        lo = np.min([self.ring.rest(form, around).ends[0] for form in tubes], axis=0)
        hi = np.min([self.ring.rest(form, around).ends[1] for form in points], axis=0)
        return self.ring.scale(self.ring.along(around, lo, np.maximum(hi, lo)), sign)

    def _slices(self, h: Fraction, known: list[Form | None], last: list[Form | None]):
        """Enclosures over slices of a part, with True, and at their ends, with None."""
        ring, p, count = self.ring, self.fine.order, self.fine.slices
        for i in range(count + 1):
            yield _sum(ring, known, last, h * i / count, p), None
        delta = h / (2 * count)
        for i in range(count):
            middle = h * (2 * i + 1) / (2 * count)
            # about the middle: sum_j y_j tau**j, y_j = sum_k binomial(k, j) known_k middle**(k-j)
            centre = ring.combine([(middle**k, a) for k, a in enumerate(known[: p + 1]) if a is not None])
            spread = np.zeros(ring.size)
            for j in range(1, p + 1):
                y = [(comb(k, j) * middle ** (k - j), a) for k, a in enumerate(known[: p + 1]) if a is not None and k >= j]
                if y:
                    spread = spread + ring.combine(y).size * float(delta**j)
            if last[p + 1] is not None:
                spread = spread + last[p + 1].size * float((middle + delta) ** (p + 1))
            spread = spread * (1 + 2 * p * FEW) + TINY
            yield Form(centre.z, (centre.e + spread) * (1 + FEW)), True


def _sum(ring: Forms, known: list[Form | None], last: list[Form | None], t: Fraction, order: int) -> Form:
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
