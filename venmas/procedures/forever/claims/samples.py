"""Sampled runs that refute claims before they are asked: of systems with one branch, in floats.

A run that does not satisfy a claim about all runs leaves nothing to prove; comparisons have some slack, so that what
holds with equality is not taken for refuted. What samples say is no part of any answer.
"""

from __future__ import annotations

import numpy as np

from venmas.bounds.rounding import Bools, Floats
from venmas.checker.forever.sequents import INIT
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, nnf
from venmas.logic.linear import Relation
from venmas.model.evaluation.regions import bounding_box
from venmas.model.system.system import System
from venmas.procedures.kinduction.runs import Runs

_SLACK = 1e-7
_SPARE = 0.02
"""The part of the range of a value that a claim which is not tight leaves between it and its bound after a step."""
_DEEP = 160
"""Steps of the longest claim that is looked at."""


class Samples:
    """Runs from the states of named sets. runs: of the system, with noise drawn anew; nothing is refuted without."""

    def __init__(self, system: System) -> None:
        self.runs: Runs | None = None
        self._system, self._names = system, list(system.variables)
        self._noisy = bool(system.disturbances)
        self._single = len(system.branches) == 1 and not system.may_deadlock
        self._layers: dict[str, list[Floats]] = {}
        self._left: set[str] = set()

    def begin(self, runs: Runs) -> None:
        """Take runs, and their initial states as samples of those of the system."""
        self.runs = runs
        self.add(INIT, runs.initial())

    def add(self, name: str, states: Floats) -> None:
        """Samples (B, variables) of the states of a set."""
        if self._single and name not in self._layers and len(states):
            self._layers[name] = [states]

    def part(self, name: str, whole: str, states: Formula) -> None:
        """Take the samples of a set that are in a part of it, and the others moved to its faces."""
        if self.runs is None or whole not in self._layers:
            return
        first = self._layers[whole][0].copy()
        for region in self._system.starting(states).regions[:1]:
            for variable, (low, high) in (bounding_box(self._system, region) or {}).items():
                column = first[:, self._names.index(variable)]
                np.clip(column, float(low), float(high), out=column)
        self.add(name, first[self.runs.holds(nnf(states), first)])

    def knows(self, name: str) -> bool:
        """Are there samples of a set?"""
        return name in self._layers

    def refute(self, name: str, core: Formula, spare: float = 0.0) -> bool:
        """Does a sample of a set not satisfy a core formula, or leave the box?

        spare: the part of the range of each compared value, among the samples, by which it is to hold after a step.
        """
        depth = core.depth
        if self.runs is None or name not in self._layers or depth > _DEEP:
            return False
        layers = self._layers[name]
        while len(layers) <= depth and name not in self._left:
            states, left = self.runs.step(layers[-1].copy())
            if left or len(states) < len(layers[-1]):
                self._left.add(name)
            else:
                layers.append(states)
        if len(layers) <= depth:
            return True
        return not _Truth(self._names, layers, self._noisy, spare).at(core, 0).all()

    def tight(self, name: str, core: Formula) -> bool:
        """Do samples say that a claim holds by little, if it does?"""
        return self.refute(name, core, _SPARE)


class _Truth:
    """Truth of core formulas along runs."""

    def __init__(self, names: list[str], layers: list[Floats], noisy: bool, spare: float) -> None:
        self._names, self._layers, self._noisy, self._spare = names, layers, noisy, spare
        self._known: dict[tuple[Formula, int], Bools] = {}

    def at(self, node: Formula, step: int) -> Bools:
        """Truth in the states after so many steps, (B,)."""
        truth = self._known.get((node, step))
        if truth is None:
            truth = self._known[node, step] = self._compute(node, step)
        return truth

    def _compute(self, node: Formula, step: int) -> Bools:
        states = self._layers[step]
        match node:
            case Atom(comparison):
                factors = np.array([float(comparison.expr.coefficients.get(n, 0)) for n in self._names])
                value = states @ factors + float(comparison.expr.constant)
                slack = _SLACK * (1 + np.abs(states * factors).max(1))
                if self._spare and step:
                    slack = np.full(len(states), -self._spare * np.ptp(self._layers[0] @ factors))
                match comparison.relation:
                    case Relation.GE | Relation.GT:
                        return np.asarray(value >= -slack)
                    case Relation.LE | Relation.LT:
                        return np.asarray(value <= slack)
                    case Relation.EQ:
                        return np.asarray(np.abs(value) <= slack)
            case And(parts):
                return np.asarray(np.logical_and.reduce([self.at(part, step) for part in parts]))
            case Or(parts):
                return np.asarray(np.logical_or.reduce([self.at(part, step) for part in parts]))
            case AX(part):
                return self.at(part, step + 1)
            case EX(part) if not self._noisy:
                return self.at(part, step + 1)
        return np.full(len(states), not isinstance(node, Bottom))
