"""Exact affine expressions, comparisons and boxes over named variables.

Numbers are rationals. A number written in a formula or a parameter is the decimal it looks like; a ``float`` in a
scenario is the shortest decimal that denotes it (``0.1`` is 1/10, as in a formula), while the weights of a network are
the binary numbers that are stored (design S2).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from math import gcd, isfinite
from numbers import Rational
from typing import Any, SupportsFloat, TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.errors import InputError

Number: TypeAlias = int | float | Fraction

_MAX_DECIMAL_BITS = 14_000  # Python refuses to write integers of more than 4300 digits as decimals
_HUGE_EXPONENT = re.compile(r"[eE][+-]?0*[1-9][0-9]{4}")


def as_fraction(value: object) -> Fraction:
    """Return `value` as a rational: ints and Fractions as they are, floats as their shortest decimal, text read.

    Raises `InputError` for anything that is not a finite number.
    """
    if type(value) is Fraction:
        return value
    if type(value) is int:
        return Fraction(value)
    if isinstance(value, Rational | int):
        return Fraction(int(value.numerator), int(value.denominator))  # those of numpy overflow
    if isinstance(value, np.floating) and not isinstance(value, float):
        value = str(value) if isinstance(value, np.longdouble) else float(value)
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value)
    if isinstance(value, float | str) or isinstance(value, SupportsFloat):  # noqa: SIM101 - a protocol is slow to ask
        try:
            if not _HUGE_EXPONENT.search(value) if isinstance(value, str) else isfinite(value := float(value)):
                return Fraction(value.strip() if isinstance(value, str) else repr(value))
        except (
            ValueError,
            OverflowError,
            ZeroDivisionError,
            TypeError,
        ):  # arrays and dates have a __float__ that fails
            pass
    raise InputError(f"expected a finite number, got {value!r}")


class Relation(Enum):
    """The six comparisons."""

    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    EQ = "=="
    NE = "!="

    @property
    def negated(self) -> Relation:
        """The comparison that holds exactly where this one does not."""
        return _NEGATED[self]

    @property
    def mirrored(self) -> Relation:
        """The comparison with its two sides exchanged."""
        return _MIRRORED[self]

    @property
    def strict(self) -> bool:
        """True for ``<`` and ``>``."""
        return self in (Relation.LT, Relation.GT)

    def holds(self, left: Fraction, right: Fraction | int = 0) -> bool:
        """Compare two exact numbers."""
        match self:
            case Relation.LT:
                return left < right
            case Relation.LE:
                return left <= right
            case Relation.GT:
                return left > right
            case Relation.GE:
                return left >= right
            case Relation.EQ:
                return left == right
            case Relation.NE:
                return left != right

    def truth(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Where values compare so with 0, of any shape, in their own arithmetic."""
        found: NDArray[np.bool_] = _UFUNCS[self](values, 0)
        return found

    def decide(self, low: Fraction | float, high: Fraction | float) -> bool | None:
        """Whether every x from `low` to `high` compares so with 0; None where some do and some may not."""
        match self:
            case Relation.LT:
                return True if high < 0 else False if low >= 0 else None
            case Relation.LE:
                return True if high <= 0 else False if low > 0 else None
            case Relation.GT:
                return True if low > 0 else False if high <= 0 else None
            case Relation.GE:
                return True if low >= 0 else False if high < 0 else None
            case Relation.EQ:
                return True if low == high == 0 else False if low > 0 or high < 0 else None
            case Relation.NE:
                return False if low == high == 0 else True if low > 0 or high < 0 else None

    def certain(self, least: NDArray[Any], greatest: NDArray[Any]) -> NDArray[np.bool_]:
        """Where every x from `least` to `greatest` compares so with 0, ends of any shape."""
        match self:
            case Relation.LT:
                truth = greatest < 0
            case Relation.LE:
                truth = greatest <= 0
            case Relation.GT:
                truth = least > 0
            case Relation.GE:
                truth = least >= 0
            case Relation.EQ:
                truth = (least == 0) & (greatest == 0)
            case Relation.NE:
                truth = (least > 0) | (greatest < 0)
        return np.asarray(truth, dtype=bool)


_NEGATED = {
    Relation.LT: Relation.GE,
    Relation.GE: Relation.LT,
    Relation.GT: Relation.LE,
    Relation.LE: Relation.GT,
    Relation.EQ: Relation.NE,
    Relation.NE: Relation.EQ,
}
_MIRRORED = {
    Relation.LT: Relation.GT,
    Relation.GT: Relation.LT,
    Relation.LE: Relation.GE,
    Relation.GE: Relation.LE,
    Relation.EQ: Relation.EQ,
    Relation.NE: Relation.NE,
}
_UFUNCS: dict[Relation, np.ufunc] = {
    Relation.LT: np.less,
    Relation.LE: np.less_equal,
    Relation.GT: np.greater,
    Relation.GE: np.greater_equal,
    Relation.EQ: np.equal,
    Relation.NE: np.not_equal,
}


def weighted(terms: Iterable[tuple[Fraction, Fraction]], constant: Fraction) -> Fraction:
    """``sum(c * v) + constant``, reduced once at the end."""
    top, bottom = constant.numerator, constant.denominator
    for c, v in terms:
        n, d = c.numerator * v.numerator, c.denominator * v.denominator
        if d == bottom:
            top += n
        else:
            common = gcd(d, bottom)
            top, bottom = top * (d // common) + n * (bottom // common), bottom // common * d
    return Fraction(top, bottom)


@dataclass(frozen=True)
class LinearExpr:
    """``sum(coefficient * variable) + constant`` with rational coefficients, none of them zero, sorted by name."""

    terms: tuple[tuple[str, Fraction], ...] = ()
    constant: Fraction = Fraction(0)

    def __hash__(self) -> int:
        known: int | None = self.__dict__.get("_hash")
        if known is None:
            # of texts: whoever writes a formula can choose numbers of one hash, and make dictionaries lists
            numbers = (self.constant, *(c for _, c in self.terms))
            texts = (f"{c.numerator:x}/{c.denominator:x}" for c in numbers)
            self.__dict__["_hash"] = known = hash((tuple(n for n, _ in self.terms), *texts))
        return known

    def __getstate__(self) -> dict[str, object]:
        return {"terms": self.terms, "constant": self.constant}  # hashes of texts are those of one process

    @staticmethod
    def of(terms: Mapping[str, Fraction] | Iterable[tuple[str, Fraction]], constant: Number = 0) -> LinearExpr:
        """Build from any terms: repeated variables are added up, zeros dropped."""
        total: dict[str, Fraction] = {}
        for name, coefficient in terms.items() if isinstance(terms, Mapping) else terms:
            total[name] = total.get(name, Fraction(0)) + coefficient
        return LinearExpr(tuple(sorted((n, c) for n, c in total.items() if c)), as_fraction(constant))

    @staticmethod
    def variable(name: str) -> LinearExpr:
        """The expression that is one variable."""
        return LinearExpr(((name, Fraction(1)),))

    @cached_property
    def coefficients(self) -> Mapping[str, Fraction]:
        """Coefficient by variable name."""
        return dict(self.terms)

    @property
    def variables(self) -> frozenset[str]:
        """Names that occur."""
        return frozenset(name for name, _ in self.terms)

    def __add__(self, other: LinearExpr) -> LinearExpr:
        return LinearExpr.of((*self.terms, *other.terms), self.constant + other.constant)

    def __neg__(self) -> LinearExpr:
        return self.scaled(-1)

    def __sub__(self, other: LinearExpr) -> LinearExpr:
        return self + -other

    def scaled(self, factor: Number) -> LinearExpr:
        """The expression times a number."""
        by = as_fraction(factor)
        return LinearExpr(tuple((n, c * by) for n, c in self.terms) if by else (), self.constant * by)

    def evaluate(self, point: Mapping[str, Fraction]) -> Fraction:
        """The exact value at a point."""
        return weighted(((c, point[n]) for n, c in self.terms), self.constant)

    def substitute(self, values: Mapping[str, LinearExpr]) -> LinearExpr:
        """Replace the variables that `values` names by affine expressions."""
        total = LinearExpr(tuple(t for t in self.terms if t[0] not in values), self.constant)
        for name, coefficient in self.terms:
            if name in values:
                total += values[name].scaled(coefficient)
        return total

    def range_over(self, box: Mapping[str, tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
        """Exact least and greatest value over a box."""
        low = high = self.constant
        for name, c in self.terms:
            lo, hi = box[name]
            low, high = (low + c * lo, high + c * hi) if c > 0 else (low + c * hi, high + c * lo)
        return low, high

    def __str__(self) -> str:
        text = ""
        for name, c in self.terms:
            sign = "-" if c < 0 else "+"
            factor = "" if abs(c) == 1 else f"{format_number(abs(c))}*"
            text += f" {sign} {factor}{name}" if text else f"{'-' if c < 0 else ''}{factor}{name}"
        if self.constant or not text:
            value = format_number(abs(self.constant) if text else self.constant)
            text += f" {'-' if self.constant < 0 else '+'} {value}" if text else value
        return text


@dataclass(frozen=True)
class Comparison:
    """``expr relation 0`` (design S5, S6): strict and non-strict are different things."""

    expr: LinearExpr
    relation: Relation

    @property
    def negated(self) -> Comparison:
        """The comparison that holds exactly where this one does not."""
        return Comparison(self.expr, self.relation.negated)

    @property
    def inequalities(self) -> tuple[Comparison, ...]:
        """The same as ``expr <= 0`` or ``expr < 0``: an equation is two of them.

        Raises `ValueError` for ``!=``, which is no conjunction of such.
        """
        expr, relation = self.expr, self.relation
        match relation:
            case Relation.LT | Relation.LE:
                return (self,)
            case Relation.GT | Relation.GE:
                return (Comparison(-expr, relation.mirrored),)
            case Relation.EQ:
                return Comparison(expr, Relation.LE), Comparison(-expr, Relation.LE)
        raise ValueError(f"{self} is no conjunction of inequalities")

    def holds(self, point: Mapping[str, Fraction]) -> bool:
        """Decide exactly at a point."""
        return self.relation.holds(self.expr.evaluate(point))

    def decide(self, low: Fraction | float, high: Fraction | float) -> bool | None:
        """Truth when the expression is known to lie in [low, high]; None when both are possible."""
        return self.relation.decide(low, high)

    def __str__(self) -> str:
        left = LinearExpr(self.expr.terms)
        if not left.terms:
            return f"{format_number(self.expr.constant)} {self.relation.value} 0"
        return f"{left} {self.relation.value} {format_number(-self.expr.constant)}"


def format_number(value: Fraction) -> str:
    """Shortest exact text: an integer, a finite decimal where there is one, else a quotient; very long ones in hex."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_DECIMAL_BITS:
        return f"{value.numerator:#x}/{value.denominator:#x}"
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    twos = fives = 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 60:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def invert(matrix: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...] | None:
    """The inverse of a square matrix of rationals of one kind (Gauss and Jordan); None when there is none."""
    size = len(matrix)
    zero = matrix[0][0] * 0 if size else 0
    rows = [[*r, *(zero + (i == j) for j in range(size))] for i, r in enumerate(matrix)]
    for at in range(size):
        pivot = next((i for i in range(at, size) if rows[i][at]), None)
        if pivot is None:
            return None
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [c / rows[at][at] for c in rows[at]]
        for i in range(size):
            if i != at and rows[i][at]:
                rows[i] = [c - rows[i][at] * p for c, p in zip(rows[i], rows[at], strict=True)]
    return tuple(tuple(r[size:]) for r in rows)
