"""Replay of a witness in floats, as a report has it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any


@dataclass(frozen=True)
class FloatRun:
    """The same branches taken in float arithmetic, from the rounded initial state.

    `difference` is the largest absolute distance of any variable from the exact run (infinite where a run breaks off),
    `violated` whether the formula is shown there too, `runtime` what ran the networks.
    """

    difference: float
    violated: bool
    runtime: str

    def to_json(self) -> dict[str, Any]:
        """An object; a difference that is not finite is None, which JSON can say."""
        difference = self.difference if self.difference < inf else None
        return {"difference": difference, "violated": self.violated, "runtime": self.runtime}
