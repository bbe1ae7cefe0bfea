"""Counts of a search by flowpipes."""

from __future__ import annotations

from dataclasses import dataclass, field

from venmas.model.system.system import System
from venmas.model.system.variables import Box


@dataclass
class Followed:
    """Boxes that were followed, parts that were refuted, and candidates that were replayed.

    reach: after each step, the box of every variable over all parts that were refuted. astray: of a system whose
    property is refuted everywhere, the parts from which enclosures of runs leave declared ranges.
    """

    boxes: int = 0
    parts: int = 0
    candidates: int = 0
    reach: list[dict[str, tuple[float, float]]] = field(default_factory=list)
    astray: tuple[System, list[Box]] | None = None

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("boxes", f"{self.boxes} followed, {self.parts} refuted"), ("candidates", f"{self.candidates}")]
