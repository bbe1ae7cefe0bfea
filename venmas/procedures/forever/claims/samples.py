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
from venmas.model.system.system import System
from venmas.procedures.kinduction.runs import Runs

_SLACK = 1e-7
_DEEP = 160
"""Steps of the longest claim that is looked at."""


class Samples:
    """Runs from the states of named sets. runs: of the system, with noise drawn anew; nothing is refuted without."""

    def __init__(self, system: System) -> None:
        self.runs: Runs | None = None
        self._names = list(system.variables)
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
        """Take the samples of a set that are in a part of it."""
        if self.runs is not None and whole in self._layers:
            first = self._layers[whole][0]
            self.add(name, first[self.runs.holds(nnf(states), first)])

    def knows(self, name: str) -> bool:
        """Are there samples of a set?"""
        return name in self._layers

    def refute(self, name: str, core: Formula) -> bool:
        """Does a sample of a set not satisfy a core formula, or leave the box?"""
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
        return not _Truth(self._names, layers, self._noisy).at(core, 0).all()


class _Truth:
    """Truth of core formulas along runs."""

    def __init__(self, names: list[str], layers: list[Floats], noisy: bool) -> None:
        self._names, self._layers, self._noisy = names, layers, noisy
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
