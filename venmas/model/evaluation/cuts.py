"""Proofs by flowpipes as data: the cuts of each initial box, and the fineness of the enclosure of each part."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Fineness:
    """Fineness of an enclosure: order of Taylor steps, steps a period, slices a step, symbols that are kept; and
    in how many sets states are after a step at most, where that is not 0, if they have several successors.

    pieces: of the box of a network's inputs, over which the error of one affine function is bounded, where it is not 0;
    no certificate has such an enclosure.
    """

    order: int
    substeps: int
    slices: int
    symbols: int
    sets: int = 0
    pieces: int = 0


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
