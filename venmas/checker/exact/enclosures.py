"""Enclosures of a value over a cell by affine forms, and the relaxation of ``max(z, 0)`` between two of them.

An enclosure is a pair of forms, below and above, the same object where the value is exactly affine on the cell.

Relaxation of max(z, 0) for low <= z <= upp: let l and u be least and greatest values of upp over the box. If l < 0, s =
floor(u / (u - l) * 2^20) / 2^20 and t = max(-s l, (1 - s) u); else s = 1 and t = 0. Above: s upp + t. Below: low if the
greatest value of low over the box is greater than minus its least value, else 0. (Rows are not used.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TypeAlias

from venmas.checker.exact.cell import Cell, Form, Q, negative, rational

SLOPE_BITS = 20
"""Slopes of relaxations are multiples of 2 to the power of minus this."""
MAX_VALUES = 128
"""Most values that are tracked of an expression, or of an integer variable."""
Values: TypeAlias = frozenset[Fraction]


@dataclass(frozen=True, eq=False)
class Enclosure:
    """``low <= value <= upp`` on the cell; `values` are the finitely many it can take, where they are tracked."""

    low: Form
    upp: Form
    values: Values | None = None

    @property
    def exact(self) -> bool:
        """True when the value is this affine form."""
        return self.low is self.upp

    @property
    def parallel(self) -> bool:
        """True when the forms differ by a constant only."""
        return self.exact or self.low[1:] == self.upp[1:]


def relaxation(cell: Cell, low: Form, upp: Form) -> tuple[bool, int, Q]:
    """Relaxation of ``max(z, 0)`` for ``low <= z <= upp``, where z may have both signs: (keep, slope, lift).

    It is at least `low` if `keep`, else at least 0; and at most ``slope / 2**20 * upp + lift``, about the chord.
    """
    least, most = -cell.box_max(negative(upp)), cell.box_max(upp)
    slope, lift = 2**SLOPE_BITS, rational(0)
    if least < 0:
        slope = floor(most / (most - least) * 2**SLOPE_BITS)
        part = rational(slope, 2**SLOPE_BITS)
        lift = max(-part * least, (1 - part) * most)
    return cell.box_max(low) > cell.box_max(negative(low)), slope, lift


def lowest(cell: Cell, forms: Sequence[Form]) -> Form:
    """One form below all: the first one's slopes where all share them, else a constant."""
    first = forms[0]
    if all(f[1:] == first[1:] for f in forms):
        return (min(f[0] for f in forms), *first[1:])
    return (min(-cell.box_max(negative(f)) for f in forms), *(rational(0),) * (len(first) - 1))
