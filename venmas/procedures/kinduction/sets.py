"""Candidates for inductive sets: boxes around the late states of sampled runs, one for each location."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Floats
from venmas.logic import And, Atom, Formula, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.system.propagation import propagate
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.kinduction.runs import Runs

LAYERS = 48
"""Steps of the sampled runs."""
_MOST_BOXES = 32
_ENTRIES = (0, 1, 2, 3, 5, 8, 13, 20, 32)
_WIDER = (Fraction(1, 20), Fraction(1, 4), Fraction(1))
_PERIODS = (1, 2, 4, 8)
_ROUNDS = 4

Item = tuple[str, tuple[Fraction, Fraction]]
Location = tuple[float, ...]
Hull = dict[Location, tuple[Floats, Floats]]
"""Least and greatest values (variables,), by the values of the integers."""


@dataclass(frozen=True)
class Candidate:
    """A set that runs seem to enter after `entry` steps, and from which they seem to come back after `period`."""

    boxes: tuple[Box, ...]
    entry: int
    period: int

    def formula(self, system: System) -> Formula:
        """The set; what the declared ranges imply is left out."""
        return disjunction(conjunction(map(Atom, _rows(system, box))) for box in self.boxes)


def _rows(system: System, box: Box) -> Iterator[Comparison]:
    for name, (low, high) in box.items():
        decl, value = system.variables[name], LinearExpr.variable(name)
        if low == high:
            yield Comparison(value - LinearExpr((), low), Relation.EQ)
            continue
        if low > decl.lower:
            yield Comparison(value - LinearExpr((), low), Relation.GE)
        if high < decl.upper:
            yield Comparison(value - LinearExpr((), high), Relation.LE)


def candidates(system: System, runs: Runs, start: int, invariant: Formula, tick: Callable[[], None]) -> list[Candidate]:
    """Sets that pass a test by samples: the runs stay in them as far as samples tell, and satisfy the invariant.

    start: the first step at which the invariant is asked for. The sooner the runs are back, the sooner they enter, the
    better.
    """
    layers = []
    for states, _ in runs.layers(LAYERS + start):
        tick()
        layers.append(_hull(system, states))
    tails: list[Hull] = [layers[-1]]
    for layer in reversed(layers[:-1]):
        tails.insert(0, _joined(layer, tails[0]))
    found: list[Candidate] = []
    tried: set[tuple[int, frozenset[Item]]] = set()
    for period in _PERIODS:
        for entry in (start + step for step in _ENTRIES if start + step < len(tails) and tails[start + step]):
            for wider in _WIDER:
                boxes = _boxes(system, tails[entry], tails[0], wider, invariant)
                for _ in range(_ROUNDS):
                    tick()
                    key = period, frozenset(item for box in boxes for item in box.items())
                    if key in tried:
                        break
                    tried.add(key)
                    kept, image = runs.returns(boxes, period, invariant)
                    if not kept:
                        break
                    if image is None:
                        found.append(Candidate(boxes, entry, period))
                        break
                    larger = _joined(_hull(system, image), _hull(system, _ends(system, boxes)))
                    boxes = _boxes(system, larger, larger, _WIDER[0], invariant)
    return found


def _hull(system: System, states: Floats) -> Hull:
    """(B, variables) -> the box of the states of each location; one for all integers where locations are many."""
    whole = np.array([d.integral for d in system.variables.values()])
    if not len(states):
        return {}
    locations, which = np.unique(states[:, whole], axis=0, return_inverse=True)
    if len(locations) > _MOST_BOXES:
        return {(): (states.min(0), states.max(0))}
    groups = [states[which.reshape(-1) == i] for i in range(len(locations))]
    return {tuple(at.tolist()): (g.min(0), g.max(0)) for at, g in zip(locations, groups, strict=True)}


def _joined(one: Hull, other: Hull) -> Hull:
    if not (one and other):
        return one or other
    if len(one.keys() | other.keys()) > _MOST_BOXES or (() in one) is not (() in other):
        lows, highs = zip(*one.values(), *other.values(), strict=True)
        return {(): (np.min(lows, 0), np.max(highs, 0))}
    joined = dict(one)
    for at, (low, high) in other.items():
        mine = joined.get(at, (low, high))
        joined[at] = np.minimum(low, mine[0]), np.maximum(high, mine[1])
    return joined


def _ends(system: System, boxes: tuple[Box, ...]) -> NDArray[np.float64]:
    """The least and the greatest corner of each box, (2 * boxes, variables)."""
    return np.array([[float(box[n][i]) for n in system.variables] for box in boxes for i in (0, 1)])


def _boxes(system: System, hull: Hull, around: Hull, wider: Fraction, invariant: Formula) -> tuple[Box, ...]:
    """A hull, each side wider by a part of its width and a little of that of `around`, at short decimals."""
    widths = np.max([high - low for low, high in around.values()], 0)
    found = []
    for low, high in hull.values():
        box: Box = {}
        for i, (name, decl) in enumerate(system.variables.items()):
            ends = Fraction(low[i]), Fraction(high[i])
            if not decl.integral:
                ends = rounded(*ends, wider * (ends[1] - ends[0]) + Fraction(float(widths[i])) / 50)
            box[name] = max(ends[0], decl.lower), min(ends[1], decl.upper)
        cut = propagate(system.variables, _conjuncts(invariant), box)
        found.append(cut or box)
    return tuple(found)


def rounded(low: Fraction, high: Fraction, margin: Fraction) -> tuple[Fraction, Fraction]:
    """The two ends apart by a margin more each, outward to a hundredth of the width or less."""
    low, high = low - margin, high + margin
    if high <= low:
        low, high = low - Fraction(1, 1000), high + Fraction(1, 1000)
    unit = Fraction(10) ** floor(log10(high - low) - 2)
    return floor(low / unit) * unit, ceil(high / unit) * unit


def _conjuncts(formula: Formula) -> list[Comparison]:
    """The atoms of a conjunction of some; of other formulas none."""
    parts = formula.operands if isinstance(formula, And) else (formula,)
    return [part.comparison for part in parts if isinstance(part, Atom)]
