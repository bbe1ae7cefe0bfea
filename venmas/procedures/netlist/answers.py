"""Answers to a property of LTL, of circuits and of systems; the third is `venmas.answer.Unknown`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

RunT = TypeVar("RunT")


@dataclass(frozen=True)
class Proved:
    """Every run has the property; what shows it is said by the `Satisfied` of its kind."""


@dataclass(frozen=True)
class Violated(Generic[RunT]):
    """A run from an initial state does not have the property; it was replayed."""

    run: RunT
