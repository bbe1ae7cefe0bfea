"""Flows over one period in balls: existence, ends, and extrema between samples, each an enclosure of the real value.

A step of length h starts from a ball X. Picard: a box B with X + [0, h] f(B) inside B holds the only solution (Moore,
*Interval Analysis*, 1966; Nedialkov, Jackson, Corliss, *Validated solutions of initial value problems for ODEs*, 1999).
Its end is ``sum_{k <= p} h^k x_k + h^{p+1} x_{p+1}(B)``. Boxes and remainders are found with few bits; h and p are
chosen so that the remainder is below the last bit of X.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import log2

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.model.expr import Expr
from venmas.model.smooth.balls import Ball, Balls, OpenValueError
from venmas.model.smooth.jets import Jets
from venmas.model.smooth.nodes import Extremum, Flow

_COARSE = Balls(96)
_ROUNDS, _HALVINGS = 12, 24


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
        self._flow, self._ring, self._value = flow, ring, value
        self._pieces: list[_Piece] = []
        state = {v.name: value(v) for v in flow.variables}
        left = step = flow.period
        while left:
            piece = self._piece(state, min(step, left))
            self._pieces.append(piece)
            state = {
                name: self._at(piece, row, piece.length, piece.over.upto(piece.order + 1)[name])
                for name, row in piece.jets.upto(piece.order).items()
            }
            step, left = 2 * piece.length, left - piece.length
        self.ends: Mapping[str, Ball] = state

    def _piece(self, state: Mapping[str, Ball], length: Fraction) -> _Piece:
        around = {name: _COARSE.taken(ball) for name, ball in state.items()}
        least = self._flow.period / 2**_HALVINGS
        why = "it may leave every box that was tried"
        while length >= least:
            ask()
            try:
                box = self._picard(around, length)
                if box is not None:
                    over = Jets(_COARSE, self._flow, box, self._outside)
                    order = self._order(over, length)
                    if order is not None:
                        return _Piece(length, Jets(self._ring, self._flow, state, self._value), over, order)
            except (OpenValueError, ModelError) as error:  # of some state in the box
                why = str(error)
            length /= 2
        raise OpenValueError(f"a flow may have no solution over its period of {self._flow.period}: {why}")

    def _outside(self, expr: Expr) -> Ball:
        return _COARSE.taken(self._value(expr))

    def _picard(self, start: Mapping[str, Ball], length: Fraction) -> dict[str, Ball] | None:
        """A box that every solution from `start` stays in for so long, None where none is found."""
        box = dict(start)
        for _ in range(_ROUNDS):
            jets = Jets(_COARSE, self._flow, box, self._outside)
            slopes = {v.name: jets.of(rate, 0)[0] for v, rate in self._flow.rates}
            found = {name: _swept(start[name], slopes[name], length) for name in box}
            if all(_inside(found[name], box[name]) for name in box):
                return box
            box = {name: Ball(b.mid, b.rad + (b.rad >> 3) + (1 << 20), b.bits) for name, b in found.items()}
        return None

    def _order(self, over: Jets[Ball], length: Fraction) -> int | None:
        """The least order whose remainder is below the last bit, None where that is too great."""
        if self._ring.bits < _COARSE.bits:
            raise AssertionError("the remainder is known to fewer bits than it is used with")
        step = log2(length)
        for order in range(4, max(16, self._ring.bits // 3)):
            terms = [row[order + 1] for row in over.upto(order + 1).values()]
            size = max((abs(t.mid) + t.rad for t in terms if t is not None), default=0)
            if not size or log2(size) - _COARSE.bits + (order + 1) * step <= -self._ring.bits:
                return order
        return None

    def _at(self, piece: _Piece, terms: list[Ball | None], t: Fraction | Ball, last: list[Ball | None]) -> Ball:
        """A series of the piece at a time, or over times, with the remainder that `last` gives over the whole step."""
        ring = self._ring
        total = ring.constant(Fraction(0))
        for term in reversed(terms[: piece.order + 1]):
            total = ring.scale(total, t) if isinstance(t, Fraction) else ring.multiply(total, t)
            total = total if term is None else ring.add(total, term)
        return ring.add(total, self._remainder(last[piece.order + 1], piece.length, piece.order + 1))

    def _remainder(self, term: Ball | None, length: Fraction, power: int) -> Ball:
        if term is None:
            return self._ring.constant(Fraction(0))
        top, bottom = length.numerator**power, length.denominator**power << term.bits
        size = -(-((abs(term.mid) + term.rad) * top << self._ring.bits) // bottom)
        return Ball(0, size, self._ring.bits)

    # -- extrema -------------------------------------------------------------------------------------------------------

    def extremum(self, node: Extremum) -> Ball:
        """The least or greatest value over the closed period: by bisection of time, as long as slices matter."""
        sign = Fraction(-1 if node.greatest else 1)
        found: list[tuple[int, int]] = []
        for piece in self._pieces:
            found += self._lows(piece, node.expr, sign)
        best = self._ring.of(min(low for low, _ in found), min(high for _, high in found))
        return self._ring.scale(best, sign)

    def _lows(self, piece: _Piece, expr: Expr, sign: Fraction) -> list[tuple[int, int]]:
        """Ends (low, high) of the least value of ``sign * expr`` over each part of a piece."""
        ring = self._ring
        terms = piece.jets.of(expr, piece.order)
        last = piece.over.of(expr, piece.order + 1)
        slope: list[Ball | None] = [
            None if c is None else ring.scale(c, Fraction(k)) for k, c in enumerate(terms[: piece.order + 1])
        ][1:]
        edge = last[piece.order + 1]
        rest = self._remainder(
            None if edge is None else _COARSE.scale(edge, Fraction(piece.order + 1)), piece.length, piece.order
        )

        def at(t: Fraction) -> Ball:
            return ring.scale(self._at(piece, terms, t, last), sign)

        def rate(a: Fraction, b: Fraction) -> Ball:
            time, total = _between(ring, a, b), ring.constant(Fraction(0))
            for term in reversed(slope):
                total = ring.multiply(total, time)
                total = total if term is None else ring.add(total, term)
            return ring.scale(ring.add(total, rest), sign)

        done: list[tuple[int, int]] = []
        best = min(_ends(at(Fraction(0)))[1], _ends(at(piece.length))[1])
        open_ = [(Fraction(0), piece.length, 0)]
        while open_:
            ask()
            a, b, depth = open_.pop()
            slopes, middle = rate(a, b), at((a + b) / 2)
            best = min(best, _ends(middle)[1])
            reach = ring.multiply(slopes, _between(ring, (a - b) / 2, (b - a) / 2))
            low = _ends(ring.add(middle, reach))[0]
            if low > best:
                continue
            if abs(slopes.mid) >= slopes.rad:  # monotone: the least value is that of an end
                done.append(_ends(at(a if slopes.mid > 0 else b)))
            elif depth >= ring.bits // 2 or _ends(middle)[1] - low <= 64:
                done.append((low, _ends(middle)[1]))
            else:
                half = (a + b) / 2
                open_ += [(a, half, depth + 1), (half, b, depth + 1)]
        return [*done, (best, best)] if not done else done


def _ends(ball: Ball) -> tuple[int, int]:
    return ball.mid - ball.rad, ball.mid + ball.rad


def _between(ring: Balls, low: Fraction, high: Fraction) -> Ball:
    first, last = ring.constant(low), ring.constant(high)
    return ring.of(_ends(first)[0], _ends(last)[1])


def _swept(start: Ball, slope: Ball | None, length: Fraction) -> Ball:
    """``start + [0, length] slope``."""
    if slope is None:
        return start
    low, high = _ends(_COARSE.scale(slope, length))
    return _COARSE.of(start.mid - start.rad + min(0, low), start.mid + start.rad + max(0, high))


def _inside(inner: Ball, outer: Ball) -> bool:
    return abs(inner.mid - outer.mid) + inner.rad <= outer.rad
