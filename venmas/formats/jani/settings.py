"""Parameters that say how a JANI model is read, ``jani.NAME`` among the parameters of the model, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from venmas.errors import ScenarioError, UsageError, did_you_mean
from venmas.formats.jani.build import LEAVE_RANGE
from venmas.model.scenario.parameters import Parameter

PREFIX = "jani."
READING: tuple[Parameter, ...] = (
    Parameter("property", "", "a property file; else the properties of the model"),
    Parameter("property_name", "", "which property of several, by name or by number from 1"),
    Parameter("policy", "", "the policy's interface, or a network; none: every action is free"),
    Parameter("inputs", "", "the variables that the network of jani.policy reads, A,B"),
    Parameter("outputs", "", "the labels of the outputs of the network of jani.policy, A,B"),
    Parameter("with_initial", False, "the model's initial state is a start, too"),
    Parameter("goal_terminal", False, "no step leaves a goal state"),
    Parameter(
        "leave_range",
        "error",
        "an update out of range. error: a fault of the model; block: not a step",
        choices=tuple(LEAVE_RANGE),
    ),
    Parameter("masking", False, "the policy chooses among applicable labels"),
)
"""By their names as arguments of `load_jani`."""


def divided(settings: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Arguments of `load_jani`, and constants of the model. Raises `UsageError` for unknown names and bad values."""
    known = {PREFIX + p.name: p for p in READING}
    arguments: dict[str, Any] = {}
    constants: dict[str, str] = {}
    for name, text in settings.items():
        if not name.startswith(PREFIX):
            constants[name] = text
        elif name not in known:
            raise UsageError(
                f"no JANI model has a parameter {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}"
            )
        else:
            arguments[known[name].name] = _value(known[name], text)
    return arguments, constants


def _value(parameter: Parameter, text: str) -> object:
    try:
        value = parameter.parse(text)
    except ScenarioError:
        value = ""
    if value == "":
        expected = "text" if parameter.default == "" else parameter.expected
        raise UsageError(f"{PREFIX}{parameter.name}: expected {expected}, got {text!r}")
    if parameter.name in ("inputs", "outputs"):
        return [part.strip() for part in str(value).split(",")]
    return value
