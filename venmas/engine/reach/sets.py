"""Reach sets as a result: for each step the extremes of directions, and what sampled runs come to there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, inf, isfinite, log10
from typing import Any

import numpy as np

from venmas._version import __version__
from venmas.bounds.rounding import Floats
from venmas.errors import UsageError, did_you_mean
from venmas.logic.linear import LinearExpr
from venmas.procedures.reach import Layer
from venmas.runtime.display import Shown, written

TOLERANCE = 0.05
"""How much wider than what runs were seen to reach a set is that counts as tight."""
_TINY = 1e-290
_EXACT, _ROUNDING = 1e-7, 1e-12
"""By how much, of its width or of its numbers, a set may be off and still count as exact."""


@dataclass(frozen=True)
class Direction:
    """A linear expression of the variables: its text, the expression, the unit where it is a variable."""

    name: str
    expr: LinearExpr
    unit: str = ""


@dataclass(frozen=True)
class Worked:
    """A source at a level: its name, seconds, steps that it came to, and why it did not go on (empty: it did)."""

    name: str
    level: int
    seconds: float
    steps: int
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """An object."""
        return {**vars(self), "seconds": round(self.seconds, 6)}


@dataclass(repr=False, eq=False)
class ReachSets(Shown):
    """Sets that hold every state that runs of a system are in after 0, 1, .. `steps` steps.

    layers: one for each step that something is known of, from step 0 on. runs: values of the directions along sampled
    runs, (R, steps + 1, D), NaN after the end of a run. reached: (steps + 1, D, 2), the extremes of these and of all
    other states that were met on the search for far ones, NaN where there are none. reason: empty where all is tight,
    or no source gets tighter, else the limit that was met (`venmas.errors.Reason`): sets are sound all the same, and
    may be wider than need be. left: the step at which a sampled run leaves the declared range of a variable, where the
    sets end; None for none.
    """

    scenario: str
    steps: int
    directions: tuple[Direction, ...]
    layers: list[Layer] = field(default_factory=list)
    runs: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    reached: Floats = field(default_factory=lambda: np.zeros((0, 0, 2)))
    parameters: Mapping[str, str] = field(default_factory=dict)
    worked: list[Worked] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    message: str = ""
    left: int | None = None
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[dict[str, tuple[float, float]]]:
        return (self.box(step) for step in range(len(self)))

    def __str__(self) -> str:
        return written(self)

    def __repr__(self) -> str:
        last = f", last {self.status(len(self) - 1)}" if self.layers else ""
        return f"<ReachSets of {self.scenario!r}: {len(self)} of {self.steps + 1} steps{last}>"

    def box(self, step: int) -> dict[str, tuple[float, float]]:
        """The extremes of each direction after some steps, rounded outward; empty where no run is so long.

        Raises `UsageError` for a step of which nothing is known.
        """
        if not 0 <= step < len(self):
            raise UsageError(f"nothing is known of step {step!r}: there are the steps 0 to {len(self) - 1}")
        layer = self.layers[step]
        if layer.empty:
            return {}
        ends = zip(layer.low.tolist(), layer.high.tolist(), strict=True)
        return dict(zip((d.name for d in self.directions), ends, strict=True))

    def interval(self, direction: str, step: int) -> tuple[float, float] | None:
        """The extremes of one direction, None where no run is so long. Raises `UsageError`."""
        names = [d.name for d in self.directions]
        if direction not in names:
            raise UsageError(
                f"{direction!r} is no direction of these reach sets{did_you_mean(direction, names)}: they have "
                f"{', '.join(names)}; ask for it with directions=[{direction!r}]"
            )
        return self.box(step).get(direction)

    def seen(self, step: int) -> tuple[Floats, Floats] | None:
        """Least and greatest values of the directions that runs were seen to reach, None where none got there."""
        if step >= len(self.reached) or np.isnan(self.reached[step]).any():
            return None
        return self.reached[step, :, 0], self.reached[step, :, 1]

    def slack(self, step: int) -> float:
        """By which part a set may be wider than what is reached, in the worst direction; infinite if that is unknown.

        The lesser of what sampled runs show, who reach no more than is reached, and of what the source has measured.
        """
        layer, seen = self.layers[step], self.seen(step)
        if layer.empty:
            return 0.0
        width = layer.high - layer.low
        more = 2 * layer.off
        if seen is not None:
            more = np.fmin(more, np.maximum(width - (seen[1] - seen[0]), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(more < width, more / (width - more), inf)
        return float(np.where(more <= self._rounding(layer), 0.0, part).max(initial=0.0))

    @staticmethod
    def _rounding(layer: Layer) -> Floats:
        size = np.maximum(np.abs(layer.low), np.abs(layer.high))
        return np.asarray(np.maximum(_EXACT * (layer.high - layer.low), _ROUNDING * size))

    def status(self, step: int) -> str:
        """``none`` (no run is so long), ``exact`` (but for rounding), ``tight`` (at most 5 % wider) or ``wider``."""
        if self.layers[step].empty:
            return "none"
        slack = self.slack(step)
        return "exact" if slack == 0 else "tight" if slack <= TOLERANCE else "wider"

    @property
    def tight(self) -> bool:
        """Is every step known, and none ``wider``?"""
        return len(self) == self.steps + 1 and all(self.status(k) != "wider" for k in range(len(self)))

    @property
    def may_leave(self) -> int | None:
        """The first step at which bounds do not exclude that a run has left its declared range; None for none."""
        return next((k for k, layer in enumerate(self.layers) if layer.may_leave), None)

    def to_json(self) -> dict[str, Any]:
        """An object as docs/reach.schema.json has it: ends that are not known are null."""
        return {
            "format": "venmas-reach",
            "version": 1,
            "venmas": __version__,
            "scenario": self.scenario,
            "parameters": dict(self.parameters),
            "steps": self.steps,
            "directions": [{"name": d.name, "expression": str(d.expr), "unit": d.unit} for d in self.directions],
            "layers": [self._layer(step) for step in range(len(self))],
            "runs": len(self.runs),
            "left": self.left,
            "reason": self.reason,
            "message": self.message,
            "sources": [w.to_json() for w in self.worked],
            "refused": self.refused,
            "seconds": round(self.seconds, 6),
        }

    def _layer(self, step: int) -> dict[str, Any]:
        seen, slack = self.seen(step), self.slack(step)
        return {
            "step": step,
            "status": self.status(step),
            "may_leave": self.layers[step].may_leave,
            "bounds": {name: [_finite(end) for end in ends] for name, ends in self.box(step).items()},
            "seen": {} if seen is None else self._named(np.stack(seen, 1)),
            "slack": _finite(slack),
        }

    def _named(self, ends: Floats) -> dict[str, list[float]]:
        return dict(zip((d.name for d in self.directions), ends.tolist(), strict=True))


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def outward(low: float, high: float, digits: int = 6) -> tuple[str, str]:
    """Two ends with so many significant digits, the lower one rounded down and the upper one up."""
    return _rounded(low, digits, down=True), _rounded(high, digits, down=False)


def _rounded(value: float, digits: int, *, down: bool) -> str:
    if not isfinite(value) or value == 0 or (abs(value) < 1e12 and value == int(value)):
        return f"{value:.12g}"
    if abs(value) < _TINY:  # whose digits no float holds
        return "0" if (value > 0) is down else f"{_TINY if value > 0 else -_TINY:g}"
    unit = digits - 1 - floor(log10(abs(value)))
    scaled = Fraction(value) * Fraction(10) ** unit
    return f"{float(Fraction((floor if down else ceil)(scaled)) / Fraction(10) ** unit):.{digits}g}"
