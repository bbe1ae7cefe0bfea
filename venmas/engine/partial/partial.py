"""Partial answer to a question that stays open, as a value of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from venmas.errors import Reason

Side: TypeAlias = tuple[float, float]
SHARE, MOST = 0.02, 1.0
"""Part of the time limit that is kept for it, and the most seconds; without a limit it takes the latter."""
UNTOLD = (Reason.INTERRUPTED.value, Reason.MEMORY.value)
"""Reasons for which nobody waits for it."""


def kept(timeout: float | None) -> float:
    """Seconds of a time limit that are kept."""
    return MOST if timeout is None else min(MOST, max(0.0, SHARE * timeout))


@dataclass(frozen=True)
class Closest:
    """The run that came closest to a violation, of those that were tried in floats: no proof of anything.

    margin: by how much the violation is missed there, in the units of the comparison that counts; at most 0 where
    floats meet it, and exact numbers did not confirm it. initial: the exact initial state. run: the states of the run,
    by step. step: where the comparison that counts is looked at, None where no single one is.
    """

    margin: float
    initial: Mapping[str, Fraction]
    run: tuple[Mapping[str, float], ...]
    step: int | None = None

    def to_json(self) -> dict[str, Any]:
        """An object."""
        initial = {name: str(value) for name, value in self.initial.items()}
        return {"margin": self.margin, "initial": initial, "step": self.step, "run": [dict(s) for s in self.run]}


@dataclass(frozen=True)
class Partial:
    """Partial result of an open question.

    proved: the formula with the greatest number of steps that is proved, empty where none is; steps: that number; open:
    the formula with the least number of steps that is open. before: steps before those that are counted, as of AX^n;
    first: the first step that is looked at, these included. share: at least this part of the initial set is proved, of
    the box around it (around), by volume; None where no procedure cuts it. boxes: parts that are open, the largest
    ones; count: how many there are. leaving: variables that may leave their declared ranges: what is proved speaks of
    runs that stay inside.
    """

    proved: str = ""
    steps: int | None = None
    open: str = ""
    share: float | None = None
    boxes: tuple[Mapping[str, Side], ...] = ()
    count: int = 0
    around: Mapping[str, Side] = field(default_factory=dict)
    leaving: tuple[str, ...] = ()
    closest: Closest | None = None
    before: int = 0
    first: int = 0

    @property
    def until(self) -> int:
        """The last step up to which all that is looked at is proved, less than the first one where nothing is."""
        return self.first - 1 if self.steps is None else self.before + self.steps

    def __bool__(self) -> bool:
        return bool(self.proved or self.share is not None or self.closest is not None)

    def to_json(self) -> dict[str, Any]:
        """An object."""
        return {
            "proved": self.proved,
            "steps": self.steps,
            "before": self.before,
            "first": self.first,
            "open": self.open,
            "share": self.share,
            "boxes": [{name: list(ends) for name, ends in box.items()} for box in self.boxes],
            "count": self.count,
            "around": {name: list(ends) for name, ends in self.around.items()},
            "leaving": list(self.leaving),
            "closest": None if self.closest is None else self.closest.to_json(),
        }
