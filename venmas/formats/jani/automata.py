"""Edges of automata, and their composition: the operators of a model.

An operator is one silent edge, or one combination of synchronising edges, with one destination of each. Destinations
of probability 0 do not exist, others are possible. Assignments of one index are simultaneous, those of a greater one
see what earlier ones did; all become one simultaneous update.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from venmas.budget import ask
from venmas.formats.jani.expressions import Scope, Value, read_condition, read_value
from venmas.formats.jani.model import Automaton, Sync, VariableInfo
from venmas.formats.jani.records import ASSIGNMENT, DESTINATION, EDGE, fields, items
from venmas.formats.jani.space import Space
from venmas.formats.jani.text import Place, shown
from venmas.model.expressions.domain import Ranges, is_integral
from venmas.model.expressions.expr import Condition, Constant, Expr, Truth, conjunction
from venmas.model.expressions.limits import MAX_BRANCHES

_NEAR = Fraction(1, 10**6)
"""What sums of probabilities, which are written as decimals, may be off."""


@dataclass
class Assignment:
    """``ref := value``, whose value is read in the state before the edge (`first`) or after earlier groups."""

    target: VariableInfo
    index: int
    value: Any
    automaton: str
    scope: Scope
    place: Place

    @cached_property
    def first(self) -> Value:
        """The value where nothing was assigned before."""
        return self.read(self.scope)

    def read(self, scope: Scope) -> Value:
        """The value as `scope` has it. Raises `ScenarioError` where its type is not that of the variable."""
        at, kind = self.place["value"], self.target.type
        value = read_value(self.value, scope, at)
        if isinstance(value, Condition) != (kind == "bool"):
            at.refuse(f"{self.target.key} is of type {kind} and the value is not; write ite, or a comparison")
        if kind == "int" and isinstance(value, Expr) and not is_integral(value):
            at.refuse(f"{self.target.key} is of type int, and the value may be no whole number")
        return value


@dataclass(frozen=True)
class Destination:
    """One outcome of an edge."""

    location: str
    assignments: tuple[Assignment, ...]
    number: int


@dataclass(frozen=True)
class Edge:
    """An edge with the outcomes that are possible."""

    automaton: Automaton
    number: int
    action: str | None
    location: str
    guard: Condition
    destinations: tuple[Destination, ...]


@dataclass(frozen=True)
class Passing:
    """A value that no state keeps, of a transient variable or assigned anew; it has to be in its range all the same."""

    info: VariableInfo
    value: Expr
    place: Place


@dataclass(frozen=True)
class Operator:
    """One way to step: `label` is the action that a policy chooses, None where it is silent.

    passing: further values that are assigned.
    """

    name: str
    label: str | None
    guard: Condition
    updates: Mapping[str, Expr]
    passing: tuple[Passing, ...] = ()


class Composition:
    """The operators of a model."""

    def __init__(self, space: Space) -> None:
        self.space, self.notes = space, space.model.notes
        self._edges = {a.name: [self._edge(a, i, e) for i, e in enumerate(a.edges)] for a in space.model.automata}

    def operators(self) -> Iterator[Operator]:
        """All of them, whose guard is not false, silent ones of one automaton first. Raises `ScenarioError`."""
        self._check_size()
        automata = self.space.model.automata
        for automaton in automata:
            for edge in self._edges[automaton.name]:
                if edge.action is None:
                    name = f"{automaton.name}#{edge.number}" if len(automata) > 1 else f"#{edge.number}"
                    yield from self._outcomes((edge,), name, None)
        for sync in self.space.model.syncs:
            for edges in product(*self._taking_part(sync)):
                numbers = iter(str(edge.number) for edge in edges)
                parts = "+".join("-" if a is None else next(numbers) for a in sync.actions)
                yield from self._outcomes(edges, f"{sync.result or 'silent'}#{parts}", sync.result)

    def _taking_part(self, sync: Sync) -> list[list[Edge]]:
        return [
            [edge for edge in self._edges[automaton.name] if edge.action == action]
            for automaton, action in zip(self.space.model.automata, sync.actions, strict=True)
            if action is not None
        ]

    def _check_size(self) -> None:
        """Count the operators before one is made, and say which edges never happen."""
        count = sum(len(e.destinations) for edges in self._edges.values() for e in edges if e.action is None)
        seen: set[tuple[str, str]] = set()
        for sync in self.space.model.syncs:
            count += prod(sum(len(e.destinations) for e in edges) for edges in self._taking_part(sync))
            seen |= {(a.name, x) for a, x in zip(self.space.model.automata, sync.actions, strict=True) if x is not None}
            if count > MAX_BRANCHES:
                sync.place.refuse(
                    f"with it, the automata have more than {MAX_BRANCHES} combinations of edges; describe a "
                    "smaller model"
                )
        if count > MAX_BRANCHES:
            self.space.model.header.place["automata"].refuse(
                f"the automata have more than {MAX_BRANCHES} edges; describe a smaller model"
            )
        for name, edges in self._edges.items():
            for action in sorted({e.action for e in edges if e.action is not None and (name, e.action) not in seen}):
                self.notes.append(
                    f"edges of {name!r} with action {action!r} take part in no synchronisation: they never happen"
                )

    def _outcomes(self, edges: Sequence[Edge], name: str, label: str | None) -> Iterator[Operator]:
        ask()
        places = [self.space.at(e.automaton, e.location) for e in edges]
        guard = conjunction((*places, *(e.guard for e in edges)))
        if isinstance(guard, Truth) and not guard.value:
            return
        several = any(len(e.destinations) > 1 for e in edges)
        for chosen in product(*(e.destinations for e in edges)):
            suffix = "." + "+".join(str(d.number) for d in chosen) if several else ""
            yield Operator(name + suffix, label, guard, *self._updates(edges, chosen))

    def _updates(
        self, edges: Sequence[Edge], chosen: Sequence[Destination]
    ) -> tuple[dict[str, Expr], tuple[Passing, ...]]:
        """The new values by name of the system, all read in the state before the step, and those that it keeps not."""
        space, new = self.space, {}
        last, every = self._assigned([a for d in chosen for a in d.assignments])
        for key, value in last.items():
            if not space.infos[key].transient and value is not space.values[key]:
                new[space.names[key]] = space.booleans.number(value)
        for edge, destination in zip(edges, chosen, strict=True):
            if destination.location != edge.location:
                variable = space.locations[edge.automaton.name]
                index = edge.automaton.locations.index(destination.location)
                new[variable.name] = Constant(Fraction(index))
        passing = [
            Passing(a.target, value, a.place["value"])
            for a, value in every
            if isinstance(value, Expr) and (a.target.transient or value is not last[a.target.key])
        ]
        return new, tuple(passing)

    def _assigned(self, assignments: list[Assignment]) -> tuple[dict[str, Value], list[tuple[Assignment, Value]]]:
        """The last value of each variable, and every value."""
        every: list[tuple[Assignment, Value]] = []
        indices = sorted({a.index for a in assignments})
        current: dict[str, Value] = {}
        for index in indices:
            group: dict[str, Value] = {}
            for a in (a for a in assignments if a.index == index):
                if a.target.key in group:
                    a.place.refuse(
                        f"{a.target.key} is assigned twice at index {index}, on this edge or on one that it is taken "
                        "with; give one of the two another index"
                    )
                if index == indices[0]:
                    group[a.target.key] = a.first
                else:
                    group[a.target.key] = a.read(self.space.during(a.automaton, {**self.space.values, **current}))
                every.append((a, group[a.target.key]))
            current |= group
        return current, every

    # -- reading -------------------------------------------------------------------------------------------------------

    def _edge(self, automaton: Automaton, number: int, entry: object) -> Edge:
        ask()
        place = automaton.place["edges"][number]
        data = fields(entry, EDGE, place)
        action = data.get("action")
        if action is not None and action not in self.space.model.actions:
            place["action"].refuse(f"there is no action {shown(action)}; declare it in 'actions'")
        guard: Condition = Truth(True)
        if "guard" in data:
            guard = read_condition(data["guard"], self.space.scope(automaton.name), place["guard"])
        destinations = []
        total: Expr = Constant(Fraction(0))
        for i, part in enumerate(items(data["destinations"], "destinations", place["destinations"])):
            at = place["destinations"][i]
            destination = fields(part, DESTINATION, at)
            chance: Expr = Constant(Fraction(1))
            if "probability" in destination:
                chance = self._probability(destination["probability"], automaton, at)
            total = total + chance
            if isinstance(chance, Constant) and chance.value == 0:
                continue
            location = self._location(automaton, destination["location"], at["location"])
            entries = items(destination.get("assignments", []), "assignments", at["assignments"])
            read = tuple(self._assignment(automaton, e, at["assignments"][j]) for j, e in enumerate(entries))
            destinations.append(Destination(location, read, i))
        least, most = Ranges(self.space.system.box).of(total)
        if least > 1 + _NEAR or most < 1 - _NEAR:
            place["destinations"].refuse(
                f"the probabilities of an edge add up to 1, and these to {float(least):g}"
                f"{'' if least == most else f' or more, at most {float(most):g}'} (one that is left out is 1)"
            )
        location = self._location(automaton, data["location"], place["location"])
        return Edge(automaton, number, action, location, guard, tuple(destinations))

    def _probability(self, value: object, automaton: Automaton, place: Place) -> Expr:
        """A probability, from 0 to 1 where it is one number."""
        probability = read_value(value, self.space.scope(automaton.name), place["probability"])
        if isinstance(probability, Condition):
            place["probability"].refuse("a probability is a number, got a Boolean expression")
        if not isinstance(probability, Constant):
            note = "a probability that depends on the state counts as possible everywhere"
            if note not in self.notes:
                self.notes.append(note)
            return probability
        if not 0 <= probability.value <= 1:
            place["probability"].refuse(f"a probability is between 0 and 1, got {probability.value}")
        return probability

    def _location(self, automaton: Automaton, name: object, place: Place) -> str:
        if name not in automaton.locations:
            place.refuse(f"the automaton {automaton.name!r} has no location {shown(name)}")
        assert isinstance(name, str)
        return name

    def _assignment(self, automaton: Automaton, entry: object, place: Place) -> Assignment:
        data = fields(entry, ASSIGNMENT, place)
        reference, index = data["ref"], data.get("index", 0)
        if isinstance(reference, dict):
            place["ref"].refuse("elements of arrays are not assigned; declare a variable for each element")
        if not isinstance(reference, str) or (key := self.space.key(reference, automaton.name)) not in self.space.infos:
            place["ref"].refuse(f"there is no variable {shown(reference)} here")
        if self.space.infos[key].automaton not in (None, automaton.name):
            place["ref"].refuse(f"{key} belongs to another automaton; make it global")
        if isinstance(index, bool) or not isinstance(index, int):
            place["index"].refuse(f"an index is a whole number, got {shown(index)}")
        scope = self._values_scope(automaton.name)
        return Assignment(self.space.infos[key], index, data["value"], automaton.name, scope, place)

    def _values_scope(self, automaton: str) -> Scope:
        if automaton not in self._during:
            self._during[automaton] = self.space.during(automaton, self.space.values)
        return self._during[automaton]

    @cached_property
    def _during(self) -> dict[str, Scope]:
        return {}
