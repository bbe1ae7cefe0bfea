"""Cells of the initial set and affine forms over them, in exact rationals.

A form is a tuple ``(constant, c_1, .., c_m)`` over the m free initial variables. A cell is a box and further
half-spaces ``form >= 0`` (or ``> 0``). Nothing here rounds.

- *Greatest value of a form over the box*: c0 plus, for every ci, ci * high_i if ci > 0, ci * low_i if ci < 0.
- *sup of a form over a cell*: the greatest value over the box, attained; then for each row in order whose form g is
  parallel with a negative ratio r (form = r g + offset, r < 0, g not constant): the offset, attained unless the row is
  strict, replaces the value found so far if it is less, or equal while the row is strict. *inf* is minus the sup of
  minus the form.
- *Cutting a cell by form >= 0 (or > 0)*: a constant form leaves the cell as it is, or nothing. A form in one variable
  moves an end of the box to the root, if that is inward; for an integer variable the end is rounded inward, and if the
  cut is strict and the root an integer, moved inward by 1. The part is nothing when low > high. For a real variable a
  strict cut also adds its row at the end of the list. A form in several variables adds its row at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

from venmas.checker.exact.maps import Map
from venmas.logic.linear import LinearExpr
from venmas.logic.simplex import Form as Form
from venmas.logic.simplex import Q as Q
from venmas.logic.simplex import Row as Row
from venmas.logic.simplex import plus as plus
from venmas.logic.simplex import rational as rational

_digits: Callable[[Any], str | bytes]
"""The digits of a rational: unlike hashes of numbers, those of texts can not be made equal by whoever chooses them."""
try:
    import gmpy2

    _digits = gmpy2.to_binary
except ImportError:

    def _digits(value: Fraction) -> str:
        return f"{value.numerator:x}/{value.denominator:x}"


@dataclass(frozen=True)
class Bound:
    """A least upper (or greatest lower) bound, and whether it may be attained."""

    value: Q
    attained: bool = True


class Rows:
    """The rows of a cell in order, and what they say of directions; a further row makes new ones, which share these."""

    __slots__ = ("_by_place", "_known", "_limits", "_size")

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._by_place: Map[Row] = Map()
        self._known: Map[bool] = Map()
        self._limits: Map[Bound] = Map()
        self._size = 0
        for row in rows:
            self._append(row)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: int) -> Row:
        row = self._by_place.get(place)
        if row is None:
            raise IndexError(place)
        return row

    def __iter__(self) -> Iterator[Row]:
        return (self[place] for place in range(self._size))

    def and_row(self, row: Row) -> Rows:
        """These and one more."""
        more = Rows()
        more._by_place, more._known, more._limits, more._size = self._by_place, self._known, self._limits, self._size
        more._append(row)
        return more

    def limit(self, above: bool, direction: Form) -> Bound | None:
        """The least upper (`above`), or greatest lower, bound of ``direction . x`` that a row states."""
        return self._limits.get((above, _key(direction)))

    def within(self, other: Rows, known: dict[tuple[int, int], tuple[object, object]] | None = None) -> bool:
        """Are all of these among the others? known: see `Map.within`."""
        return self._known.within(other._known, known)

    def _append(self, row: Row) -> None:
        self._by_place = self._by_place.put(self._size, row)
        self._size += 1
        self._known = self._known.put((row.strict, _key(row.form)), True)
        lead, direction = _direction(row.form)
        if not lead:
            return
        # lead * (direction . x) >= -constant
        end, above, key = -row.form[0] / lead, lead < 0, (lead < 0, _key(direction))
        limit = self._limits.get(key)
        if limit is None or (end < limit.value if above else end > limit.value):
            self._limits = self._limits.put(key, Bound(end, not row.strict))
        elif end == limit.value and row.strict:
            self._limits = self._limits.put(key, Bound(end, False))


NO_ROWS = Rows()


@dataclass(frozen=True, eq=False)
class Cell:
    """``low <= x <= high`` for the free variables `names`, and `rows`."""

    names: tuple[str, ...]
    low: tuple[Q, ...]
    high: tuple[Q, ...]
    integral: tuple[bool, ...]
    rows: Rows = NO_ROWS

    def form(self, expr: LinearExpr, fixed: dict[str, Q]) -> Form:
        """An affine expression over initial variables as a form; the variables in `fixed` have one value."""
        constant = rational(expr.constant)
        coefficients = [rational(0)] * len(self.names)
        for name, coefficient in expr.terms:
            if name in fixed:
                constant += rational(coefficient) * fixed[name]
            else:
                coefficients[self.names.index(name)] += rational(coefficient)
        return (constant, *coefficients)

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
            limit = self.rows.limit(lead > 0, direction) if lead else None
            if limit is not None:
                value = form[0] + lead * limit.value
                if value < best.value or (value == best.value and not limit.attained):
                    best = Bound(value, limit.attained)
        return best

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
            rows = self.rows.and_row(Row(form, True)) if strict else self.rows
            return replace(self, low=tuple(low), high=tuple(high), rows=rows)
        return replace(self, rows=self.rows.and_row(Row(form, strict)))


def fraction(value: Q) -> Fraction:
    """The rational as a Fraction of Python integers."""
    return Fraction(int(value.numerator), int(value.denominator))


def negative(form: Form) -> Form:
    """``-form``."""
    return tuple(-c for c in form)


def _direction(form: Form) -> tuple[Q, Form]:
    """(lead, d): the form is ``constant + lead * (d . x)``, the first entry of d that is not 0 being 1."""
    lead = rational(next((c for c in form[1:] if c), 0))  # rational: forms may hold whole numbers as integers
    return lead, tuple(c / lead for c in form[1:]) if lead else form[1:]


def _key(form: Form) -> Hashable:
    return tuple(_digits(rational(c)) for c in form)


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
