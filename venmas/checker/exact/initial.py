"""Initial sets as cells, and the boxes around them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from venmas.checker.exact.cell import Cell, Q, negative, rational
from venmas.logic.linear import Relation
from venmas.model.system.system import System
from venmas.model.system.variables import Region

Box = tuple[tuple[Fraction, Fraction], ...]
"""Closed ranges of all variables, in the order of the system."""


def initial_box(system: System, region: Region) -> Box | None:
    """A box around an initial set, None where it is empty."""
    cell = cut_by(declared_cell(system), region)
    if cell is None:
        return None
    return tuple((_fraction(a), _fraction(b)) for a, b in zip(cell.low, cell.high, strict=True))


def declared_cell(system: System) -> Cell | None:
    """The declared ranges, those of integers rounded inward; None when one is empty."""
    decls = system.variables.values()
    low = tuple(rational(ceil(d.lower) if d.integral else d.lower) for d in decls)
    high = tuple(rational(floor(d.upper) if d.integral else d.upper) for d in decls)
    if any(a > b for a, b in zip(low, high, strict=True)):
        return None
    return Cell(tuple(system.variables), low, high, tuple(d.integral for d in decls))


def cut_by(cell: Cell | None, region: Region) -> Cell | None:
    """The part of a cell where the comparisons of a region hold, ``!=`` left out."""
    for comparison in region:
        if cell is None:
            return None
        form, relation = cell.form(comparison.expr, {}), comparison.relation
        if relation in (Relation.GT, Relation.GE, Relation.EQ):
            cell = cell.cut(form, relation.strict)
        if cell is not None and relation in (Relation.LT, Relation.LE, Relation.EQ):
            cell = cell.cut(negative(form), relation.strict)
    return cell


def _fraction(value: Q) -> Fraction:
    return Fraction(int(value.numerator), int(value.denominator))
