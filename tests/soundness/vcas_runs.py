"""Runs of the published VerticalCAS loop from an interval of altitudes, exactly, written without the verifier.

The climb rate is one number along a path, so a run is an advisory that changes at altitudes which are kinks of the
networks: open intervals with one advisory each, and the points between them, which are stepped on their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from tests.soundness.regions import Piece, Q, Vector, q, through
from venmas.nn import Network

G = q(322, 10)
PULLS = {1: (-G / 8, q(0), G / 8)}
PULLS |= dict.fromkeys((2, 4), (-G / 3, -7 * G / 24, -G / 4)) | dict.fromkeys((3, 5), (G / 4, 7 * G / 24, G / 3))
PULLS |= dict.fromkeys((6, 8), (-G / 3,) * 3) | dict.fromkeys((7, 9), (G / 3,) * 3)
AT_MOST = {2: 0, 4: -1500, 6: -1500, 8: -2500}
AT_LEAST = {3: 0, 5: 1500, 7: 1500, 9: 2500}


@dataclass(frozen=True)
class Loop:
    """The nine networks, by advisory."""

    networks: Sequence[Network]

    def advice(self, h: Q, climb: Q, tau: int, adv: int) -> int:
        """At one point."""
        point = [Fraction(int(v.numerator), int(v.denominator)) for v in _inputs(h, climb, tau)]
        scores = self._network(adv).evaluate_exact(point)
        return 1 + scores.index(max(scores))

    def parts(self, low: Q, high: Q, climb: Q, tau: int, adv: int) -> list[tuple[Q, Q, int]]:
        """The open intervals of altitude in (low, high) with one advisory each, in order."""
        start = Piece(((low,), (high,)), (_inputs(low, climb, tau), _inputs(high, climb, tau)))
        found: list[tuple[Q, Q, int]] = []
        for piece in through(self._network(adv), start):
            cells = [piece]
            for i in range(9):
                for k in range(i):
                    cells = [c for cell in cells for c, _ in cell.cut([v[i] - v[k] for v in cell.values])]
            for cell in cells:
                (a,), (b,) = sorted(cell.points)
                middle: Vector = tuple(x + y for x, y in zip(*cell.values, strict=True))
                found.append((a, b, 1 + middle.index(max(middle))))
        return sorted(found)

    def _network(self, adv: int) -> Network:
        return self.networks[adv - 1]


def _inputs(h: Q, climb: Q, tau: int) -> Vector:
    return (h / 16000, climb / 5000, q(tau - 20, 40))


def _answers(climb: Q, before: int, now: int) -> set[Q]:
    """The accelerations that the pilot may choose."""
    complies = (now in AT_MOST and climb <= AT_MOST[now]) or (now in AT_LEAST and climb >= AT_LEAST[now])
    keeps = before == now and complies
    return {q(0)} if keeps else set(PULLS[now])


def least_altitude(loop: Loop, low: Q, high: Q, climb: Q, steps: int, tau: int = 25) -> tuple[Q, bool]:
    """The greatest lower bound of h after `steps` steps from adv = 1 and h in [low, high]; whether it is attained."""
    ends = [*_points(loop, low, climb, tau, 1, steps), *_points(loop, high, climb, tau, 1, steps)]
    found = [(h, True) for h in ends] + list(_inside(loop, low, high, climb, tau, 1, steps))
    least = min(h for h, _ in found)
    return least, any(attained for h, attained in found if h == least)


def _points(loop: Loop, h: Q, climb: Q, tau: int, adv: int, steps: int) -> Iterator[Q]:
    if not steps:
        yield h
        return
    now = loop.advice(h, climb, tau, adv)
    for a in _answers(climb, adv, now):
        yield from _points(loop, h - climb - a / 2, climb + a, tau - 1, now, steps - 1)


def _inside(loop: Loop, low: Q, high: Q, climb: Q, tau: int, adv: int, steps: int) -> Iterator[tuple[Q, bool]]:
    """From the open interval (low, high)."""
    if not steps:
        yield low, False
        return
    parts = loop.parts(low, high, climb, tau, adv)
    for (_, end, _), _ in pairwise(parts):
        yield from ((h, True) for h in _points(loop, end, climb, tau, adv, steps))
    for a, b, now in parts:
        for pull in _answers(climb, adv, now):
            move = -climb - pull / 2
            yield from _inside(loop, a + move, b + move, climb + pull, tau - 1, now, steps - 1)


def flips(loop: Loop, low: Q, high: Q, climb: Q) -> list[tuple[Q, Q, int, int]]:
    """Where the first advisory changes: where, where the part below begins, its advisory, and that at the point."""
    parts: list[tuple[Q, Q, int]] = []
    for a, b, now in loop.parts(low, high, climb, 25, 1):
        if parts and parts[-1][2] == now and loop.advice(a, climb, 25, 1) == now:
            parts[-1] = (parts[-1][0], b, now)
        else:
            parts.append((a, b, now))
    return [(b, a, now, loop.advice(b, climb, 25, 1)) for (a, b, now), _ in pairwise(parts)]
