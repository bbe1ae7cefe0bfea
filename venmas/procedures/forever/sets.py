"""Sets of states that are tried: given ones, propositions and atoms, and boxes round late states of sampled runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, count

import numpy as np

from venmas.bounds.rounding import Bools, Floats
from venmas.budget import Budget, BudgetError
from venmas.logic import FALSE, TRUE, And, Atom, Formula, Or, conjunction, disjunction, is_temporal, nnf, subformulas
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.evaluation.regions import bounding_box, sample, snap
from venmas.model.system.disturbances import drawn, ranges
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.model.witness.tree import Value, Witness
from venmas.procedures.forever.cells.search import FEW_REALS, dimension
from venmas.procedures.forever.claims.asking import Asking
from venmas.procedures.forever.claims.stays import Point, point, stay
from venmas.procedures.forever.claims.ways import Set
from venmas.procedures.forever.derive import MOST_STEPS, Deriving
from venmas.procedures.forever.reached import returning
from venmas.procedures.forever.settled import Settled, Settling
from venmas.procedures.kinduction.runs import Runs
from venmas.procedures.kinduction.sets import LAYERS, Candidate, candidates

_POINTS = 4
_MARGIN = Fraction(1, 64)
_FEW = 3
"""Sets from samples that are tried before those from enclosures."""
_PLAIN = 24
"""Propositions and atoms that are tried, at most."""


class NoisyRuns(Runs):
    """Runs of a system with noise: every step draws it anew, at its ends or between. keep: what all states satisfy.

    States have a column for each disturbance, which is 0 between steps.
    """

    def __init__(self, system: System, seed: int = 0, keep: Formula = TRUE) -> None:
        super().__init__(drawn(system, 1), seed)
        names = list(self.system.variables)
        self._noise = {names.index(name): ends for name, ends in ranges(system, self.system).items()}
        self._keep = nnf(keep)

    def step(self, states: Floats) -> tuple[Floats, bool]:
        """All successors inside the declared box that satisfy what is kept, and whether others lie outside."""
        for column, (low, high) in self._noise.items():
            parts = np.clip(self._rng.random(len(states)) * 1.6 - 0.3, 0, 1)
            states[:, column] = float(low) + float(high - low) * parts
        found, left = super().step(states)
        for column, (low, high) in self._noise.items():
            found[:, column] = float(low + high) / 2
        if self._keep is not TRUE and len(found):
            found = found[self._satisfied(found)]
        return found, left

    def _satisfied(self, states: Floats) -> Bools:
        return self.holds(self._keep, states)


class _Known:
    """Sets that are found one by one, each once. find: begins anew where the time was over on the way."""

    def __init__(self, find: Callable[[], Iterator[Set]]) -> None:
        self._find, self._known, self._more = find, list[Set](), find()

    def all(self) -> Iterator[Set]:
        """All of them."""
        for number in count():
            if number == len(self._known):
                try:
                    self._known.append(next(self._more))
                except StopIteration:
                    return
                except BudgetError:
                    self._known, self._more = [], self._find()
                    raise
            yield self._known[number]


class Sets:
    """The sets that are tried for a system, found once and named. given: by the user; formula: that is asked about."""

    def __init__(
        self, asking: Asking, initial: System, given: Formula | None, formula: Formula, tick: Callable[[], None]
    ) -> None:
        self._asking, self._initial, self._given, self._formula, self._tick = asking, initial, given, formula, tick
        self._boxes: dict[str, Settled] = {}
        """Sets round the point where runs settle, by name, the ones that are entered soonest first."""
        self._closed = _Known(self._find)
        self._kept: dict[Formula, _Known] = {}
        self._boxed: dict[Formula, list[tuple[Set, Box]]] = {}
        if initial is asking.system and self._runs is not None:
            asking.samples.begin(self._runs)

    def closed(self) -> Iterator[Set]:
        """Sets that may close."""
        return self._closed.all()

    def kept(self, holds: Formula) -> Iterator[Set]:
        """Sets in which a run may stay where a formula holds."""
        if holds not in self._kept:
            self._kept[holds] = _Known(lambda: self._staying(holds))
        return self._kept[holds].all()

    def _staying(self, holds: Formula) -> Iterator[Set]:
        state = holds if not is_temporal(holds) else TRUE
        seen: set[Formula] = set()
        for states in chain([state] if state is not TRUE else [], self._within(state)):
            if states not in seen:
                seen.add(states)
                yield self._named(states, 0, 1)

    def _within(self, state: Formula) -> Iterator[Formula]:
        """Parts of a set of states, round late states of runs in it, and of sets that may close."""
        for one, hull in self._sampled(state):
            if self._asking.system.smooth:  # an enclosure tells nothing of a face itself
                yield conjunction([one.states, inner(nnf(state), hull)])
            yield conjunction([one.states, state])
        for one in self.closed():
            yield conjunction([one.states, state])

    def _find(self) -> Iterator[Set]:
        if self._given is not None:
            yield self._named(self._given, 0, 1)
        seen: set[Formula] = set()

        def sampled(part: slice) -> Iterator[Set]:
            yield from (one for one, _ in self._sampled(TRUE)[part])

        first: list[Iterable[Set]] = [sampled(slice(_FEW)), self._settled()]
        if dimension(self._asking.system) > FEW_REALS:  # boxes of few samples are hardly ever closed
            first.reverse()
        for one in chain(*first, self._reached(), self._followed(), sampled(slice(_FEW, None)), self._plain()):
            if one.states not in seen:
                seen.add(one.states)
                yield self._named(one.states, one.into, one.again)

    @cached_property
    def _runs(self) -> NoisyRuns | None:
        """Runs from the initial states, where those of a state are one; they refute claims from then on."""
        system = self._initial
        if len(system.branches) != 1 or system.may_deadlock or system.initial_condition is not TRUE:
            return None
        return NoisyRuns(system)

    @cached_property
    def _settling(self) -> Settling | None:
        if self._runs is None:
            return None
        with np.errstate(all="ignore"):
            return Settling(self._initial, self._runs, self._tick)

    @property
    def settling(self) -> bool:
        """Are there samples of runs, one from each state, so that long ones are worth a question?"""
        return self._runs is not None

    def _settled(self) -> Iterator[Set]:
        if self._settling is None:
            return
        with np.errstate(all="ignore"):
            boxes = list(self._settling.sets())
        for one in boxes:
            named = self._named(one.states, one.into, one.again)
            self._boxes[named.name] = one
            self._asking.samples.add(named.name, one.points)
            yield replace(named, states=one.states)

    def ladders(self, states: Formula) -> Iterator[tuple[int, list[tuple[str, int]]]]:
        """Ways into a set of these: steps into a first one, and from each the steps to the next, the last the set."""
        name = next((n for n, known in self._asking.sets.items() if known is states), "")
        if name not in self._boxes or self._settling is None:
            return
        last = self._boxes[name]
        direct = last.into, [(name, 0)]
        if last.into <= MOST_STEPS:
            yield direct
        for first in list(self._boxes.values()):  # the way into one of few steps is the short one to enclose
            if first.into < last.into and (rungs := self._settling.ladder(first, last)):
                for one, _ in rungs:
                    self._asking.samples.add(self._asking.named(one.states), one.points)
                yield first.into, [*((self._asking.named(one.states), steps) for one, steps in rungs), (name, 0)]
        if last.into > MOST_STEPS:
            yield direct

    def _plain(self) -> Iterable[Set]:
        """States that the formula and the propositions describe, the whole box last."""
        system = self._asking.system
        parts = [*subformulas(self._formula), *system.propositions.values()]
        parts += [atom for part in list(parts) for atom in subformulas(part) if isinstance(atom, Atom)]
        states = dict.fromkeys(nnf(part, sign) for part in parts if not is_temporal(part) for sign in (False, True))
        for part in [*states][:_PLAIN]:
            if part.horizon == 0 and part not in (TRUE, FALSE):
                yield Set("", part, 0, 1)
                yield Set("", part, 8, 1)
        yield Set("", TRUE, 0, 1)

    def _reached(self) -> Iterator[Set]:
        system = self._initial
        plain = system.initial_condition is TRUE and self._asking.system.initial_condition is TRUE
        real = any(not decl.integral for n, decl in system.variables.items() if n not in system.disturbances)
        if plain and real and len(system.branches) == 1:  # several branches make many sets of states
            for one in returning(system, self._tick):
                yield Set("", one.formula(system), one.entry, one.period)

    def _followed(self) -> Iterator[Set]:
        """The box of the runs from a single state, no wider: that state may be the end of a set in which they stay."""
        if self._initial.initial_condition is not TRUE:
            return
        runs, noise = NoisyRuns(self._initial), set(self._initial.disturbances)
        with np.errstate(all="ignore"):
            layers = [states for states, _ in runs.layers(LAYERS)]
        if len(np.unique(layers[0], axis=0)) != 1:
            return
        seen = np.concatenate(layers)
        ends = zip(runs.system.variables, seen.min(0), seen.max(0), strict=True)
        names = [n for n in self._initial.variables if n not in noise]
        box = {n: (Fraction(low), Fraction(high)) for n, low, high in ends if n in names}
        yield Set("", Candidate((box,), 0, 1).formula(self._initial), 0, 1)

    def _sampled(self, keep: Formula) -> list[tuple[Set, Box]]:
        """Sets round late states, each with a box that holds it."""
        if keep not in self._boxed:
            self._boxed[keep] = self._boxes_of(keep)
        return self._boxed[keep]

    def _boxes_of(self, keep: Formula) -> list[tuple[Set, Box]]:
        if self._initial.initial_condition is not TRUE or self._asking.system.initial_condition is not TRUE:
            return []
        runs = NoisyRuns(self._initial, keep=keep)
        names = list(self._initial.variables)
        noise = set(self._initial.disturbances)
        with np.errstate(all="ignore"):
            found = candidates(runs.system, runs, 0, TRUE, self._tick)
        sets = []
        for one in found:
            boxes = tuple({n: box[n] for n in names if n not in noise} for box in one.boxes)
            states = replace(one, boxes=boxes).formula(self._initial)
            hull = {n: (min(box[n][0] for box in boxes), max(box[n][1] for box in boxes)) for n in boxes[0]}
            sets.append((Set("", states, one.entry, one.period), hull))
        return sets

    def _named(self, states: Formula, into: int, again: int) -> Set:
        name = self._asking.named(states)
        return Set(name, self._asking.sets[name], into, again)


def inner(states: Formula, hull: Box) -> Formula:
    """A smaller set: its comparisons hold with a margin, of a part of how far they range over a box."""
    match states:
        case And(parts):
            return conjunction(inner(part, hull) for part in parts)
        case Or(parts):
            return disjunction(inner(part, hull) for part in parts)
        case Atom(Comparison(expr, relation)):
            margin = sum((abs(c) * (hull[n][1] - hull[n][0]) for n, c in expr.terms), Fraction(0)) * _MARGIN
            if relation in (Relation.GE, Relation.GT):
                return Atom(Comparison(expr - LinearExpr((), margin), relation))
            if relation in (Relation.LE, Relation.LT):
                return Atom(Comparison(expr - LinearExpr((), -margin), relation))
    return states


def points(system: System) -> list[Point]:
    """A few initial states: ends of the initial sets, and others."""
    found: dict[tuple[Value, ...], Point] = {}
    rng = np.random.default_rng(0)
    for region in system.regions[:_POINTS]:
        box = bounding_box(system, region) or {}
        ends = [{n: float(pair[i]) for n, pair in box.items()} for i in (0, 1)] if box else []
        some = [one for end in ends if (one := snap(system, region, end)) is not None]
        for values in [*some, *sample(system, region, rng, _POINTS)][:_POINTS]:
            start = point(system, {n: Fraction(v) for n, v in values.items() if n not in system.disturbances})
            found.setdefault(start.values, start)
    return list(found.values())[: 2 * _POINTS]


class Stays:
    """Initial states of which a formula is derived, where no run is known that repeats; each with sets of its own."""

    def __init__(self, asking: Asking, system: System, formula: Formula, tick: Callable[[], None]) -> None:
        self._asking, self._formula = asking, formula
        self._points = [(one, Sets(asking, one.system, None, formula, tick)) for one in points(system)]

    def find(self, sets: Sets, budget: Budget) -> Witness | None:
        """A state with the lines of the derivation. sets: those of all initial states."""
        asking = self._asking
        for one, own in self._points:
            deriving = Deriving(asking, one.system, sets.closed, own.kept, budget, own.closed)
            derivation = deriving.derive("init", self._formula)
            if derivation is None:
                continue
            witness = stay(one, derivation, asking, budget)
            if witness is not None:
                asking.figures.proved = list(dict(deriving.told[-3:]).items())
                return witness
        return None
