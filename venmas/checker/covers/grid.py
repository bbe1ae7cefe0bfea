"""The line of a cover: coordinates of the variables of a loop, in units that become smaller; and the first sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod
from typing import Annotated, NamedTuple, TypeAlias

from venmas.checker.covers.paving import SIDE
from venmas.checker.exact.initial import initial_box
from venmas.checker.format.fields import Count, Limit, Number
from venmas.checker.format.rule import Rule, rule
from venmas.model.system.disturbances import Noise, drawn
from venmas.model.system.system import System

Rows: TypeAlias = tuple[tuple[Fraction, ...], ...]
_PARTS = 100_000
"""Parts of the initial sets, about."""


class Finer(NamedTuple):
    """Halvings of units of coordinates from a step on, in all."""

    step: Count
    halved: tuple[Annotated[int, Limit(0, 64)], ...]


@rule("grid")
@dataclass(frozen=True, slots=True)
class Grid(Rule):
    """The coordinates of a cover, in units of which a cell has 8 a side, and how finely steps are enclosed.

    rows: of each coordinate the factors of the variables that are covered. stride: steps between two covers. finer: in
    which steps units are halved, in all. boxes: how many are followed, at most. The rest is as in a `tube`.
    """

    rows: tuple[tuple[Number, ...], ...]
    finer: tuple[Finer, ...]
    stride: Annotated[int, Limit(1, 16)]
    boxes: Annotated[int, Limit(1, 1 << 20)]
    bits: Annotated[int, Limit(40, 256)]
    order: Annotated[int, Limit(1, 20)]
    substeps: Annotated[int, Limit(1, 256)]
    slices: Annotated[int, Limit(1, 1024)]
    symbols: Annotated[int, Limit(1, 4096)]


class Axes:
    """The variables of a system with the noise of one step, by what steps do to them.

    noise: those that have another value in each step, with their ranges. names: those whose sets are covered. fixed:
    the values of all others. Raises `ValueError` where one of those that are covered is an integer.
    """

    def __init__(self, base: System) -> None:
        self.system = system = drawn(base, 1)
        self.noise: Noise = {n: (base.variables[n].lower, base.variables[n].upper) for n in base.disturbances}
        boxes = [box for region in system.regions if (box := initial_box(system, region)) is not None]
        self.starts = [dict(zip(system.variables, box, strict=True)) for box in boxes]
        moved = {name for branch in system.branches for name, _ in branch.updates}
        self.fixed: Mapping[str, Fraction] = {
            name: ends.pop()
            for name in system.variables
            if name not in moved and len(ends := {end for box in self.starts for end in box[name]}) == 1
        }
        self.names = tuple(n for n in system.variables if n not in self.noise and n not in self.fixed)
        for name in self.names:
            if system.variables[name].integral:
                raise ValueError(f"the integer {name} changes, or has several values")

    def parts(self, rows: Rows) -> list[list[list[Fraction]]]:
        """For each initial set, where its ranges are cut, about as finely as cells of a grid are wide."""
        cuts = []
        for box in self.starts:
            counts = []
            for i, name in enumerate(self.names):
                low, high = box[name]
                wide = ceil(max(abs(row[i]) for row in rows) * (high - low) / SIDE)
                counts.append(min(max(1, wide), _PARTS))
            while prod(counts) > max(1, _PARTS // len(self.starts)):
                counts[counts.index(max(counts))] //= 2
            cuts.append([cut(*box[name], count) for name, count in zip(self.names, counts, strict=True)])
        return cuts


def cut(low: Fraction, high: Fraction, count: int) -> list[Fraction]:
    """The ends of so many equal parts."""
    return [low + (high - low) * k / count for k in range(count + 1)]


def finer(rows: Rows, halved: Sequence[int]) -> Rows:
    """The same coordinates in units that were halved so often."""
    return tuple(tuple(c * 2**h for c in row) for row, h in zip(rows, halved, strict=True))
