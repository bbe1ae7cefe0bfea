"""Sampled runs in floats, all branches taken: what sets are guessed from, and tested with before they are proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from venmas.bounds.rounding import Bools, Floats
from venmas.logic import And, Atom, Formula, Or, Top, subformulas
from venmas.model.evaluation.regions import bounding_box, sample, snap
from venmas.model.evaluation.simulate import Batch, within
from venmas.model.system.system import System
from venmas.model.system.variables import Box

_STARTS = 96
_POINTS = 256
_MOST = 1024
"""States of a layer that are kept: the extreme ones, and others at random."""


class Runs:
    """Runs of a system from samples of its initial sets; states are rows (B, variables)."""

    def __init__(self, system: System, seed: int = 0) -> None:
        self.system, self._rng = system, np.random.default_rng(seed)
        self._names = list(system.variables)
        self._begun: Floats | None = None

    def initial(self) -> Floats:
        """Samples of the initial sets: ends of their boxes, and random points; the same ones always."""
        if self._begun is None:
            self._begun = self._starts()
        return self._begun.copy()

    def _starts(self) -> Floats:
        system, found = self.system, []
        each = max(2, _STARTS // len(system.regions))
        for region in system.regions[:_STARTS]:
            box = bounding_box(system, region)
            if box is None:
                continue
            sides = self._rng.integers(0, 2, (each, len(box)))
            sides[0], sides[1] = 0, 1
            for row in sides:
                point = snap(system, region, {n: float(ends[i]) for (n, ends), i in zip(box.items(), row, strict=True)})
                found += [] if point is None else [point]
            found += sample(system, region, self._rng, each // 2)
        return np.array([[float(point[n]) for n in self._names] for point in found]).reshape(-1, len(self._names))

    def layers(self, steps: int) -> Iterator[tuple[Floats, bool]]:
        """The states of sampled runs after 0, 1, .. `steps` steps, and whether others have left the box by then."""
        states, left = self.initial(), False
        for _ in range(steps + 1):
            yield states, left
            states, leaves = self.step(states)
            states, left = self._thinned(states), left or leaves

    def step(self, states: Floats) -> tuple[Floats, bool]:
        """All successors inside the declared box, and whether others lie outside."""
        _, after, left = self.steps(states)
        return after, left

    def steps(self, states: Floats) -> tuple[Floats, Floats, bool]:
        """All steps inside the declared box, states and successors, and whether others lead outside."""
        if not len(states):
            return states, states, False
        at = Batch(dict(zip(self._names, states.T, strict=True)))
        before, after, left = [], [], False
        for branch in self.system.branches:
            rows = at.truth(branch.guard)
            new = states[rows]
            for name, expr in branch.updates:
                new[:, self._names.index(name)] = at.value(expr)[rows]
            inside = self._inside(new)
            left |= not inside.all()
            before.append(states[rows][inside])
            after.append(new[inside])
        return np.concatenate(before), np.concatenate(after), left

    def returns(self, boxes: Sequence[Box], steps: int, invariant: Formula) -> tuple[bool, Floats | None]:
        """Do samples of the boxes satisfy the invariant and stay in the declared range for so many steps?

        And the states in which they are then, if one of them is in no box; None where all are back.
        """
        states = np.concatenate([self._points(box) for box in boxes])
        for _ in range(steps):
            if not self.holds(invariant, states).all():
                return False, None
            states, left = self.step(states)
            if left:
                return False, None
            states = self._thinned(states)
        back = np.zeros(len(states), bool)
        for box in boxes:
            low, high = (np.array([float(box[n][i]) for n in self._names]) for i in (0, 1))
            back |= ((states >= low) & (states <= high)).all(1)
        return True, None if back.all() else states

    def holds(self, formula: Formula, states: Floats) -> Bools:
        """The truth of a core formula about one state, in floats."""
        known: dict[Formula, Bools] = {}
        for node in subformulas(formula):
            match node:
                case Atom(comparison):
                    factors = np.array([float(comparison.expr.coefficients.get(n, 0)) for n in self._names])
                    value = states @ factors + float(comparison.expr.constant)
                    known[node] = comparison.relation.truth(value)
                case And(operands) | Or(operands):
                    join = np.logical_and if isinstance(node, And) else np.logical_or
                    known[node] = np.asarray(join.reduce([known[o] for o in operands]))
                case _:
                    known[node] = np.full(len(states), isinstance(node, Top))
        return known[formula]

    def _points(self, box: Box) -> Floats:
        """Points of a box: corners, points of faces, and others."""
        low, high = (np.array([float(box[n][i]) for n in self._names]) for i in (0, 1))
        parts = self._rng.random((_POINTS, len(low)))
        parts[: _POINTS // 2] = np.clip(np.round(2 * parts[: _POINTS // 2] - 0.5), 0, 1)
        mixed = self._rng.random(parts.shape) < 0.5
        parts[_POINTS // 4 : _POINTS // 2][mixed[_POINTS // 4 : _POINTS // 2]] = 0.5
        states: Floats = low + (high - low) * parts
        for i, decl in enumerate(self.system.variables.values()):
            if decl.integral:
                states[:, i] = np.clip(np.round(states[:, i]), low[i], high[i])
        return states

    def _inside(self, states: Floats) -> Bools:
        inside = np.ones(len(states), bool)
        for i, decl in enumerate(self.system.variables.values()):
            inside &= within(decl, states[:, i])
        return inside

    def _thinned(self, states: Floats) -> Floats:
        if len(states) <= _MOST:
            return states
        extreme = np.unique(np.concatenate([states.argmin(0), states.argmax(0)]))
        return np.concatenate([states[extreme], states[self._rng.permutation(len(states))[:_MOST]]])
