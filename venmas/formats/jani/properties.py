"""Property files of PlaJA: what is unsafe, where runs start, the goal, predicates, and which policy acts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from venmas.formats.jani.affine import affine
from venmas.formats.jani.expressions import read_condition
from venmas.formats.jani.model import value_of
from venmas.formats.jani.records import (
    AT_LOCATION,
    LET,
    OBJECTIVE,
    PA,
    PROPERTY,
    PROPERTY_FILE,
    REFERENCE,
    STATE,
    STATE_CONDITION,
    STATE_VALUE,
    STATES_VALUES,
    fields,
    items,
    text,
)
from venmas.formats.jani.space import Space
from venmas.formats.jani.text import Place, read_json, shown
from venmas.model.expressions.expr import Condition, conjunction


@dataclass(frozen=True)
class Property:
    """A property: `operator` is ``PA`` where it is read. Files that it names are relative to that of `place`."""

    name: str
    operator: str
    data: dict[str, Any]
    place: Place

    @property
    def policy(self) -> str | None:
        """The interface of its policy, as it is written."""
        named = self.data.get("file")
        return None if named is None else text(named, "the path of an interface", self.place["file"])


def read_properties(entries: Sequence[object], place: Place) -> tuple[Property, ...]:
    """The properties of a list; those that are no PA properties are only named. Raises `ScenarioError`."""
    properties = []
    for i, entry in enumerate(entries):
        data = fields(entry, PROPERTY, place[i])
        expression = data["expression"]
        operator = str(expression.get("op", "")) if isinstance(expression, dict) else ""
        at = place[i]["expression"]
        body = fields(expression, PA, at) if operator == "PA" else {}
        properties.append(Property(text(data["name"], "the name of a property", place[i]["name"]), operator, body, at))
    return tuple(properties)


def read_property_file(path: Path) -> tuple[Property, ...]:
    """The properties of a file. Raises `ScenarioError`."""
    place = Place(path)
    read = read_json(path)
    if isinstance(read, dict) and "automata" in read:
        place.refuse("this is a model, and a property file is needed; without one, the properties of the model count")
    data = fields(read, PROPERTY_FILE, place)
    return read_properties(items(data["properties"], "properties", place["properties"]), place["properties"])


def confined(named: str, place: Place) -> Path:
    """The file that a file names: it lies in the folder of that file, or below. Raises `ScenarioError` elsewhere."""
    folder = place.file.resolve().parent
    try:
        path = (folder / named).resolve()
        inside = path.is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):
        inside = False
    if not inside:
        place.refuse(
            f"{shown(named)} is not in the folder of the file that names it, nor below, and is not opened; put a copy "
            "there, or name a policy with --set jani.policy=FILE"
        )
    return path


def _referred(value: object, place: Place) -> tuple[object, Place]:
    """Content of the file that a reference names, or the value itself."""
    if isinstance(value, dict) and set(value) == {"file"}:
        named = text(fields(value, REFERENCE, place)["file"], "the path of a file", place["file"])
        path = confined(named, place["file"])
        return read_json(path), Place(path)
    return value, place


class Conditions:
    """The conditions of a property over the variables of a system."""

    def __init__(self, space: Space, property_: Property) -> None:
        self._space, self._property = space, property_

    def unsafe(self) -> Condition | None:
        """The condition that must never hold (`reach`), or None where there is none."""
        return self._condition("reach")

    def goal(self) -> Condition | None:
        """The condition of goal states, or None where there is none."""
        if "objective" not in self._property.data:
            return None
        data, place = _referred(self._property.data["objective"], self._property.place["objective"])
        objective = fields(data, OBJECTIVE, place)
        if "goal" not in objective:
            return None
        return self._state_condition(*_referred(objective["goal"], place["goal"]))

    def start(self) -> Condition | list[dict[str, Fraction]] | None:
        """The condition of the start states, or the states by name of the system; None: the model's initial states."""
        if "start" not in self._property.data:
            return None
        data, place = self._opened(*_referred(self._property.data["start"], self._property.place["start"]))
        if isinstance(data, dict) and data.get("op") == "states-values":
            states = items(fields(data, STATES_VALUES, place)["values"], "states", place["values"])
            return [self._state(s, place["values"][i]) for i, s in enumerate(states)]
        return self._state_condition(data, place)

    def predicates(self) -> tuple[Condition, ...]:
        """The atoms of its list of predicates."""
        data, place = _referred(self._property.data.get("predicates", []), self._property.place["predicates"])
        return read_predicates(data, self._space, place)

    def _condition(self, key: str) -> Condition | None:
        if key not in self._property.data:
            return None
        return self._state_condition(*_referred(self._property.data[key], self._property.place[key]))

    def _opened(self, data: object, place: Place) -> tuple[object, Place]:
        """Body of a let without definitions."""
        while isinstance(data, dict) and data.get("op") == "let":
            let = fields(data, LET, place)
            if let.get("variables", []) != []:
                place["variables"].refuse("definitions of a let are not read; write them where they are used")
            data, place = let["expression"], place["expression"]
        return data, place

    def _state_condition(self, data: object, place: Place) -> Condition:
        data, place = self._opened(data, place)
        if isinstance(data, dict) and data.get("op") not in ("state-condition", None):
            remedy = "write {'op': 'state-condition', 'exp': ...}"
            place.refuse(f"expected a state condition, got the operator {shown(data['op'])}; {remedy}")
        entries = fields(data, STATE_CONDITION, place)
        parts = [self._space.at(*at) for at in self._locations(entries.get("locations", []), place["locations"])]
        if "exp" in entries:
            parts.append(affine(read_condition(entries["exp"], self._space.scope(None), place["exp"]), place["exp"]))
        return conjunction(parts)

    def _locations(self, entries: object, place: Place) -> list[tuple[Any, str]]:
        automata = {a.name: a for a in self._space.model.automata}
        locations = []
        for i, entry in enumerate(items(entries, "locations", place)):
            data = fields(entry, AT_LOCATION, place[i])
            name, index = data.get("automaton"), data.get("index")
            if name is None and isinstance(index, int) and 0 <= index < len(automata):
                name = list(automata)[index]
            if name not in automata:
                place[i].refuse(f"there is no automaton {shown(name)}; there are {', '.join(automata)}")
            if data["location"] not in automata[name].locations:
                place[i]["location"].refuse(f"{name!r} has no location {shown(data['location'])}")
            locations.append((automata[name], data["location"]))
        return locations

    def _state(self, entry: object, place: Place) -> dict[str, Fraction]:
        """A state of a list: variables that are not named have their initial values."""
        space = self._space
        data = fields(entry, STATE, place)
        state = {a.name: a.locations.index(a.initial) for a in space.model.automata}
        for automaton, location in self._locations(data.get("locations", []), place["locations"]):
            state[automaton.name] = automaton.locations.index(location)
        values = {v.name: Fraction(state[name]) for name, v in space.locations.items()}
        given: set[str] = set()
        for i, value in enumerate(items(data["variables"], "values", place["variables"])):
            at = place["variables"][i]
            read = fields(value, STATE_VALUE, at)
            if "index" in read:
                at["index"].refuse("arrays are not read; declare a variable for each element")
            info = space.variable(read["var"], at["var"])
            if info.key in given:
                at.refuse(f"{info.key} has two values; leave one out")
            given.add(info.key)
            values[space.names[info.key]] = value_of(info, read["value"], space.model.constants, at["value"])
        for info in space.model.variables:
            if info.key not in given and not info.transient:
                if info.initial is None:
                    place.refuse(f"{info.key} has neither a value here nor an initial one; give it one")
                values[space.names[info.key]] = info.initial
        return values


def read_predicates(data: object, space: Space, place: Place) -> tuple[Condition, ...]:
    """The conditions of a list of predicates. Raises `ScenarioError`."""
    entries = items(data, "predicates", place)
    return tuple(affine(read_condition(e, space.scope(None), place[i]), place[i]) for i, e in enumerate(entries))
