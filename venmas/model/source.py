"""Where a system was loaded from, as long as it is still what was loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from venmas.model.parameters import NetworkFolder
from venmas.model.system import System


@dataclass(frozen=True)
class Source:
    """A scenario: its name; name or path to find it by; the folder of networks that was given (None: its own) and the
    one that was read; the parameters as texts.
    """

    name: str
    found_by: str
    networks: str | None
    folder: NetworkFolder
    parameters: Mapping[str, str]


def remember_source(system: System, source: Source) -> None:
    """Note where a system, which is finished, comes from."""
    system.once("source", lambda: source)


def source_of(system: System) -> Source | None:
    """Where a system comes from; None where it was made in Python, or changed after it was loaded.

    Facts of a system end when it changes: a branch, a variable, or other initial states make it another one.
    """
    return system.once("source", lambda: None)
