"""JANI models among the scenarios of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from venmas.errors import UsageError

if TYPE_CHECKING:
    from venmas.formats.jani.load import JaniScenario
    from venmas.model import Scenario

_SUFFIXES = (".jani", ".json")


def is_jani(scenario: str) -> bool:
    """Whether a scenario is a JANI model, by its extension."""
    return Path(scenario).suffix.lower() in _SUFFIXES


def load_model(scenario: str, settings: Mapping[str, str], networks: str | None) -> tuple[JaniScenario, dict[str, str]]:
    """The model as its parameters say, and its constants. Raises `UsageError` and `ScenarioError`."""
    from venmas.formats.jani.load import load_jani
    from venmas.formats.jani.settings import divided

    if networks is not None:
        raise UsageError("--networks is not about JANI models: name the policy with --set jani.policy=FILE")
    reading, constants = divided(settings)
    return load_jani(scenario, **reading), constants


def without_policy(scenario: str, settings: Mapping[str, str]) -> JaniScenario | None:
    """The model with every action free, where no parameter names a policy itself. Raises `ScenarioError`."""
    if "jani.policy" in settings:
        return None
    kept = {name: value for name, value in settings.items() if name != "jani.masking"}
    return load_model(scenario, {**kept, "jani.policy": "none"}, None)[0]


def read_files(scenario: Scenario | JaniScenario) -> list[tuple[str, Path]]:
    """What was read besides the model; nothing for a scenario in Python."""
    if not is_jani(str(scenario.path)):
        return []  # without a look at what reads them
    from venmas.formats.jani.load import JaniScenario

    assert isinstance(scenario, JaniScenario)
    found = [] if scenario.chosen is None else [("the property", scenario.chosen.place.file)]
    return found if scenario.policy is None else [*found, ("the policy", scenario.policy.place.file)]
