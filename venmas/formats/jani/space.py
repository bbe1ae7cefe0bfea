"""The variables of a JANI model as variables of a system, and what its expressions may name where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from venmas.formats.jani.booleans import Booleans
from venmas.formats.jani.expressions import Scope, Value
from venmas.formats.jani.model import Automaton, Model, VariableInfo
from venmas.formats.jani.names import mangled
from venmas.formats.jani.text import Place
from venmas.logic.linear import Relation
from venmas.model.expressions.expr import Condition, Constant, Truth, Variable, compare
from venmas.model.system.system import System

LOCATION = " location"
"""Ends the key of a location variable: no name of the model has it."""


class Space:
    """A model's variables in a system: `names` are those of the system by key of the model (``automaton.x``)."""

    def __init__(self, model: Model, system: System) -> None:
        self.model, self.system = model, system
        self.booleans = Booleans()
        self.infos = {v.key: v for v in model.variables}
        lasting = [v for v in model.variables if not v.transient]
        several = [a for a in model.automata if len(a.locations) > 1]
        names = {v.key: v.key for v in lasting} | {a.name + LOCATION: f"{a.name}_location" for a in several}
        self.names = mangled(names)
        self.values: dict[str, Value] = {}
        for info in model.variables:
            self.values[info.key] = self._declare(info)
        self.locations: dict[str, Variable] = {a.name: self._declare_location(a, several) for a in several}
        self._plain = {n: Truth(v) if isinstance(v, bool) else Constant(v) for n, v in model.constants.items()}
        self._scopes: dict[str | None, Scope] = {}

    def _declare(self, info: VariableInfo) -> Value:
        if info.transient:  # never part of a state: it has its initial value before every step
            assert info.initial is not None
            return Truth(bool(info.initial)) if info.type == "bool" else Constant(info.initial)
        name = self.names[info.key]
        if info.type == "bool":
            made = self.system.boolean(name)
        elif info.type == "int":
            made = self.system.integer(name, int(info.lower), int(info.upper))
        else:
            made = self.system.real(name, info.lower, info.upper)
        if name != info.key:
            self.system.variables[name] = replace(self.system.variables[name], title=info.key)
        return self.booleans.variable(made) if info.type == "bool" else made

    def _declare_location(self, automaton: Automaton, several: list[Automaton]) -> Variable:
        """Labels are the names of the locations, with that of the automaton where two automata share one."""
        others = {name for a in several if a is not automaton for name in a.locations}
        labels = {i: f"{automaton.name}.{n}" if n in others else n for i, n in enumerate(automaton.locations)}
        name = self.names[automaton.name + LOCATION]
        return self.system.integer(name, 0, len(labels) - 1, labels=labels)

    def at(self, automaton: Automaton, location: str) -> Condition:
        """The condition that an automaton is at a location."""
        if automaton.name not in self.locations:
            return Truth(True)
        return compare(self.locations[automaton.name], Relation.EQ, automaton.locations.index(location))

    def key(self, name: str, automaton: str | None) -> str:
        """The key of a variable as an automaton names it."""
        local = f"{automaton}.{name}"
        return local if automaton is not None and local in self.infos else name

    def scope(self, automaton: str | None) -> Scope:
        """Names that guards of an automaton may use, or (None) conditions of properties."""
        if automaton not in self._scopes:
            self._scopes[automaton] = self._scope(automaton)
        return self._scopes[automaton]

    def _scope(self, automaton: str | None) -> Scope:
        names: dict[str, Value] = dict(self._plain)
        hidden: dict[str, str] = {}
        for info in self.infos.values():
            if info.transient:
                hidden[info.name] = "it is transient, and has its initial value again after every step; make it lasting"
            elif info.automaton in (None, automaton):
                names[info.name] = self.values[info.key]
            elif automaton is not None:
                hidden.setdefault(info.name, f"it is a local variable of {info.automaton!r}; make it global")
        if automaton is None:
            self._add_locals(names, hidden)
        return Scope(names, self.booleans, hidden)

    def _add_locals(self, names: dict[str, Value], hidden: dict[str, str]) -> None:
        """Properties name local variables in full, or by their name where there is one of it."""
        local = [i for i in self.infos.values() if i.automaton is not None and not i.transient]
        for info in local:
            names[info.key] = self.values[info.key]
            if sum(other.name == info.name for other in local) > 1:
                hidden[info.name] = f"several automata have one; write {info.key}"
            else:
                names.setdefault(info.name, self.values[info.key])

    def during(self, automaton: str, current: Mapping[str, Value]) -> Scope:
        """Names in values of assignments of an automaton; `current` are values by key, after earlier groups."""
        names: dict[str, Value] = dict(self._plain)
        hidden = dict(self.scope(automaton).hidden)
        for info in self.infos.values():
            if info.automaton in (None, automaton):
                names[info.name] = current[info.key]
                hidden.pop(info.name, None)
        for name in self.model.located:
            if name in names and name not in self._plain:
                names.pop(name)
                hidden[name] = "a location gives it a value; assign it on the edges that lead there"
        return Scope(names, self.booleans, hidden)

    def variable(self, name: object, place: Place) -> VariableInfo:
        """The lasting variable that a property names."""
        scope = self.scope(None)
        if not isinstance(name, str) or name in self.model.constants:
            place.refuse("expected the name of a variable")
        scope.look_up(name, place)
        if name in self.infos:
            return self.infos[name]
        return next(i for i in self.infos.values() if i.name == name and not i.transient)
