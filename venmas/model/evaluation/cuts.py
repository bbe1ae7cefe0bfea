"""What a proof by tubes consists of: how each initial box is cut, and how finely each part is enclosed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Fineness:
    """How finely a part is enclosed: order of Taylor steps, steps a period, slices a step, symbols that are kept; and
    in how many sets states are after a step at most, where that is not 0, if they have several successors."""

    order: int
    substeps: int
    slices: int
    symbols: int
    sets: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """The parts ``x <= at`` and ``x >= at``, of an integer ``x <= at`` and ``x >= at + 1``."""

    variable: str
    at: Fraction
    low: Tree
    high: Tree


@dataclass(frozen=True, slots=True)
class Chosen:
    """A part with values for all noise that may be chosen, in its order."""

    values: tuple[Fraction, ...]
    part: Fineness


Tree: TypeAlias = Cut | Chosen | Fineness
