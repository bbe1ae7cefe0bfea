"""What is said of a property of LTL: three kinds of answers, of circuits and of systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from venmas.errors import Reason

RunT = TypeVar("RunT")


@dataclass(frozen=True)
class Proved:
    """Every run has the property; what shows it is said by the `Satisfied` of its kind."""


@dataclass(frozen=True)
class Violated(Generic[RunT]):
    """A run from an initial state does not have the property; it was replayed."""

    run: RunT


@dataclass(frozen=True)
class Unknown:
    """Neither was found."""

    reason: Reason
    message: str
