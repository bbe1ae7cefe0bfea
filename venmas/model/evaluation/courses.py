"""Flows over one period in balls: existence, ends, and extrema between samples, each an enclosure of the real value.

A step of length h starts from a ball X. Picard: a box B with X + [0, h] f(B) inside B holds the only solution (Moore,
*Interval Analysis*, 1966; Nedialkov, Jackson, Corliss, *Validated solutions of initial value problems for ODEs*, 1999).
Its end is ``sum_{k <= p} h^k x_k + h^{p+1} x_{p+1}(B)``. Boxes and remainders are found with few bits; h and p are
chosen so that the remainder is below the last bit of X, in parts of X where that is beyond 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log2

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.model.evaluation.balls import Ball, Balls, OpenValueError
from venmas.model.evaluation.jets import Jets
from venmas.model.expressions.expr import Expr
from venmas.model.expressions.smooth_nodes import Extremum, Flow

_ROUNDS, _HALVINGS = 12, 24
_LEFT = 12
"""Bits that are to be left of values where they are not lost to what a period starts with: else ever shorter steps are
taken, and more bits do better."""


@dataclass(frozen=True)
class _Piece:
    """A step: its length, the jets from its start, those over its box (which hold remainders), and their order."""

    length: Fraction
    jets: Jets[Ball]
    over: Jets[Ball]
    order: int


class BallCourse:
    """A flow followed over its period, `ends` by variable. Raises `OpenValueError` where it may not exist."""

    def __init__(self, flow: Flow, ring: Balls, value: Callable[[Expr], Ball]) -> None:
        """value: of expressions where the period starts."""
        self._flow, self.ring, self._of, self._widest = flow, ring, value, 0
        self._coarse = Balls(96 + ring.bits // 2)
        self._pieces: list[_Piece] = []
        state = {v.name: self._value(v) for v in flow.variables}
        left = step = flow.period
        while left:
            piece = self._piece(state, min(step, left))
            self._pieces.append(piece)
            state = {name: self._end(piece, name) for name in flow.names}
            lost = (ball for ball in state.values() if ball.rad > self._widest << _LEFT)
            if any(ball.rad << _LEFT > max(abs(ball.mid), 1 << ball.bits) for ball in lost):
                raise OpenValueError(f"a flow over its period of {flow.period} loses the digits it is computed with")
            step, left = 2 * piece.length, left - piece.length
        self.ends: Mapping[str, Ball] = state

    def _value(self, expr: Expr) -> Ball:
        ball = self._of(expr)
        self._widest = max(self._widest, ball.rad)
        return ball

    def _end(self, piece: _Piece, name: str) -> Ball:
        terms = piece.jets.upto(piece.order)[name][: piece.order + 1]
        edge = piece.over.upto(piece.order + 1)[name][piece.order + 1]
        return series(self.ring, terms, piece.length, remainder(self.ring, edge, piece.length, piece.order + 1))

    def _piece(self, state: Mapping[str, Ball], length: Fraction) -> _Piece:
        around = {name: self._coarse.taken(ball) for name, ball in state.items()}
        least = self._flow.period / 2**_HALVINGS
        why = "it may leave every box that was tried"
        while length >= least:
            ask()
            try:
                box = self._picard(around, length)
                if box is not None:
                    over = Jets(self._coarse, self._flow, box, self._outside)
                    order = self._order(over, length)
                    if order is not None:
                        return _Piece(length, Jets(self.ring, self._flow, state, self._value), over, order)
            except (OpenValueError, ModelError) as error:  # of some state in the box
                why = str(error)
            length /= 2
        raise OpenValueError(f"a flow may have no solution over its period of {self._flow.period}: {why}")

    def _outside(self, expr: Expr) -> Ball:
        return self._coarse.taken(self._value(expr))

    def _picard(self, start: Mapping[str, Ball], length: Fraction) -> dict[str, Ball] | None:
        """A box that every solution from `start` stays in for so long, None where none is found."""
        box = dict(start)
        for _ in range(_ROUNDS):
            jets = Jets(self._coarse, self._flow, box, self._outside)
            slopes = {v.name: jets.of(rate, 0)[0] for v, rate in self._flow.rates}
            image = {name: self._swept(start[name], slopes[name], length) for name in box}
            if all(_inside(image[name], box[name]) for name in box):
                return box
            box = {name: Ball(b.mid, b.rad + (b.rad >> 3) + (1 << (b.bits >> 1)), b.bits) for name, b in image.items()}
        return None

    def _swept(self, start: Ball, slope: Ball | None, length: Fraction) -> Ball:
        """``start + [0, length] slope``."""
        if slope is None:
            return start
        low, high = _ends(self._coarse.scale(slope, length))
        return self._coarse.of(start.mid - start.rad + min(0, low), start.mid + start.rad + max(0, high))

    def _order(self, over: Jets[Ball], length: Fraction) -> int | None:
        """The least order whose remainders are below the last bit, of values above 1 relative to their size; None where
        that is too great."""
        step = log2(length)
        sizes = {name: max(0.0, self._log(row[0])) - self.ring.bits for name, row in over.upto(0).items()}
        for order in range(4, max(16, self.ring.bits // 3)):
            rows = over.upto(order + 1).items()
            if all(self._log(row[order + 1]) + (order + 1) * step <= sizes[name] for name, row in rows):
                return order
        return None

    def _log(self, term: Ball | None) -> float:
        """The logarithm of the greatest absolute value."""
        size = 0 if term is None else abs(term.mid) + term.rad
        return log2(size) - self._coarse.bits if size else -inf

    # -- extrema -------------------------------------------------------------------------------------------------------

    def extremum(self, node: Extremum) -> Ball:
        """The least or greatest value over the closed period: by bisection of time, as long as slices matter."""
        ring, sign = self.ring, Fraction(-1 if node.greatest else 1)
        slices = [_Slices(self, piece, node.expr, sign) for piece in self._pieces]
        known = [_ends(s.at(t)) for s in slices for t in (Fraction(0), s.piece.length)]
        best = min(high for _, high in known)  # an upper end of the least value
        lows = [min(low for low, _ in known)]
        for each in slices:
            best, low = each.least(best)
            lows.append(low)
        return ring.scale(ring.of(min(lows), best), sign)


class _Slices:
    """``sign * expr`` over a step: bisection of its time, by values at middles and rates of change in between."""

    def __init__(self, course: BallCourse, piece: _Piece, expr: Expr, sign: Fraction) -> None:
        self._ring, self.piece, order = course.ring, piece, piece.order
        self._terms = [
            None if c is None else self._ring.scale(c, sign) for c in piece.jets.of(expr, order)[: order + 1]
        ]
        self._slopes = [None if c is None else self._ring.scale(c, Fraction(k)) for k, c in enumerate(self._terms)][1:]
        edge = piece.over.of(expr, order + 1)[order + 1]
        self._rest = remainder(self._ring, edge, piece.length, order + 1)
        self._bend = self._ring.scale(remainder(self._ring, edge, piece.length, order), Fraction(order + 1))

    def at(self, t: Fraction) -> Ball:
        """The value at a time of the step."""
        return series(self._ring, self._terms, t, self._rest)

    def least(self, best: int) -> tuple[int, int]:
        """Upper end of the least value so far and in this step, and a lower end of what may be below it here."""
        ring, lows = self._ring, [best]
        waiting = [(Fraction(0), self.piece.length, 0)]
        while waiting:
            ask()
            a, b, depth = waiting.pop()
            slope, middle = series(ring, self._slopes, _between(ring, a, b), self._bend), self.at((a + b) / 2)
            best = min(best, _ends(middle)[1])
            low = _ends(ring.add(middle, ring.multiply(slope, _between(ring, (a - b) / 2, (b - a) / 2))))[0]
            if low > best:
                continue
            if abs(slope.mid) >= slope.rad:  # monotone: the least value is that of an end
                ends = _ends(self.at(a if slope.mid > 0 else b))
                best = min(best, ends[1])
                lows.append(ends[0])
            elif depth >= ring.bits // 2 or _ends(middle)[1] - low <= max(64, 8 * middle.rad):  # no slice is sharper
                lows.append(low)
            else:
                half = (a + b) / 2
                waiting += [(a, half, depth + 1), (half, b, depth + 1)]
        return best, min(lows)


def series(ring: Balls, terms: Sequence[Ball | None], t: Fraction | Ball, rest: Ball) -> Ball:
    """``sum terms_k t^k + rest`` at a time, or over times."""
    total = ring.constant(Fraction(0))
    for term in reversed(terms):
        total = ring.scale(total, t) if isinstance(t, Fraction) else ring.multiply(total, t)
        total = total if term is None else ring.add(total, term)
    return ring.add(total, rest)


def remainder(ring: Balls, term: Ball | None, length: Fraction, power: int) -> Ball:
    """``[-1, 1] |term| length^power``."""
    if term is None:
        return ring.constant(Fraction(0))
    top, bottom = length.numerator**power, length.denominator**power << term.bits
    return Ball(0, -(-((abs(term.mid) + term.rad) * top << ring.bits) // bottom), ring.bits)


def _ends(ball: Ball) -> tuple[int, int]:
    return ball.mid - ball.rad, ball.mid + ball.rad


def _between(ring: Balls, low: Fraction, high: Fraction) -> Ball:
    first, last = ring.constant(low), ring.constant(high)
    return ring.of(_ends(first)[0], _ends(last)[1])


def _inside(inner: Ball, outer: Ball) -> bool:
    return abs(inner.mid - outer.mid) + inner.rad <= outer.rad
