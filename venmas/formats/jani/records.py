"""Known keys of each kind of object of JANI and PlaJA; unknown ones are refused by name.

A key is required, read or skipped (it does not change what the model does), or refused with what to do instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from venmas.formats.jani.text import Place, shown


@dataclass(frozen=True)
class Kind:
    """The keys of one kind of object, which messages call `name`."""

    name: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


_FUNCTIONS = "functions are not read; write the expression where it is used"
_TIME = "time is not read: describe the model in steps, as type lts, mdp or dtmc"

MODEL = Kind(
    "a model",
    ("jani-version", "name", "type", "automata", "system"),
    ("variables", "constants", "actions", "properties", "features", "metadata", "restrict-initial"),
    {"functions": _FUNCTIONS, "datatypes": "datatypes are not read; declare a variable for each component"},
)
CONSTANT = Kind("a constant", ("name", "type"), ("value",))
VARIABLE = Kind("a variable", ("name", "type"), ("initial-value", "transient"))
BOUNDED = Kind("a bounded type", ("kind", "base"), ("lower-bound", "upper-bound"))
ACTION = Kind("an action", ("name",))
AUTOMATON = Kind(
    "an automaton",
    ("name", "locations", "initial-locations", "edges"),
    ("variables", "restrict-initial"),
    {"functions": _FUNCTIONS},
)
LOCATION = Kind("a location", ("name",), ("transient-values",), {"time-progress": _TIME})
TRANSIENT_VALUE = Kind("a transient value", ("ref", "value"))
EDGE = Kind(
    "an edge",
    ("location", "destinations"),
    ("action", "guard"),
    {"rate": "rates are not read; write probabilities, which are taken as possibilities"},
)
DESTINATION = Kind("a destination", ("location",), ("probability", "assignments"))
ASSIGNMENT = Kind("an assignment", ("ref", "value"), ("index",))
SYSTEM = Kind("a system", ("elements",), ("syncs",))
ELEMENT = Kind(
    "an element",
    ("automaton",),
    (),
    {"input-enable": "input-enabling is not read; add an edge that changes nothing for each action that is missing"},
)
SYNC = Kind("a synchronisation", ("synchronise",), ("result",))
WRAPPED = Kind("an expression with a comment", ("exp",))
PROPERTY_FILE = Kind("a property file", ("properties",))
PROPERTY = Kind("a property", ("name", "expression"))
PA = Kind("a PA property", ("op",), ("file", "start", "reach", "predicates", "objective"))
STATE_CONDITION = Kind("a state condition", ("op",), ("exp", "locations"))
STATES_VALUES = Kind("a list of states", ("op", "values"))
STATE = Kind("a state", ("variables",), ("locations",))
STATE_VALUE = Kind("a value of a state", ("var", "value"), ("index",))
AT_LOCATION = Kind("the location of an automaton", ("location",), ("automaton", "index"))
OBJECTIVE = Kind("an objective", ("op",), ("accumulate", "goal", "goal-reward", "step-reward", "goal-potential"))
LET = Kind("a let", ("op", "expression"), ("variables",))
REFERENCE = Kind("a reference to a file", ("file",))
INTERFACE = Kind(
    "a policy interface", ("file", "input", "output"), ("elements", "filter", "torch-file", "activation-functions")
)
INPUT = Kind("an input", ("name",), ("automaton", "index"))

_COMMENTS = ("comment",)


def fields(value: object, kind: Kind, place: Place) -> dict[str, Any]:
    """An object of a kind, without its comments. Raises `ScenarioError` for anything else."""
    if not isinstance(value, dict):
        place.refuse(f"expected {kind.name}, an object, got {shown(value)}")
    for key in value:
        if key in kind.refused:
            place[key].refuse(kind.refused[key])
        if key not in kind.required and key not in kind.optional and key not in _COMMENTS:
            known = ", ".join((*kind.required, *kind.optional))
            place.refuse(
                f"the key {shown(key)} of {kind.name} is not known; its keys are {known}: correct or remove it"
            )
    for key in kind.required:
        if key not in value:
            place.refuse(f"{kind.name} needs the key {key!r}; add it")
    return {key: part for key, part in value.items() if key not in _COMMENTS}


def items(value: object, what: str, place: Place) -> list[Any]:
    """A list. Raises `ScenarioError` for anything else."""
    if not isinstance(value, list):
        place.refuse(f"expected a list of {what}, got {shown(value)}")
    return value


def text(value: object, what: str, place: Place) -> str:
    """A text that is not empty. Raises `ScenarioError` for anything else."""
    if not isinstance(value, str) or not value or len(value) > 1000:
        place.refuse(f"expected {what}, a text of 1 to 1000 characters, got {shown(value)}")
    return value


def flag(value: object, what: str, place: Place) -> bool:
    """True or false. Raises `ScenarioError` for anything else."""
    if not isinstance(value, bool):
        place.refuse(f"{what} is true or false, got {shown(value)}")
    return value
