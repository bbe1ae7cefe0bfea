"""Options about JANI models: which property and policy, and how the model is read.

They reach `load` through the context of the command, so that every command that takes a scenario takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from venmas.errors import UsageError

if TYPE_CHECKING:
    from venmas.formats.jani.load import JaniScenario
    from venmas.model import Scenario

_Command = TypeVar("_Command", bound=Callable[..., Any])
_KEY = "venmas.jani"
_SUFFIXES = (".jani", ".json")


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    if value not in (None, False) and not context.resilient_parsing:
        context.meta.setdefault(_KEY, {})[option.name] = value


def jani_options(command: _Command) -> _Command:
    """`--property`, `--policy` and the others that only JANI models take."""
    kept: dict[str, Any] = {"expose_value": False, "callback": _remember}
    for option in (
        click.option("--masking", is_flag=True, help="JANI: the policy chooses among applicable labels.", **kept),
        click.option(
            "--leave-range",
            type=click.Choice(("error", "block")),
            help="JANI, an update out of range. error: a fault of the model (the default); block: not a step.",
            **kept,
        ),
        click.option("--goal-terminal", is_flag=True, help="JANI: no step leaves a goal state.", **kept),
        click.option("--with-initial", is_flag=True, help="JANI: the model's initial state is a start, too.", **kept),
        click.option("--outputs", metavar="A,B", help="JANI: the labels of the outputs of --policy NET.", **kept),
        click.option("--inputs", metavar="A,B", help="JANI: the variables that --policy NET reads.", **kept),
        click.option(
            "--policy",
            metavar="FILE|none",
            help="JANI: the policy's interface, or a network; none: any action is possible.",
            **kept,
        ),
        click.option(
            "--property-name", metavar="NAME|N", help="JANI: which property of several, by name or number.", **kept
        ),
        click.option("--property", metavar="FILE", help="JANI: a property file; else the model's own.", **kept),
    ):
        command = option(command)
    return command


def is_jani(scenario: str) -> bool:
    """Whether a scenario is a JANI model, by its extension."""
    return Path(scenario).suffix.lower() in _SUFFIXES


def given_options() -> dict[str, str]:
    """Those that were given, as they were given, by name; those of flags are empty."""
    return {name.replace("_", "-"): "" if value is True else str(value) for name, value in _given().items()}


def load_model(scenario: str, networks: str | None) -> JaniScenario:
    """The model as the options say. Raises `UsageError` and `ScenarioError`."""
    if networks is not None:
        raise UsageError("--networks is not about JANI models: name the policy with --policy FILE")
    return _loaded(scenario, _given())


def without_policy(scenario: str) -> JaniScenario | None:
    """The model with every action free, where the options do not name a policy themselves. Raises `ScenarioError`."""
    given = {name: value for name, value in _given().items() if name != "masking"}
    return None if "policy" in given else _loaded(scenario, {**given, "policy": "none"})


def _loaded(scenario: str, given: dict[str, Any]) -> JaniScenario:
    from venmas.formats.jani.load import load_jani

    lists: dict[str, Any] = {
        k: [part.strip() for part in given[k].split(",")] for k in ("inputs", "outputs") if k in given
    }
    return load_jani(scenario, **(given | lists))


def read_files(scenario: Scenario | JaniScenario) -> list[tuple[str, Path]]:
    """What was read besides the model; nothing for a scenario in Python."""
    if not is_jani(str(scenario.path)):
        return []  # without a look at what reads them
    from venmas.formats.jani.load import JaniScenario

    assert isinstance(scenario, JaniScenario)
    found = [] if scenario.chosen is None else [("the property", scenario.chosen.place.file)]
    return found if scenario.policy is None else [*found, ("the policy", scenario.policy.place.file)]


def _given() -> dict[str, Any]:
    context = click.get_current_context(silent=True)
    return {} if context is None else dict(context.meta.get(_KEY, {}))
