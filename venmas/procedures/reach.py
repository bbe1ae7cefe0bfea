"""The protocol of sources of reach sets: what encloses the states that runs may be in, step by step.

A source knows neither the others nor how its layers are shown. Every layer is sound by itself, so that whoever stops in
the middle, or joins what several sources say of one step (`Layer.meet`), loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.logic.linear import LinearExpr
from venmas.model.system.system import System


@dataclass(frozen=True, eq=False)
class Layer:
    """The states after some steps: every run that is so long is where ``low <= direction <= high``.

    low, high: (D,), of the directions that were asked for, rounded outward; infinite where nothing is known. off: (D,),
    by how much an end may be farther out than what is reached, as far as the source can measure that. empty: no run is
    so long. may_leave: a run may have left its declared range before or here; the layer speaks of the others.
    """

    low: Floats
    high: Floats
    off: Floats
    empty: bool = False
    may_leave: bool = False

    def meet(self, other: Layer) -> Layer:
        """What both say of a step."""
        return Layer(
            np.maximum(self.low, other.low),
            np.minimum(self.high, other.high),
            np.minimum(self.off, other.off),
            self.empty or other.empty,
            self.may_leave and other.may_leave,
        )

    @staticmethod
    def around(low: Floats, high: Floats, may_leave: bool = False) -> Layer:
        """One that may be wider than need be."""
        return Layer(low, high, np.full(len(low), np.inf), may_leave=may_leave)

    @staticmethod
    def nothing(directions: int, may_leave: bool = False) -> Layer:
        """That of a step after which no run goes on."""
        zero = np.zeros(directions)
        return Layer(zero + np.inf, zero - np.inf, zero, True, may_leave)


class Source(Protocol):
    """What encloses reachable states."""

    name: str
    help: str
    """One line for people."""
    finest: int
    """The greatest level: beyond it nothing gets tighter."""

    def accepts(self, system: System) -> str | None:
        """None, or why it does not take the system. May raise `ModelError`, which says so."""
        ...

    def layers(
        self, system: System, directions: Sequence[LinearExpr], steps: int, level: int, tick: Callable[[], None]
    ) -> Iterator[Layer]:
        """The layers of step 0 to `steps`, each as soon as it is known; `level`: 0 is the coarsest.

        Raises `UnsuitableError` or
        `OverflowError` where it cannot go on, and what `tick` raises, which is called in every loop that may be long.
        """
        ...
