"""Small systems of rows over a cell, decided exactly: a point, or weights that show that there is none.

The free initial variables are few, so an exact simplex over rationals costs little and leaves nothing to a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from venmas.checker.cell import Cell, Q, Row, rational, refutes
from venmas.simplex import solve


@dataclass(frozen=True)
class Excluded:
    """No point: non-negative integer weights of rows."""

    weights: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Point:
    """A point that satisfies all rows, exactly."""

    x: tuple[Q, ...]


def solve_rows(cell: Cell, rows: Sequence[Row]) -> Excluded | Point:
    """Decide ``row >= 0`` (``> 0`` where strict) for all rows over the box of a cell."""
    for i in range(len(rows)):
        if refutes(cell, rows, [(i, 1)]):
            return Excluded(((i, 1),))
    size = len(cell.names)
    ends: list[Row] = []
    for i, (a, b) in enumerate(zip(cell.low, cell.high, strict=True)):
        unit = tuple(rational(int(j == i)) for j in range(size))
        ends += [Row((-a, *unit)), Row((b, *(-u for u in unit)))]
    weights, point = solve([*rows, *ends], size)
    if point is not None:
        return Point(point)
    # the ends of the box take part in the weights; `refutes` absorbs them
    return Excluded(integers([(i, w) for i, w in sorted(weights.items()) if i < len(rows)]))


def integers(weights: Sequence[tuple[int, Q]]) -> tuple[tuple[int, int], ...]:
    """Positive rational weights as integers in the same proportion."""
    scale = lcm(*(int(w.denominator) for _, w in weights))
    return tuple((i, int(w.numerator) * (scale // int(w.denominator))) for i, w in weights)
