"""Where a system was loaded from, as long as it is still what was loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from venmas.model.scenario.parameters import NetworkFolder
from venmas.model.system.system import System
from venmas.runtime.files import sha256_of


@dataclass(frozen=True)
class Source:
    """A scenario: its name; name or path to find it by; the folder of networks that was given (None: its own) and the
    one that was read; the parameters as texts; the sha256 of every file that was read, by its name (`file_names`).
    """

    name: str
    found_by: str
    networks: str | None
    folder: NetworkFolder
    parameters: Mapping[str, str]
    files: Mapping[str, str]


def file_names(scenario: Iterable[Path], folder: NetworkFolder) -> dict[str, Path]:
    """Files of a scenario by names that do not tell where they lie: ``scenario/FILE`` and ``networks/FILE``."""
    named = {f"scenario/{path.name}": path for path in scenario}
    return named | {f"networks/{folder.name_of(path)}": path for path in folder.files}


def file_digests(files: Mapping[str, Path]) -> dict[str, str]:
    """Their sha256. Raises `OSError`."""
    return {name: sha256_of(path) for name, path in files.items()}


def remember_source(system: System, source: Source) -> None:
    """Note where a system, which is finished, comes from."""
    system.once("source", lambda: source)


def source_of(system: System) -> Source | None:
    """Where a system comes from; None where it was made in Python, or changed after it was loaded.

    Facts of a system end when it changes: a branch, a variable, or other initial states make it another one.
    """
    return system.once("source", lambda: None)
