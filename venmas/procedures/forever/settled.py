"""Boxes round the point where runs settle, in which they are again after many steps.

    x*     the middle of late states of sampled runs
    S_r    |x_i - x*_i| <= r_i, with r_i what runs are within from some step on, and at least what noise may bring about
    n      the steps after which sampled runs from S_r are well inside
    ladder S_r, S_r', ..: each within what the runs from the one before are in after some steps

Where runs contract, in whatever directions, a box is returned to after enough steps, and enclosures of runs that settle
do not widen over them. A variable that no branch changes is a *parameter*: its range among the initial states stands in
S, and need not be shown again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.checker.forever.sequents import constants
from venmas.logic import Atom, Formula, conjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.evaluation.regions import bounding_box
from venmas.model.evaluation.simulate import Batch
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.kinduction.runs import Runs
from venmas.procedures.kinduction.sets import rounded

_STEPS = 200
"""Of the sampled runs."""
_ENTRIES = (5, 10, 20, 28, 40, 56, 80, 110, 150)
_WIDER, _INSIDE = 1.2, 0.9
"""How much wider sets are than what is in them, and the part of one in which its samples have to be again."""
_SMALLEST = 1e-3
"""The least width of a set, as a part of that of the runs."""
_NOISE = 1.5
"""The least width of a set, in terms of how far noise brings runs from the middle."""
_AGAIN = 64
_POINTS = 192
_RUNG, _SMALLER, _RUNGS = 10, 0.5, 12
"""Of a ladder: least steps between two sets, how much smaller the next one is in each variable, most sets."""
_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Settled:
    """A set, and the steps after which sampled runs are in it, and from it again.

    points: samples of its states, (B, variables). radii: (moving variables,).
    """

    states: Formula
    into: int
    again: int
    points: Floats
    radii: Floats


class Settling:
    """Boxes of a system with one branch, round the point where its runs settle. runs: of it, with noise drawn anew."""

    def __init__(self, system: System, runs: Runs, tick: Callable[[], None]) -> None:
        self._system, self._runs, self._tick = system, runs, tick
        self._names = list(system.variables)
        still = constants(system)
        self._moving = [i for i, n in enumerate(self._names) if n not in still and n not in system.disturbances]
        boxes = [box for region in system.regions if (box := bounding_box(system, region)) is not None]
        self._still: Box = {
            n: (min(box[n][0] for box in boxes), max(box[n][1] for box in boxes)) for n in self._names if n in still
        }

    @cached_property
    def _layers(self) -> list[Floats]:
        """States of sampled runs after 0, 1, .. steps; none where one leaves the box."""
        kept: list[Floats] = []
        for states, left in self._runs.layers(_STEPS):
            self._tick()
            if left or not len(states) or not np.isfinite(states).all():
                return []
            kept.append(states)
        return kept

    @cached_property
    def _middle(self) -> Floats:
        """The middle of late states, (moving variables,)."""
        last = self._layers[-1][:, self._moving]
        return np.asarray((last.min(0) + last.max(0)) / 2)

    def _offsets(self, states: Floats) -> Floats:
        """The farthest of the states from the middle, by moving variable."""
        return np.asarray(np.abs(states[:, self._moving] - self._middle).max(0))

    def sets(self) -> Iterator[Settled]:
        """Sets that samples say are entered, and are returned to; the ones that are entered soonest first."""
        if not self._moving or any(self._system.variables[self._names[i]].integral for i in self._moving):
            return
        if not self._layers:
            return
        offsets = np.array([self._offsets(states) for states in self._layers])
        tails = np.maximum.accumulate(offsets[::-1])[::-1]
        least = np.maximum(_SMALLEST * tails[0], _NOISE * self._gusts)
        for entry in _ENTRIES:
            radii = np.maximum(_WIDER * tails[entry], least)
            points = self._points(radii)
            again = self._after(points, _INSIDE * radii)
            if again:
                yield Settled(self._formula(radii), entry, again, points, radii)

    def ladder(self, first: Settled, last: Settled) -> list[tuple[Settled, int]]:
        """Smaller and smaller sets between two, each with the steps to the next one; empty where they end too soon."""
        kept: list[tuple[Settled, int]] = []
        at = first
        while len(kept) < _RUNGS:
            states = at.points
            for step in range(1, _AGAIN + 1):
                self._tick()
                states, left = self._runs.step(states.copy())
                if left:
                    return []
                offsets = self._offsets(states)
                if (offsets <= _INSIDE * last.radii).all():
                    return [*kept, (at, step)]
                radii = np.maximum(_WIDER * offsets, last.radii)
                if step >= _RUNG and ((radii <= _SMALLER * at.radii) | (radii <= last.radii)).all():
                    break
            if not ((radii <= _INSIDE * at.radii) | (radii <= last.radii)).all():
                return []
            kept.append((at, step))
            at = Settled(self._formula(radii), 0, 0, self._points(radii), radii)
        return []

    @cached_property
    def _gusts(self) -> Floats:
        """The distance from the middle that noise brings about, by moving variable, as far as a step is linear."""
        noise = [self._names.index(n) for n in self._system.disturbances]
        if not noise:
            return np.zeros(len(self._moving))
        at = self._layers[-1].mean(0)
        at[self._moving] = self._middle
        scale = _DIFFERENCE * np.maximum(1, np.abs(at))
        moved = np.diag(scale)
        slopes = (self._image(at + moved) - self._image(at - moved)).T / (2 * scale)
        jacobian = slopes[:, self._moving]
        ends = [self._system.variables[n] for n in self._system.disturbances]
        reach = slopes[:, noise] * np.array([float(d.upper - d.lower) / 2 for d in ends])
        total = np.zeros(len(self._moving))
        for _ in range(_STEPS):
            total += np.abs(reach).sum(1)
            reach = jacobian @ reach
        return total

    def _image(self, states: Floats) -> Floats:
        """The moving variables after a step, (B, moving variables)."""
        at = Batch(dict(zip(self._names, states.T, strict=True)))
        updates = dict(self._runs.system.branches[0].updates)
        return np.stack([np.asarray(at.value(updates[self._names[i]])) for i in self._moving], 1)

    def _points(self, radii: Floats) -> Floats:
        """Corners of a set and points inside, (B, variables)."""
        rng = np.random.default_rng(0)
        sides = rng.uniform(-1, 1, (_POINTS, len(radii)))
        sides[: _POINTS // 2] = np.sign(sides[: _POINTS // 2])
        first = self._layers[0]
        points = first[rng.integers(0, len(first), _POINTS)]
        points[:, self._moving] = self._middle + sides * radii
        for name in self._system.disturbances:
            decl = self._system.variables[name]
            points[:, self._names.index(name)] = float(decl.lower + decl.upper) / 2
        return points

    def _after(self, states: Floats, radii: Floats) -> int:
        """Steps after which the states are within radii under any noise; 0 where they are not within `_AGAIN`."""
        for step in range(1, _AGAIN + 1):
            self._tick()
            states = states.copy()
            states[:, self._moving] = self._image(states)
            if (self._offsets(states) + self._gusts <= radii).all():
                return step
        return 0

    def _formula(self, radii: Floats) -> Formula:
        """The set in short numbers; the parameters last, which are shown apart."""
        ends = {
            self._names[i]: rounded(Fraction(float(middle - radius)), Fraction(float(middle + radius)), Fraction(0))
            for i, middle, radius in zip(self._moving, self._middle, radii, strict=True)
        }
        rows = [
            Comparison(LinearExpr.variable(name) - LinearExpr((), end), relation)
            for name, (low, high) in {**ends, **self._still}.items()
            for end, relation in ((low, Relation.GE), (high, Relation.LE))
        ]
        return conjunction(map(Atom, rows))
