"""Cells of the initial set and affine forms over them, in exact rationals.

A form is a tuple ``(constant, c_1, .., c_m)`` over the m free initial variables. A cell is a box and further
half-spaces ``form >= 0`` (or ``> 0``). Nothing here rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any, TypeAlias

from venmas.linear import LinearExpr

rational: Any
try:
    import gmpy2

    rational = gmpy2.mpq
except ImportError:  # the same, slower
    rational = Fraction

Q: TypeAlias = Any
"""An exact rational: gmpy2's mpq, or a Fraction."""

Form: TypeAlias = tuple[Q, ...]


@dataclass(frozen=True)
class Row:
    """``form >= 0``, or ``form > 0``."""

    form: Form
    strict: bool = False


@dataclass(frozen=True)
class Bound:
    """A least upper (or greatest lower) bound, and whether it may be attained."""

    value: Q
    attained: bool = True


@dataclass(frozen=True, eq=False)
class Cell:
    """``low <= x <= high`` for the free variables `names`, and `rows`."""

    names: tuple[str, ...]
    low: tuple[Q, ...]
    high: tuple[Q, ...]
    integral: tuple[bool, ...]
    rows: tuple[Row, ...] = ()

    def form(self, expr: LinearExpr, fixed: dict[str, Q]) -> Form:
        """An affine expression over initial variables as a form; the variables in `fixed` have one value."""
        constant = rational(expr.constant)
        found = [rational(0)] * len(self.names)
        for name, coefficient in expr.terms:
            if name in fixed:
                constant += rational(coefficient) * fixed[name]
            else:
                found[self.names.index(name)] += rational(coefficient)
        return (constant, *found)

    def box_max(self, form: Form) -> Q:
        """Greatest value over the box."""
        total = form[0]
        for c, lo, hi in zip(form[1:], self.low, self.high, strict=True):
            if c:
                total += c * (hi if c > 0 else lo)
        return total

    def sup(self, form: Form) -> Bound:
        """An upper bound over the cell: of the box, or of a parallel half-space where that is tighter."""
        best = Bound(self.box_max(form))
        if self.rows:
            lead, direction = _direction(form)
            limit = self._limits.get((lead < 0, direction))
            if limit is not None:
                value = form[0] + lead * limit.value
                if value < best.value or (value == best.value and not limit.attained):
                    best = Bound(value, limit.attained)
        return best

    @cached_property
    def _limits(self) -> dict[tuple[bool, Form], Bound]:
        """By the rows, for ``d = direction . x``: (False, direction) its upper, (True, direction) its lower bound."""
        found: dict[tuple[bool, Form], Bound] = {}
        for row in self.rows:
            lead, direction = _direction(row.form)
            if not lead:
                continue
            end, above = -row.form[0] / lead, lead > 0  # lead * (direction . x) >= -constant
            known = found.get((above, direction))
            if known is None or (end > known.value if above else end < known.value):
                found[above, direction] = Bound(end, not row.strict)
            elif end == known.value and row.strict:
                found[above, direction] = Bound(end, False)
        return found

    def inf(self, form: Form) -> Bound:
        """A lower bound over the cell."""
        above = self.sup(negative(form))
        return Bound(-above.value, above.attained)

    def cut(self, form: Form, strict: bool = False) -> Cell | None:
        """The part where ``form >= 0``, None when the box excludes it. With one free variable the box itself is cut."""
        free = [i for i, c in enumerate(form[1:]) if c]
        if not free:
            return self if form[0] > 0 or (form[0] == 0 and not strict) else None
        if len(free) == 1:
            at, c = free[0], form[1 + free[0]]
            end = -form[0] / c
            low, high = list(self.low), list(self.high)
            if self.integral[at]:  # round inward: the variable takes no value between
                end = end + (1 if c > 0 else -1) if strict and end == floor(end) else end
                end, strict = rational(ceil(end) if c > 0 else floor(end)), False
            if c > 0:
                low[at] = max(low[at], end)
            else:
                high[at] = min(high[at], end)
            if low[at] > high[at]:
                return None
            rows = (*self.rows, Row(form, True)) if strict else self.rows
            return replace(self, low=tuple(low), high=tuple(high), rows=rows)
        return replace(self, rows=(*self.rows, Row(form, strict)))


def fraction(value: Q) -> Fraction:
    """The rational as a Fraction of Python integers."""
    return Fraction(int(value.numerator), int(value.denominator))


def negative(form: Form) -> Form:
    """``-form``."""
    return tuple(-c for c in form)


def plus(left: Form, right: Form, factor: Q = 1) -> Form:
    """``left + factor * right``."""
    return tuple(a + factor * b for a, b in zip(left, right, strict=True))


def _direction(form: Form) -> tuple[Q, Form]:
    """(lead, d): the form is ``constant + lead * (d . x)``, the first entry of d that is not 0 being 1."""
    lead = rational(next((c for c in form[1:] if c), 0))  # rational: forms may hold whole numbers as integers
    return lead, tuple(c / lead for c in form[1:]) if lead else form[1:]


def refutes(cell: Cell, rows: Sequence[Row], weights: Iterable[tuple[int, int]]) -> bool:
    """Do the weighted rows exclude every point of the cell's box? (Farkas; the residual is absorbed by the box.)

    The non-negative combination of rows is at least 0 wherever all of them hold. If the box keeps it below 0, or
    at most 0 while a strict row takes part, they never hold together.
    """
    total: Form = (rational(0),) * (len(cell.names) + 1)
    strict = False
    for index, weight in weights:
        if weight < 0 or not 0 <= index < len(rows):
            return False
        if weight:
            total = plus(total, rows[index].form, rational(weight))
            strict |= rows[index].strict
    most = cell.box_max(total)
    return bool(most < 0 or (most == 0 and strict))
