"""Grids of cells: values of the integers, and a side a real variable, whose ends are in it or not.

Faces lie at thresholds of atoms and choices, on the side on which these change their truth: between x <= c and x > c
the face belongs to the lower cell. Where both kinds meet, the face is a cell of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, log2
from typing import Literal, TypeAlias

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.logic import Atom, Formula, conjunction, subformulas
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.expressions.expr import Compare, to_comparison
from venmas.model.system.system import System

Owner: TypeAlias = Literal["above", "below", "both"]
"""Cell that a face belongs to: the one above, the one below, or one of its own."""
Marks: TypeAlias = dict[str, dict[Fraction, Owner]]
_ALONG = {1: 32, 2: 16}
_ALONG_MORE = 8
"""Cells along the side of a first grid, by the number of real variables."""
_POINTS = {1: 5, 2: 3}
_BITS = 24
"""Of the fractions of faces in a smooth system."""
_ASIDE = Fraction(5, 16)
"""Part of a side by which faces in a smooth system keep off the multiples of a side."""
_INSIDE = 1e-5
"""Part of a side by which samples keep off an end that is not in it."""


@dataclass(frozen=True)
class Side:
    """An interval, and whether its ends are in it."""

    low: Fraction
    high: Fraction
    shut: tuple[bool, bool] = (True, True)

    def halves(self) -> tuple[Side, Side]:
        """Its lower and its upper half, which has the middle."""
        middle = (self.low + self.high) / 2
        return Side(self.low, middle, (self.shut[0], False)), Side(middle, self.high, (True, self.shut[1]))

    def samples(self, count: int) -> Floats:
        """Points from end to end."""
        low, high = float(self.low), float(self.high)
        inset = (high - low) * _INSIDE
        return np.linspace(low + inset * (not self.shut[0]), high - inset * (not self.shut[1]), count)

    def holds(self, value: Fraction) -> bool:
        """Is a value in it?"""
        return self.low < value < self.high or (
            (value == self.low and self.shut[0]) or (value == self.high and self.shut[1])
        )

    def formula(self, name: str) -> Formula:
        """Its values of a variable."""
        low, high = (LinearExpr.variable(name) - LinearExpr((), end) for end in (self.low, self.high))
        if self.low == self.high:
            return Atom(Comparison(low, Relation.EQ))
        least = Comparison(low, Relation.GE if self.shut[0] else Relation.GT)
        most = Comparison(high, Relation.LE if self.shut[1] else Relation.LT)
        return conjunction([Atom(least), Atom(most)])


@dataclass(frozen=True)
class Cell:
    """Values of the integers, in order, and a side for each real variable."""

    integers: tuple[int, ...]
    sides: tuple[Side, ...]

    def halves(self, scale: Sequence[Fraction]) -> tuple[Cell, Cell] | None:
        """Two halves of the side that is longest on a scale; None for a point."""
        widths = [(s.high - s.low) / unit for s, unit in zip(self.sides, scale, strict=True)]
        at = max(range(len(widths)), key=widths.__getitem__)
        if not widths[at]:
            return None
        low, high = self.sides[at].halves()
        first, last = self.sides[:at], self.sides[at + 1 :]
        return Cell(self.integers, (*first, low, *last)), Cell(self.integers, (*first, high, *last))

    def points(self) -> Floats:
        """Sampled states (P, reals)."""
        count = _POINTS.get(len(self.sides), 2)
        sides = [side.samples(count) for side in self.sides]
        return np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, len(sides))

    def formula(self, integers: Sequence[str], reals: Sequence[str]) -> Formula:
        """Its states."""
        fixed = (Side(Fraction(v), Fraction(v)).formula(n) for n, v in zip(integers, self.integers, strict=True))
        return conjunction([*fixed, *(side.formula(n) for n, side in zip(reals, self.sides, strict=True))])


def marks(system: System, formulas: Iterable[Formula]) -> Marks:
    """Faces of the real variables: thresholds of atoms, of the initial sets, and of choices, for the ends of noise."""
    atoms = [node.comparison for f in formulas for node in subformulas(f) if isinstance(node, Atom)]
    atoms += [comparison for region in system.regions for comparison in region]
    atoms += [c for _, node in system.nodes() if isinstance(node, Compare) and (c := to_comparison(node)) is not None]
    noise = {name: (system.variables[name].lower, system.variables[name].upper) for name in system.disturbances}
    reals = {n for n, decl in system.variables.items() if not decl.integral and n not in noise}
    known: Marks = {name: {} for name in reals}
    for comparison in atoms:
        terms = dict(comparison.expr.terms)
        names = [name for name in terms if name in reals]
        if len(names) != 1 or any(n not in noise for n in terms if n not in reals):
            continue
        name, factor = names[0], terms[names[0]]
        for end in (0, 1):
            rest = sum((c * noise[n][end if c > 0 else 1 - end] for n, c in terms.items() if n in noise), Fraction(0))
            value = -(comparison.expr.constant + rest) / factor
            owner = _owner(comparison.relation, factor > 0)
            known[name][value] = owner if known[name].get(value, owner) == owner else "both"
    if system.smooth:  # enclosures are no better than these: faces beside a number, of few bits
        return {name: {end: "above" for value in ends for end in _beside(value)} for name, ends in known.items()}
    return known


def _beside(value: Fraction) -> tuple[Fraction, Fraction]:
    unit = Fraction(1, 1 << _BITS)
    return value // unit * unit, -(-value // unit) * unit


def _owner(relation: Relation, rising: bool) -> Owner:
    if relation in (Relation.EQ, Relation.NE):
        return "both"
    return "above" if (relation in (Relation.GE, Relation.LT)) is rising else "below"


class Grid:
    """Sides of a first grid over a box: `hull`, ends by the name of a real variable."""

    def __init__(
        self, system: System, reals: Sequence[str], hull: Mapping[str, tuple[float, float]], at: Marks
    ) -> None:
        along = _ALONG.get(len(reals), _ALONG_MORE)
        self.sides = [list(self._sides(system, name, hull[name], at[name], along)) for name in reals]
        self.scale = [max(sides[-1].high - sides[0].low, Fraction(1, 2**40)) for sides in self.sides]

    @staticmethod
    def _sides(
        system: System, name: str, ends: tuple[float, float], at: Mapping[Fraction, Owner], along: int
    ) -> Iterator[Side]:
        decl = system.variables[name]
        spread = max(ends[1] - ends[0], 2.0**-20 * max(1.0, abs(ends[0]), abs(ends[1])))
        step = Fraction(2) ** floor(log2(1.5 * spread / along))
        low = max(Fraction(ends[0]) // step * step, decl.lower)
        high = min(-(-Fraction(ends[1]) // step) * step, decl.upper)
        thresholds = sorted(v for v in at if low <= v <= high)
        lines: set[Fraction] = {low, high, *thresholds}
        number = low // step + 1
        aside = step * _ASIDE if system.smooth else 0  # runs settle at round numbers, where no face is to be
        while number * step + aside < high:
            line = number * step + aside
            if all(abs(line - v) * 4 > step for v in thresholds):
                lines.add(line)
            number += 1
        # beyond what samples reach, wider and wider ones to the ends of the declared range
        for end, sign, last in ((low, -1, decl.lower), (high, 1, decl.upper)):
            width = step
            while (last - end) * sign > 0:
                end = max(end - width, last) if sign < 0 else min(end + width, last)
                lines.add(end)
                width *= 2
        low, high = decl.lower, decl.upper
        faces = sorted({*lines, *(v for v in at if low <= v <= high)})
        for face, after in zip(faces, [*faces[1:], None], strict=True):
            owner = at.get(face, "above")
            if owner == "both" or (after is None and owner == "above" and len(faces) == 1):
                yield Side(face, face)
            if after is not None:
                top = at.get(after, "above")
                lowest = face == low and owner != "both"
                highest = after == high and top != "both"
                yield Side(face, after, (lowest or owner == "above", highest or top == "below"))
