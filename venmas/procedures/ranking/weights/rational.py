"""Linear programs in rationals: small ones, whose numbers are beyond the precision of floats.

The dual simplex method (Lemke, 1954) from the point 0, which is dual feasible as costs are not negative, with the least
index where there is a choice (Bland, 1977), so that it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from venmas.logic.simplex import exchange

_MOST = 3_000_000
"""Entries of the dictionary that are computed before it is given up, a few seconds."""


def cheapest(costs: Sequence[Fraction], rows: Sequence[Sequence[int]], bounds: Sequence[int]) -> list[Fraction] | None:
    """Weights w of least ``sum(cost * |w|)`` with ``row . w >= bound`` for all rows; None where none was found."""
    used = [at for at in range(len(costs)) if any(row[at] for row in rows)]
    # variables: the positive and the negative part of each used weight, then the slack of each row
    size, parts = 2 * len(used), [*((at, 1) for at in used), *((at, -1) for at in used)]
    table = [
        [Fraction(-bound), *(Fraction(sign * row[at]) for at, sign in parts)]
        for row, bound in zip(rows, bounds, strict=True)
    ]
    price = [Fraction(0), *(costs[at] for at, _ in parts)]
    outside, inside = list(range(size)), list(range(size, size + len(rows)))
    work = 0
    while True:
        low = [place for place, row in enumerate(table) if row[0] < 0]
        if not low:
            break
        leaving = min(low, key=lambda place: inside[place])
        row = table[leaving]
        open_ = [column for column in range(1, size + 1) if row[column] > 0]
        work += len(table) * size
        if not open_ or work > _MOST:
            return None
        entering = min(open_, key=lambda column: (price[column] / row[column], outside[column - 1]))
        exchange(table, price, leaving, entering)
        outside[entering - 1], inside[leaving] = inside[leaving], outside[entering - 1]
    weights = [Fraction(0)] * len(costs)
    for variable, row in zip(inside, table, strict=True):
        if variable < size:
            at, sign = parts[variable]
            weights[at] += sign * row[0]
    return weights
