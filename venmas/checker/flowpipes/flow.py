"""Flows over affine forms: Taylor steps in time with a remainder over a box that the solution stays in.

A step of length h from the forms X of what moves:

1. a box B with ``X + [0, h] f(B)`` inside B: every solution from X exists on the step, is unique, and stays in B
   (Picard, Lindelof; Moore, *Interval Analysis*, 1966);
2. ``x(t) = sum_{k <= p} t^k x_k + t^{p+1} x_{p+1}(B)``, with the coefficients from X in forms, and the last one from B
   in intervals, as Lagrange's remainder is taken at some point of the solution;
3. what is rounded or left over becomes a symbol of its variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from venmas.budget import ask
from venmas.checker.flowpipes.forms import Form, Forms, between
from venmas.checker.flowpipes.intervals import Intervals
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.model.evaluation.cuts import Fineness
from venmas.model.evaluation.elementary.function import Pair
from venmas.model.evaluation.jets import Jets
from venmas.model.expressions.expr import Expr
from venmas.model.expressions.smooth_nodes import Extremum, Flow

_TRIES = 40
"""Boxes that are tried for a step."""
_FAR = 64
"""Bits before the point of what is too far away for a box."""


class Moved:
    """A flow from a state: what moves after the period, and the extrema that were asked for.

    start: forms of the variables that move. outside: form of what is constant over the period.
    """

    def __init__(
        self,
        ring: Forms,
        flow: Flow,
        start: Mapping[str, Form],
        outside: Callable[[Expr], Form],
        extrema: Sequence[Extremum],
        fine: Fineness,
    ) -> None:
        self.ring, self.flow, self.outside, self.fine = ring, flow, outside, fine
        self.intervals = Intervals(ring.bits)
        self.ends = dict(start)
        self.extrema: dict[Extremum, Pair] = {}
        self._constants: dict[int, tuple[Expr, Pair]] = {}
        self._length = flow.period / fine.substeps
        for _ in range(fine.substeps):
            ask()
            self._step(extrema)

    def extremum(self, node: Extremum) -> Form:
        """One of the extrema, with a symbol of its own."""
        return self.ring.fresh(between(*self.extrema[node]))

    def _step(self, extrema: Sequence[Extremum]) -> None:
        box, order, h = self._box(), self.fine.order, self._length
        jets = Jets(self.ring, self.flow, self.ends, self.outside)
        rest = Jets(self.intervals, self.flow, box, self._constant)
        looked: dict[int, tuple[list[Pair], list[Pair]]] = {}
        for node in extrema:
            expr = node.expr
            if id(expr) not in looked:
                looked[id(expr)] = self._looked(jets.of(expr, order), rest.of(expr, order + 1))
            found, before = _extremum(node, *looked[id(expr)]), self.extrema.get(node)
            if before is not None:
                pick = max if node.greatest else min
                found = pick(found[0], before[0]), pick(found[1], before[1])
            self.extrema[node] = found
        terms, last = jets.upto(order), rest.upto(order + 1)
        self.ends = {n: self.ring.fresh(self._at(terms[n], last[n][order + 1], h)) for n in self.flow.names}

    # -- 1 -------------------------------------------------------------------------------------------------------------

    def _box(self) -> dict[str, Pair]:
        """A box that every solution stays in. Raises `OutsideError` where none is found.

        Only sides that are left become wider: if all did, those of products (a yaw that follows from a roll times a
        rate) would have to grow faster than what they are made of, for ever.
        """
        start = {name: form.range for name, form in self.ends.items()}
        box = dict(start)
        for _ in range(_TRIES):
            rates = Jets(self.intervals, self.flow, box, self._constant).upto(1)
            reached = {name: self._swept(start[name], rates[name][1]) for name in box}
            left = [n for n, (low, high) in reached.items() if low < box[n][0] or box[n][1] < high]
            if not left:
                return reached
            if any(abs(end) >> self.ring.bits + _FAR for pair in reached.values() for end in pair):
                break  # each further box may have twice as many digits
            box |= {n: _wider(box[n], reached[n]) for n in left}
        raise OutsideError("no box is found that the flow stays in over a step; more steps in a period may help")

    def _swept(self, start: Pair, rate: Pair | None) -> Pair:
        """``start + [0, h] rate``."""
        low, high = self.intervals.scale(rate or (0, 0), self._length)
        return start[0] + min(low, 0), start[1] + max(high, 0)

    def _constant(self, expr: Expr) -> Pair:
        if id(expr) not in self._constants:
            self._constants[id(expr)] = expr, self.outside(expr).range
        return self._constants[id(expr)][1]

    # -- 2 -------------------------------------------------------------------------------------------------------------

    def _at(self, terms: Sequence[Form | None], rest: Pair | None, t: Fraction) -> Form:
        """The Taylor polynomial at a time of the step, with its remainder."""
        ring, order, power = self.ring, self.fine.order, Fraction(1)
        total = Form(0)
        for term in terms[: order + 1]:
            if term is not None:
                total = ring.add(total, ring.scale(term, power))
            power *= t
        return total if rest is None else ring.add(total, between(*self.intervals.scale(rest, power)))

    def _looked(self, terms: Sequence[Form | None], rest: Sequence[Pair | None]) -> tuple[list[Pair], list[Pair]]:
        """Ends of an expression over slices of a step, and at the times between them, the first and last included."""
        slices, order = self.fine.slices, self.fine.order
        times = [self._length * j / slices for j in range(slices + 1)]
        last, whole = rest[order + 1], rest[0] or (0, 0)
        at = [self._at(terms, last, t).range for t in times]
        over = []
        for a, b in pairwise(times):
            low, high = self._over(terms, a, b).range
            if last is not None:
                first, second = (self.intervals.scale(last, t ** (order + 1)) for t in (a, b))
                low, high = low + min(first[0], second[0]), high + max(first[1], second[1])
            over.append((max(low, whole[0]), min(high, whole[1])))
        return over, at

    def _over(self, terms: Sequence[Form | None], a: Fraction, b: Fraction) -> Form:
        """The Taylor polynomial over a slice: time is a symbol of its own, which is used nowhere else."""
        ring = self.ring
        middle, half = ring.constant((a + b) / 2), ring.constant((b - a) / 2)
        time = Form(middle.c, (*(0,) * ring.symbols, half.c), middle.e + half.e)
        total = Form(0)
        for term in reversed(terms[: self.fine.order + 1]):
            total = ring.multiply(total, time)
            if term is not None:
                total = ring.add(total, term)
        return total


def _extremum(node: Extremum, over: Sequence[Pair], at: Sequence[Pair]) -> Pair:
    """Ends of the least value: not below the least one of a slice, and not above that at any time; or the greatest."""
    if node.greatest:
        return max(low for low, _ in at), max(high for _, high in over)
    return min(low for low, _ in over), min(high for _, high in at)


def _wider(box: Pair, reached: Pair) -> Pair:
    """Around both, and a twentieth of it further."""
    low, high = min(box[0], reached[0]), max(box[1], reached[1])
    more = (high - low) // 20 + 1
    return low - more, high + more
