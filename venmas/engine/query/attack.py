"""Attack on a query in float32: random inputs, descent along gradients, and a local search, in turns.

samples of the boxes; some rounds of
    those nearest to each disjunct go down its slope, by signs times a part of the box that shrinks
    a local search from where they come, and from those nearest to the property
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf
from typing import TypeAlias

import numpy as np

from venmas.bounds.rounding import Floats, Index, float_beside
from venmas.budget import Budget
from venmas.engine.query.slopes import Goals
from venmas.formats.vnnlib.query import Query
from venmas.nn import Network
from venmas.procedures.branch_and_bound.bisect import Point

_SAMPLES = 2048
_NUMBERS = 1 << 22
"""Numbers of a batch, of queries with so many disjuncts that samples are fewer."""
_PARENTS = 64
_ROUNDS, _EVERY = 24, 12
"""Rounds from the same samples, and after how many gradients are followed again."""
_SHRINK = 0.7
_DESCENTS = 64
_STEPS = 0.25 * 0.04 ** np.linspace(0.0, 1.0, 15)
"""Steps of a descent, as parts of a side."""
_TRIED = 8
"""Points of one round that are run as deployed."""

Hit: TypeAlias = tuple[Point, tuple[Fraction, ...]]
"""Inputs and outputs of a counterexample."""


class Attack:
    """Attacks on a query about networks; miss: by how little the property was missed, and where (in floats)."""

    def __init__(
        self,
        networks: Sequence[Network],
        query: Query,
        shown: Callable[[Point], tuple[Fraction, ...] | None],
    ) -> None:
        """shown: the outputs as deployed, where the property holds with them."""
        self._goals, self._shown = Goals(networks, query), shown
        boxes = [(box, number) for number, case in enumerate(query.cases) for box in case.boxes]
        sides = [[[_single(ends[k], (1, -1)[k]) for ends in box] for box, _ in boxes] for k in (0, 1)]
        low, high = (np.array(side).reshape(len(boxes), query.inputs) for side in sides)
        held = (low <= high).all(1)  # no float32 is in the others
        self._low, self._high = low[held], high[held]
        self._case = np.array([number for _, number in boxes], dtype=np.intp)[held]
        self.miss: tuple[float, tuple[float, ...]] = (inf, ())

    def run(self, budget: Budget, seconds: float, seed: int = 0) -> Hit | None:
        """Inputs in float32, and the outputs with which the property holds there, or None after some seconds."""
        rng, end = np.random.default_rng(seed), budget.spent + seconds
        while len(self._case) and budget.spent < end:
            if (hit := self._restart(rng, budget, end)) is not None:
                return hit
        return None

    def _restart(self, rng: np.random.Generator, budget: Budget, end: float) -> Hit | None:
        count = min(_SAMPLES, max(_PARENTS, _NUMBERS // self._goals.width))
        own = rng.integers(len(self._case), size=count)
        where = rng.uniform(-0.25, 1.25, (count, self._low.shape[1])).clip(0.0, 1.0)  # faces and corners among them
        x, radius = self._low[own] + where * (self._high[own] - self._low[own]), 0.25
        for number in range(_ROUNDS):
            budget()
            x = x.astype(np.float32).astype(float)
            margins = self._goals.margins(x, self._case[own])
            nearest = margins.min(1)
            if (hit := self._met(x, nearest)) is not None:
                return hit
            order = np.argsort(nearest)[:_PARENTS]
            parents, roots = x[order], own[order]
            if number % _EVERY == 0:
                rows, goal = _starts(margins)
                ends, hit = self._descend(x[rows], own[rows], goal, budget, end)
                if hit is not None:
                    return hit
                parents, roots = np.concatenate([ends, parents]), np.concatenate([own[rows], roots])
            if budget.spent > end:
                return None
            pick = rng.integers(len(parents), size=count)
            pick[: len(parents)] = np.arange(len(parents))[:count]
            step = rng.normal(0.0, radius, x.shape) * (rng.random(x.shape) < 0.5)
            step[: len(parents)] = 0.0
            own = roots[pick]
            low, high = self._low[own], self._high[own]
            x = (parents[pick] + step * (high - low)).clip(low, high)
            radius *= _SHRINK
        return None

    def _met(self, x: Floats, margins: Floats) -> Hit | None:
        """A hit among inputs (B, n) with their margins (B,); the nearest one is kept."""
        order = np.argsort(margins)[:_TRIED]
        if margins[order[0]] < self.miss[0]:
            self.miss = float(margins[order[0]]), tuple(x[order[0]].tolist())
        for at in order[margins[order] <= 0]:
            point = tuple(Fraction(v) for v in x[at].tolist())
            if (outputs := self._shown(point)) is not None:
                return point, outputs
        return None

    def _descend(self, x: Floats, own: Index, goal: Index, budget: Budget, end: float) -> tuple[Floats, Hit | None]:
        """The best of the inputs on the way down from x (B, n) to one goal each, and a hit among them."""
        low, high = self._low[own], self._high[own]
        best, least = x.copy(), np.full(len(x), inf)
        hinges = np.arange(len(x)) % 2 == 1
        for size in _STEPS if len(x) else ():
            budget()
            margin, slope = self._goals.slope(x, goal, hinges)
            better = margin < least
            best[better], least[better] = x[better], margin[better]
            if (hit := self._met(x, margin)) is not None or budget.spent > end:
                return best, hit
            x = (x - np.sign(slope) * size * (high - low)).clip(low, high).astype(np.float32).astype(float)
        return best, None


def _starts(margins: Floats) -> tuple[Index, Index]:
    """Samples that descend, those nearest to each goal, and that goal; margins (B, G)."""
    each = min(len(margins), max(1, _DESCENTS // margins.shape[1]))
    rows = np.argpartition(margins, each - 1, axis=0)[:each]
    goals = np.broadcast_to(np.arange(margins.shape[1]), rows.shape).ravel()
    rows = rows.ravel()
    distance = margins[rows, goals]
    best = np.argsort(distance, kind="stable")[:_DESCENTS]
    best = best[np.isfinite(distance[best])]
    return rows[best], goals[best]


def _single(value: Fraction, direction: int) -> float:
    """The float32 next to a rational that is not above it (direction -1), or not below it (1)."""
    with np.errstate(over="ignore"):
        near = np.float32(float_beside(value, direction))
    if not np.isfinite(near):
        return float(np.sign(near)) * float(np.finfo(np.float32).max)
    beyond = Fraction(float(near)) >= value if direction > 0 else Fraction(float(near)) <= value
    return float(near if beyond else np.nextafter(near, np.float32(direction * np.inf)))
