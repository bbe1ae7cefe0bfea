"""Exact linear programming in rationals: rows over free variables, a point of them or weights that show there is none.

Bland's rule can not cycle, and nothing is left to a tolerance. Rows that only meet at their boundary are solved away,
one variable at a time, so strict comparisons are decided, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from venmas.budget import ask

rational: Any
try:
    import gmpy2

    rational = gmpy2.mpq
except ImportError:  # the same, slower
    rational = Fraction

Q: TypeAlias = Any
"""An exact rational: gmpy2's mpq, or a Fraction."""

Form: TypeAlias = tuple[Q, ...]
"""``constant + c_1 x_1 + .. + c_m x_m`` as ``(constant, c_1, .., c_m)``."""


@dataclass(frozen=True)
class Row:
    """``form >= 0``, or ``form > 0``."""

    form: Form
    strict: bool = False


def plus(left: Form, right: Form, factor: Q = 1) -> Form:
    """``left + factor * right``."""
    return tuple(a + factor * b for a, b in zip(left, right, strict=True))


def solve(rows: Sequence[Row], size: int) -> tuple[dict[int, Q], tuple[Q, ...] | None]:
    """Weights of rows whose combination is negative (or zero, a strict one among them), or a point.

    The rows bound every variable; bounds of single variables are quickest as the last ones.
    """
    broken = next((i for i, r in enumerate(rows) if _broken(r)), None)
    if broken is not None:
        return {broken: rational(1)}, None
    moving = [i for i, r in enumerate(rows) if any(r.form[1:])]
    found, point, least = _most([rows[i] for i in moving], size)
    weights = {moving[i]: w for i, w in found.items()}
    if least > 0 or (least == 0 and not any(r.strict and not _value(r.form, point) > 0 for r in rows)):
        return {}, point
    if least < 0 or any(rows[i].strict for i in weights):
        return weights, None
    return _on_boundary(rows, size, weights)


def _broken(row: Row) -> bool:
    """Is it a constant that does not hold?"""
    return not any(row.form[1:]) and (row.form[0] < 0 or (row.form[0] == 0 and row.strict))


def _on_boundary(rows: Sequence[Row], size: int, weights: dict[int, Q]) -> tuple[dict[int, Q], tuple[Q, ...] | None]:
    """The same where the weighted rows hold with equality on every point: one is solved for a variable, which goes."""
    pivot = min(weights)
    form = rows[pivot].form
    at = next(i for i, c in enumerate(form) if i and c)

    def without(f: Form) -> Form:
        reduced = plus(f, form, -f[at] / form[at])
        return reduced[:at] + reduced[at + 1 :]

    inner, rest_point = solve([Row(without(r.form), r.strict) for r in rows], size - 1)
    if rest_point is not None:
        head, tail = rest_point[: at - 1], rest_point[at - 1 :]
        solved = -_value(form, (*head, rational(0), *tail)) / form[at]
        return {}, (*head, solved, *tail)
    # the inner combination is the outer one and `factor` times the pivot row, whose negative is one of the others
    factor = sum((-w * rows[i].form[at] / form[at] for i, w in inner.items()), rational(0))
    if factor > 0:
        inner[pivot] = inner.get(pivot, rational(0)) + factor
    elif factor < 0:
        for i, w in weights.items():
            if i != pivot:
                inner[i] = inner.get(i, rational(0)) - factor * w / weights[pivot]
    return inner, None


def _value(form: Form, point: Sequence[Q]) -> Q:
    return form[0] + sum((c * x for c, x in zip(form[1:], point, strict=True)), rational(0))


def _most(rows: Sequence[Row], size: int) -> tuple[dict[int, Q], tuple[Q, ...], Q]:
    """A point where all rows are above 0, with t their least; or else the greatest t, and the weights that show it.

    Rows are taken in as a point violates them, beside the ends of the box, which are the last: after many splits most
    rows of a cell cut nothing off.
    """
    used = list(range(max(0, len(rows) - 2 * size), len(rows)))
    while True:
        best = _greatest([rows[i] for i in used], size)
        if best is None:
            used = list(range(len(rows)))
            continue
        weights, point, least = best
        values = [_value(r.form, point) for r in rows] if least >= 0 else []
        value = min(values, default=least)
        if value > 0 or value == least:
            return {used[i]: w for i, w in weights.items()}, point, value
        used.append(values.index(value))


def exchange(table: list[list[Q]], goal: list[Q], leaving: int, entering: int) -> None:
    """Exchange the variable of a row of a dictionary for that of a column, in the goal, too."""
    ask()
    by = table[leaving][entering]
    new = [-c / by for c in table[leaving]]
    new[entering] = 1 / by
    table[leaving] = new
    for other in [*(row for place, row in enumerate(table) if place != leaving), goal]:
        c = other[entering]
        if c:
            for column, value in enumerate(new):
                if column == entering:
                    other[column] = c * value
                elif value:
                    other[column] += c * value


def _greatest(rows: Sequence[Row], size: int) -> tuple[dict[int, Q], tuple[Q, ...], Q] | None:
    """Maximise t with ``row >= t`` for all rows: the weights of its dual (sum 1), a best point, and t.

    None when t has no bound. The variables x are free, so each enters the basis at most once and never leaves it.
    """
    if not rows:
        return {}, (rational(0),) * size, rational(1)
    # slack_i = form_i(x) - t; the columns are non-basic: x_1..x_m and t at first, slacks later
    table = [[*r.form, rational(-1)] for r in rows]
    basis: list[tuple[str, int]] = [("s", i) for i in range(len(rows))]
    columns: list[tuple[str, int]] = [*(("x", i) for i in range(size)), ("t", 0)]
    goal = [rational(0)] * (size + 1) + [rational(1)]

    def pivot(row: int, column: int) -> None:
        exchange(table, goal, row, column)
        basis[row], columns[column - 1] = columns[column - 1], basis[row]

    # t enters first, at the row that is least at x = 0: every slack is then non-negative
    pivot(min(range(len(rows)), key=lambda i: table[i][0]), size + 1)
    while True:
        entering = None
        for j, (kind, index) in enumerate(columns, 1):
            if goal[j] > 0 or (kind == "x" and goal[j] != 0):
                rank = (kind != "x", index)
                if entering is None or rank < entering[0]:
                    entering = (rank, j, 1 if goal[j] > 0 else -1)
        if entering is None:
            break
        _, column, direction = entering
        leaving: tuple[Q, int, int] | None = None
        for i, row in enumerate(table):
            slope = row[column] * direction
            if basis[i][0] == "s" and slope < 0:
                limit = (-row[0] / slope, basis[i][1], i)
                if leaving is None or limit < leaving:
                    leaving = limit
        if leaving is None:
            return None
        pivot(leaving[2], column)
    weights = {index: -goal[j] for j, (kind, index) in enumerate(columns, 1) if kind == "s" and goal[j] != 0}
    values = {name: table[i][0] for i, name in enumerate(basis)}
    return weights, tuple(values.get(("x", i), rational(0)) for i in range(size)), goal[0]
