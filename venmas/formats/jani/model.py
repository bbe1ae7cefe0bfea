"""The declarations of a JANI model: constants, variables, automata and how they are composed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from venmas.formats.jani.booleans import Booleans
from venmas.formats.jani.expressions import Scope, read_value
from venmas.formats.jani.records import (
    ACTION,
    AUTOMATON,
    BOUNDED,
    CONSTANT,
    ELEMENT,
    LOCATION,
    MODEL,
    SYNC,
    SYSTEM,
    TRANSIENT_VALUE,
    VARIABLE,
    fields,
    flag,
    items,
    text,
)
from venmas.formats.jani.text import Place, shown
from venmas.model.expressions.expr import Constant, Expr, Truth

Setting: TypeAlias = bool | Fraction

TYPES = ("lts", "mdp", "dtmc")
FEATURES = ("derived-operators", "arrays", "datatypes", "functions", "trigonometric-functions", "state-exit-rewards")
_BASES = ("int", "real", "bool")


@dataclass(frozen=True)
class ConstantInfo:
    """A constant: its type, and its value where the model has one."""

    name: str
    type: str
    value: Any
    place: Place


@dataclass(frozen=True)
class VariableInfo:
    """A variable with its range; Booleans range over 0 and 1. `initial` None: any value of the range.

    `automaton`: whose local variable it is, None for a global one.
    """

    name: str
    automaton: str | None
    type: str
    lower: Fraction
    upper: Fraction
    initial: Fraction | None
    transient: bool
    place: Place

    @property
    def key(self) -> str:
        """The name within the model: ``automaton.name`` of a local one."""
        return self.name if self.automaton is None else f"{self.automaton}.{self.name}"


@dataclass(frozen=True)
class Automaton:
    """An automaton of the composition; its edges are read by `automata`. `located`: what its locations give values."""

    name: str
    locations: tuple[str, ...]
    initial: str
    variables: tuple[VariableInfo, ...]
    edges: list[Any]
    restriction: Any
    located: frozenset[str]
    place: Place


@dataclass(frozen=True)
class Sync:
    """A synchronisation vector: the action of each automaton, None where it does not take part."""

    actions: tuple[str | None, ...]
    result: str | None
    place: Place


@dataclass(frozen=True)
class Header:
    """A model before its constants have values: what can be said of it in any case."""

    name: str
    type: str
    constants: tuple[ConstantInfo, ...]
    properties: list[Any]
    data: Mapping[str, Any]
    place: Place

    @property
    def missing(self) -> list[ConstantInfo]:
        """The constants that have to be given."""
        return [c for c in self.constants if c.value is None]


@dataclass(frozen=True)
class Model:
    """A model whose constants have values. Transient variables are among the variables."""

    header: Header
    constants: Mapping[str, Setting]
    variables: tuple[VariableInfo, ...]
    automata: tuple[Automaton, ...]
    syncs: tuple[Sync, ...]
    actions: tuple[str, ...]
    notes: list[str] = field(default_factory=list)

    @property
    def located(self) -> frozenset[str]:
        """The transient variables that locations give values."""
        return frozenset[str]().union(*(a.located for a in self.automata))


def read_header(data: object, place: Place) -> Header:
    """The part of a model that needs no values of constants. Raises `ScenarioError`."""
    if isinstance(data, dict) and "automata" not in data and "properties" in data:
        place.refuse(
            "this is a property file, and a model is needed; give the model, and this file with "
            "--set jani.property=FILE"
        )
    model = fields(data, MODEL, place)
    kind = model["type"]
    if kind not in TYPES:
        place["type"].refuse(
            f"models of type {shown(kind)} are not read, only {', '.join(TYPES)} (of probabilities, that they are "
            "above 0): describe the model in steps without clocks and rates"
        )
    for i, feature in enumerate(items(model.get("features", []), "features", place["features"])):
        if feature not in FEATURES:
            place["features"][i].refuse(f"the feature {shown(feature)} is not read; what is: {', '.join(FEATURES)}")
    constants = []
    for i, entry in enumerate(items(model.get("constants", []), "constants", place["constants"])):
        at = place["constants"][i]
        constant = fields(entry, CONSTANT, at)
        if constant["type"] not in _BASES:
            at["type"].refuse(f"constants are of type int, real or bool, got {shown(constant['type'])}")
        name = text(constant["name"], "the name of a constant", at["name"])
        constants.append(ConstantInfo(name, constant["type"], constant.get("value"), at))
    _distinct([c.name for c in constants], "constant", place["constants"])
    return Header(
        text(model["name"], "the name of a model", place["name"]),
        kind,
        tuple(constants),
        items(model.get("properties", []), "properties", place["properties"]),
        model,
        place,
    )


def read_model(header: Header, given: Mapping[str, Setting]) -> Model:
    """The declarations, for the constants that have no value in the model as `given`. Raises `ScenarioError`."""
    data, place = header.data, header.place
    constants: dict[str, Setting] = {}
    for constant in header.constants:
        if constant.value is None and constant.name not in given:
            constant.place.refuse(
                f"the constant {shown(constant.name)} has no value; give it one: --set {constant.name}=VALUE"
            )
        value = given[constant.name] if constant.value is None else constant.value
        constants[constant.name] = _constant(value, constant.type, constants, constant.place["value"])
    actions = []
    for i, entry in enumerate(items(data.get("actions", []), "actions", place["actions"])):
        at = place["actions"][i]
        actions.append(text(fields(entry, ACTION, at)["name"], "the name of an action", at["name"]))
    automata = _automata(data, constants, place)
    variables = (
        *_variables(data.get("variables", []), None, constants, place["variables"]),
        *(v for a in automata for v in a.variables),
    )
    names = [v.key for v in variables]
    _distinct([*constants, *names], "constant or variable", place["variables"])
    return Model(header, constants, variables, automata, _syncs(data, automata, actions, place), tuple(actions))


def constant_scope(constants: Mapping[str, Setting]) -> Scope:
    """Names of constants only."""
    values = {n: Truth(v) if isinstance(v, bool) else Constant(v) for n, v in constants.items()}
    return Scope(values, Booleans(), {})


def _constant(value: object, kind: str, known: Mapping[str, Setting], place: Place) -> Setting:
    """The value of a constant expression of type `kind`."""
    result = read_value(value, constant_scope(known), place)
    if kind == "bool":
        if not isinstance(result, Truth):
            place.refuse("expected true or false, or an expression of earlier constants that is")
        return result.value
    if not isinstance(result, Constant):
        place.refuse("expected a number, or an expression of earlier constants that is one")
    if kind == "int" and result.value.denominator != 1:
        place.refuse(f"expected a whole number, got {result.value}")
    return result.value


def _distinct(names: list[str], what: str, place: Place) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            place.refuse(f"the {what} {shown(name)} is declared twice; rename one")
        seen.add(name)


def _variables(
    entries: object, automaton: str | None, constants: Mapping[str, Setting], place: Place
) -> tuple[VariableInfo, ...]:
    variables = []
    for i, entry in enumerate(items(entries, "variables", place)):
        at = place[i]
        data = fields(entry, VARIABLE, at)
        name = text(data["name"], "the name of a variable", at["name"])
        kind, lower, upper = _type(data["type"], constants, at["type"])
        initial = None
        if "initial-value" in data:
            value = _constant(data["initial-value"], kind, constants, at["initial-value"])
            initial = Fraction(value)
            if not lower <= initial <= upper:
                at["initial-value"].refuse(
                    f"the initial value {initial} of {shown(name)} is outside of its range {lower} to {upper}; "
                    "change one of the two"
                )
        transient = flag(data.get("transient", False), "'transient'", at["transient"])
        if transient and initial is None:
            at.refuse(f"the transient variable {shown(name)} needs an initial value, which it has before every step")
        variables.append(VariableInfo(name, automaton, kind, lower, upper, initial, transient, at))
    return tuple(variables)


def _type(value: object, constants: Mapping[str, Setting], place: Place) -> tuple[str, Fraction, Fraction]:
    """Type and range of a variable."""
    if value == "bool":
        return "bool", Fraction(0), Fraction(1)
    remedy = 'write {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 9}'
    if isinstance(value, str):
        reasons = {"clock": "clocks are not read: describe the model in steps", "continuous": "continuous variables"}
        place.refuse(reasons.get(value, f"variables of type {shown(value)} have no bounds") + f"; {remedy}")
    if isinstance(value, dict) and value.get("kind") == "array":
        place.refuse("arrays are not read; declare a variable for each element")
    if isinstance(value, dict) and value.get("kind") != "bounded":
        place.refuse(f"variables of the kind {shown(value.get('kind'))} are not read; {remedy}")
    data = fields(value, BOUNDED, place)
    if data["base"] not in ("int", "real"):
        place["base"].refuse(f"the base of a bounded type is int or real, got {shown(data['base'])}")
    ends = []
    for key in ("lower-bound", "upper-bound"):
        if key not in data:
            place.refuse(f"the type has no {key}; {remedy}")
        ends.append(Fraction(_constant(data[key], data["base"], constants, place[key])))
    if ends[0] > ends[1]:
        place.refuse(f"the range {ends[0]} to {ends[1]} is empty; exchange its ends")
    return data["base"], ends[0], ends[1]


def _automata(data: Mapping[str, Any], constants: Mapping[str, Setting], place: Place) -> tuple[Automaton, ...]:
    """The automata of the composition, in its order."""
    declared: dict[str, tuple[dict[str, Any], Place]] = {}
    for i, entry in enumerate(items(data["automata"], "automata", place["automata"])):
        at = place["automata"][i]
        automaton = fields(entry, AUTOMATON, at)
        name = text(automaton["name"], "the name of an automaton", at["name"])
        if name in declared:
            at["name"].refuse(f"the automaton {shown(name)} is declared twice; rename one")
        declared[name] = automaton, at
    system, at = fields(data["system"], SYSTEM, place["system"]), place["system"]["elements"]
    automata: dict[str, Automaton] = {}
    for i, entry in enumerate(items(system["elements"], "elements", at)):
        name = text(fields(entry, ELEMENT, at[i])["automaton"], "the name of an automaton", at[i]["automaton"])
        if name not in declared:
            at[i].refuse(f"there is no automaton {shown(name)}; there are {', '.join(declared)}")
        if name in automata:
            at[i].refuse(f"the automaton {shown(name)} takes part twice; declare a second one, with another name")
        automata[name] = _automaton(name, *declared[name], constants)
    if not automata:
        at.refuse("the system has no elements; name at least one automaton")
    return tuple(automata.values())


def _automaton(name: str, data: dict[str, Any], place: Place, constants: Mapping[str, Setting]) -> Automaton:
    locations, located = [], set()
    for i, entry in enumerate(items(data["locations"], "locations", place["locations"])):
        at = place["locations"][i]
        location = fields(entry, LOCATION, at)
        locations.append(text(location["name"], "the name of a location", at["name"]))
        values = items(location.get("transient-values", []), "transient values", at["transient-values"])
        for j, value in enumerate(values):
            pair = fields(value, TRANSIENT_VALUE, at["transient-values"][j])
            located.add(text(pair["ref"], "the name of a variable", at["transient-values"][j]["ref"]))
    _distinct(locations, "location", place["locations"])
    initial = items(data["initial-locations"], "initial locations", place["initial-locations"])
    if len(initial) != 1 or initial[0] not in locations:
        place["initial-locations"].refuse(
            f"expected one of the locations {', '.join(locations[:12])}, got "
            f"{', '.join(map(shown, initial)) or 'none'}; several are written as one, with an edge to each"
        )
    return Automaton(
        name,
        tuple(locations),
        initial[0],
        _variables(data.get("variables", []), name, constants, place["variables"]),
        items(data["edges"], "edges", place["edges"]),
        data.get("restrict-initial"),
        frozenset(located),
        place,
    )


def _syncs(
    data: Mapping[str, Any], automata: tuple[Automaton, ...], actions: list[str], place: Place
) -> tuple[Sync, ...]:
    system, place = data["system"], place["system"]["syncs"]
    if "syncs" not in system and len(automata) == 1:  # its labelled edges are its edges, as Storm has it
        return tuple(Sync((action,), action, place) for action in actions)
    syncs = []
    for i, entry in enumerate(items(system.get("syncs", []), "synchronisations", place)):
        sync = fields(entry, SYNC, place[i])
        parts = items(sync["synchronise"], "actions", place[i]["synchronise"])
        if len(parts) != len(automata):
            place[i].refuse(f"it names {len(parts)} actions for {len(automata)} elements; write null for who stays out")
        for j, part in enumerate(parts):
            if part is not None and part not in actions:
                place[i]["synchronise"][j].refuse(f"there is no action {shown(part)}; declare it in 'actions'")
        result = sync.get("result")
        if result is not None and result not in actions:
            place[i]["result"].refuse(f"there is no action {shown(result)}; declare it in 'actions'")
        if all(part is None for part in parts):
            place[i].refuse("nobody takes part; remove it")
        syncs.append(Sync(tuple(parts), result, place[i]))
    return tuple(syncs)


def value_of(info: VariableInfo, value: object, constants: Mapping[str, Setting], place: Place) -> Fraction:
    """A value of a variable, in its range. Raises `ScenarioError`."""
    number = Fraction(_constant(value, info.type, constants, place))
    if not info.lower <= number <= info.upper:
        place.refuse(f"{number} is no value of {info.key}, which ranges from {info.lower} to {info.upper}")
    return number


__all__ = ["Automaton", "Expr", "Header", "Model", "Sync", "VariableInfo", "read_header", "read_model", "value_of"]
