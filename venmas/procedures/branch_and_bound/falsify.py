"""Points that may answer a query: found in floats, confirmed in rationals.

A point counts only where the condition holds exactly. Of the rationals near a float point, numbers of single precision
are tried first, as deployed networks read such inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from venmas.bounds.crown_plan import Plan
from venmas.bounds.rounding import Floats, float_beside
from venmas.model.transform.program import Box

_SAMPLES = 2000
_GLANCED = 32
_POPULATION = 100
_CHILDREN = 5
_ROUNDS = 150
_FURTHER = 10
"""Rounds after the first success, for a margin."""


def floats(boxes: Sequence[Box]) -> tuple[Floats, Floats]:
    """Boxes (B, m) of floats that contain rational ones."""
    low = np.array([[float_beside(a, -1) for a, _ in box] for box in boxes]).reshape(len(boxes), -1)
    high = np.array([[float_beside(b, 1) for _, b in box] for box in boxes]).reshape(len(boxes), -1)
    return low, high


def confirm(plan: Plan, box: Box, x: Floats) -> tuple[Fraction, ...] | None:
    """A rational point of the box next to x (m,) where the condition holds exactly, or None."""
    tried = set()
    for precision in (np.float32, np.float64):
        point = tuple(_inside(v, low, high, precision) for v, (low, high) in zip(x, box, strict=True))
        if point not in tried and plan.holds(point):
            return point
        tried.add(point)
    return None


def _inside(value: float, low: Fraction, high: Fraction, precision: type[np.floating]) -> Fraction:
    """The number of this precision next to `value` in [low, high]; an end where none lies there."""
    with np.errstate(over="ignore"):
        near = precision(value)
    for _ in range(2):
        if not np.isfinite(near):
            break
        exact = Fraction(float(near))
        if low <= exact <= high:
            return exact
        near = np.nextafter(near, precision(np.inf if exact < low else -np.inf))
    return min(max(Fraction(float(value)), low), high)


def glance(plan: Plan, boxes: Sequence[Box]) -> tuple[Fraction, ...] | None:
    """The best of a few points, where it meets the condition: what is false at most points is seen at once."""
    low, high = floats(boxes)
    random = np.random.default_rng(1)
    index = np.arange(_GLANCED) % len(low)
    part = np.rint(random.random((_GLANCED, low.shape[1])))  # corners
    part[::4] = 0.5
    with np.errstate(all="ignore"):
        x = low[index] + part * (high[index] - low[index])
        distance = np.nan_to_num(plan.violation(plan.values(x)), nan=np.inf)
    at = int(distance.argmin())
    return confirm(plan, boxes[index[at]], x[at]) if distance[at] <= 0 else None


def search(plan: Plan, boxes: Sequence[Box], tick: Callable[[], None]) -> tuple[Fraction, ...] | None:
    """What `Falsifier` finds."""
    return Falsifier(plan, boxes, tick).run()


class Falsifier:
    """A random local search for points that meet the condition, with steps of all sizes.

    Where several constraints must hold together, the distance to meet is a maximum, on whose ridges gradients stall;
    small populations that keep what is better do not.
    """

    def __init__(self, plan: Plan, boxes: Sequence[Box], tick: Callable[[], None]) -> None:
        self.plan, self.boxes, self.tick = plan, boxes, tick
        self.low, self.high = floats(boxes)
        self._random = np.random.default_rng(1)

    def run(self) -> tuple[Fraction, ...] | None:
        """Search for a moment."""
        with np.errstate(all="ignore"):
            return self._search(self._samples())

    def _samples(self) -> tuple[np.ndarray, Floats]:
        index = self._random.integers(len(self.low), size=_SAMPLES)
        part = self._random.random((_SAMPLES, self.low.shape[1]))
        part[::4] = np.rint(part[::4])  # corners
        low = self.low[index]
        return index, low + part * (self.high[index] - low)

    def _search(self, start: tuple[np.ndarray, Floats]) -> tuple[Fraction, ...] | None:
        index, x = start
        value = self._value(x)
        best = np.argsort(value)[:_POPULATION]
        index, x, value = index[best], x[best], value[best]
        found, rounds = None, 0
        while rounds < _ROUNDS:
            rounds += 1
            self.tick()
            if value.min(initial=np.inf) <= 0:
                at = value.argmin()
                point = confirm(self.plan, self.boxes[index[at]], x[at])
                if point is not None:
                    rounds = _ROUNDS - _FURTHER if found is None else rounds
                    found = point
                elif found is None:
                    value[at] = np.inf  # floats are wrong about it
            low, high = self.low[index], self.high[index]
            shape = (len(x), _CHILDREN, x.shape[1])
            size = 10.0 ** self._random.uniform(-4, -0.3, (len(x), _CHILDREN, 1)) * (high - low)[:, None]
            step = size * self._random.standard_normal(shape) * (self._random.random(shape) < 0.6)
            near = np.clip(x[:, None] + step, low[:, None], high[:, None])
            values = self._value(near.reshape(-1, x.shape[1])).reshape(shape[:2])
            child, rows = values.argmin(1), np.arange(len(x))
            better = values[rows, child] < value
            x = np.where(better[:, None], near[rows, child], x)
            value = np.where(better, values[rows, child], value)
        return found

    def _value(self, x: Floats) -> Floats:
        return np.nan_to_num(self.plan.violation(self.plan.values(x)), nan=np.inf)
