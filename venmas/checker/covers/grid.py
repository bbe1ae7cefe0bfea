"""The line of a cover: coordinates of the variables of a loop, in units that become smaller; and the first sets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from venmas.checker.covers.paving import SIDE, Ints, Marks, Paving, together
from venmas.checker.covers.polyhedron import MOST_AXES, MOST_DIRECTIONS, STEEPEST
from venmas.checker.exact.initial import initial_box
from venmas.checker.format.fields import Count, Limit, Number
from venmas.checker.format.rule import Rule, rule
from venmas.model.system.disturbances import Noise, drawn
from venmas.model.system.system import System

Rows: TypeAlias = tuple[tuple[Fraction, ...], ...]
_PARTS = 100_000
"""Parts of the initial sets, about."""
MOST_BOXES = 1 << 20
MOST_CHANGES = 1000
"""Steps from which on units are halved, or cells are cut, at most."""
_FAR = 1 << 45
_DEEPEST = 16
"""Numbers of cells, and times that one is cut, at most."""


class Finer(NamedTuple):
    """Halvings of units of coordinates from a step on, in all."""

    step: Count
    halved: tuple[Annotated[int, Limit(0, 64)], ...]


class Cut(NamedTuple):
    """Cells that are cut from a step on, until units are halved: of each its level, and its place among those."""

    step: Count
    cells: tuple[tuple[Annotated[int, Limit(-_FAR, _FAR)], ...], ...]


@rule("grid")
@dataclass(frozen=True, slots=True)
class Grid(Rule):
    """The coordinates of a cover, in units of which a cell has 8 a side, and how finely steps are enclosed.

    rows: of each coordinate the factors of the variables that are covered. stride: steps between two covers. finer: in
    which steps units are halved, in all. cuts: cells that are cut into smaller ones. boxes: how many are followed, at
    most. directions: where there are any, integer factors of the coordinates: of all that comes of the sets of a layer,
    bounds in these directions are kept, and cells of the polyhedron are the next sets. The rest is as in a `tube`.
    """

    rows: tuple[tuple[Number, ...], ...]
    finer: tuple[Finer, ...]
    cuts: tuple[Cut, ...]
    stride: Annotated[int, Limit(1, 1000)]
    boxes: Annotated[int, Limit(1, MOST_BOXES)]
    bits: Annotated[int, Limit(40, 256)]
    order: Annotated[int, Limit(1, 20)]
    substeps: Annotated[int, Limit(1, 256)]
    slices: Annotated[int, Limit(1, 1024)]
    symbols: Annotated[int, Limit(1, 4096)]
    directions: tuple[tuple[Annotated[int, Limit(-STEEPEST, STEEPEST)], ...], ...] = ()

    def factors(self) -> Ints:
        """The directions, (m, n). Raises `ValueError` where they are none, or units change as well."""
        n = len(self.rows)
        if self.directions and n > MOST_AXES:
            raise ValueError(f"expected at most {MOST_AXES} coordinates where there are directions")
        if len(self.directions) > MOST_DIRECTIONS or any(len(row) != n for row in self.directions):
            raise ValueError(f"expected at most {MOST_DIRECTIONS} directions of {n} numbers")
        if self.directions and (self.cuts or any(any(halved) for _, halved in self.finer)):
            raise ValueError("expected either directions or finer cells")
        return np.array(self.directions, dtype=np.int64).reshape(-1, n)

    def halved(self, step: int) -> tuple[int, ...]:
        """Halvings of the units of coordinates by a step."""
        made: tuple[int, ...] = (0,) * len(self.rows)
        for begin, halved in self.finer:
            made = halved if begin <= step else made
        return made

    def units(self, step: int) -> tuple[int, ...] | None:
        """Units of coordinates at a step; those of the first sets are of their own kind."""
        return self.halved(step) if step else None

    def cells(self) -> list[tuple[int, Ints]]:
        """The cells that are cut, as of a paving. Raises `ValueError` where they are none."""
        made = []
        if max(len(self.cuts), len(self.finer)) > MOST_CHANGES:
            raise ValueError(f"expected at most {MOST_CHANGES} changes of the grid")
        for step, cells in self.cuts:
            n = len(self.rows) + (not step)  # the first sets have a number as well
            if any(len(cell) != 1 + n or not 0 <= cell[0] <= _DEEPEST for cell in cells):
                raise ValueError(f"expected cells of a level up to {_DEEPEST} and {n} numbers from step {step} on")
            made.append((step, np.array(cells, dtype=np.int64).reshape(-1, 1 + n)))
        return made


class Axes:
    """The variables of a system with the noise of one step, by what steps do to them.

    noise: those that have another value in each step, with their ranges. names: those whose sets are covered. changes:
    those that steps set and nothing reads, of which ranges are shown all the same. fixed: the values of all others, and
    of these at first. Raises `ValueError` where one of those that are covered is an integer.
    """

    def __init__(self, base: System, changes: Collection[str] = ()) -> None:
        self.system, self.changes = drawn(base, 1), tuple(changes)
        system = self.system
        self.noise: Noise = {n: (base.variables[n].lower, base.variables[n].upper) for n in base.disturbances}
        boxes = [box for region in system.regions if (box := initial_box(system, region)) is not None]
        self.starts = [dict(zip(system.variables, box, strict=True)) for box in boxes]
        moved = {name for branch in system.branches for name, _ in branch.updates}
        self.fixed: Mapping[str, Fraction] = {
            name: ends.pop()
            for name in system.variables
            if name not in moved and len(ends := {end for box in self.starts for end in box[name]}) == 1
        } | dict.fromkeys(self.changes, Fraction(0))
        self.names = tuple(n for n in system.variables if n not in self.noise and n not in self.fixed)
        self.looked_at = (*self.names, *self.changes)
        for name in self.names:
            if system.variables[name].integral:
                raise ValueError(f"the integer {name} changes, or has several values")

    def parts(self, rows: Rows) -> Starts:
        """Parts of initial sets, about as wide as cells of a grid."""
        counts = []
        for box in self.starts:
            made = []
            for i, name in enumerate(self.names):
                low, high = box[name]
                wide = ceil(max(abs(row[i]) for row in rows) * (high - low) / SIDE)
                made.append(min(max(1, wide), _PARTS))
            while prod(made) > max(1, _PARTS // len(self.starts)):
                made[made.index(max(made))] //= 2
            counts.append(made)
        return Starts([[box[name] for name in self.names] for box in self.starts], counts)


class Starts(NamedTuple):
    """Parts of initial sets, as a paving of the number of a set and, for each variable, of a number that is 0 at one
    end of its range, and so many cells at the other.
    """

    ranges: list[list[tuple[Fraction, Fraction]]]
    counts: list[list[int]]

    def paving(self, marks: Marks) -> Paving:
        """All parts."""
        made = []
        for number, (ends, counts) in enumerate(zip(self.ranges, self.counts, strict=True)):
            cells = np.indices((1, *counts)).reshape(1 + len(counts), -1).T + np.array([number, *[0] * len(counts)])
            wide = np.array([0, *(low < high for low, high in ends)])
            made.append(Paving(np.insert(cells, 0, 0, 1), cells * SIDE, (cells + wide) * SIDE))
        return together(made).cut(Marks(), marks)

    def numbers(self, low: Ints, depth: int) -> Ints:
        """The sets that parts with these lower ends are of, (R,)."""
        return low[:, 0] >> depth + SIDE.bit_length() - 1

    def at(self, number: int, axis: int, place: int, depth: int) -> Fraction:
        """The value of a variable where it has a number in a set."""
        low, high = self.ranges[number][axis]
        return low + (high - low) * Fraction(place, self.counts[number][axis] * SIDE << depth)


def finer(rows: Rows, halved: Sequence[int]) -> Rows:
    """The same coordinates in units that were halved so often."""
    return tuple(tuple(c * 2**h for c in row) for row, h in zip(rows, halved, strict=True))
