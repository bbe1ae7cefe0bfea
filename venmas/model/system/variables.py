"""State variables as they are declared, and sets of states: boxes and polytopes."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import TypeAlias

from venmas.logic.linear import Comparison
from venmas.model.expressions.domain import MAX_DOMAIN

Region: TypeAlias = tuple[Comparison, ...]
"""A conjunction of linear comparisons: a polytope, where strict ones leave out faces."""

Box: TypeAlias = dict[str, tuple[Fraction, Fraction]]
"""Closed intervals by variable."""


@dataclass(frozen=True)
class VariableDecl:
    """A state variable: its closed range, whether it is an integer (Booleans are integers in [0, 1]), unit, labels.

    `title`: what traces call it where that is no name of a variable; it is no part of the system.
    """

    name: str
    lower: Fraction
    upper: Fraction
    integral: bool = False
    boolean: bool = False
    unit: str = ""
    labels: tuple[tuple[int, str], ...] = ()
    title: str = field(default="", compare=False)

    @cached_property
    def values(self) -> tuple[Fraction, ...] | None:
        """All values, when the variable is an integer of a small range."""
        if not self.integral or self.upper - self.lower >= MAX_DOMAIN:
            return None
        return tuple(Fraction(i) for i in range(ceil(self.lower), floor(self.upper) + 1))

    def show(self, value: Fraction | float) -> str:
        """A value with its label and unit, for people."""
        label = dict(self.labels).get(int(value)) if self.labels and value == int(value) else None
        text = label or (f"{int(value)}" if value == int(value) else f"{float(value):.6g}")
        return f"{text} {self.unit}".rstrip()
