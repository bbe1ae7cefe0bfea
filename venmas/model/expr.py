"""The expression graph: what a scenario is written in (design section 2).

Scalar nodes are immutable and compared by identity; a node used twice is evaluated, bounded and encoded once per state.
Operators build nodes (``h - climb / 4``), comparisons build conditions (``(h > 100) | (h < -100)``). Division and
multiplication take constants only: everything here is piecewise linear.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from venmas.errors import InputError, ModelError
from venmas.linear import Comparison, LinearExpr, Relation, as_fraction
from venmas.model.arrays import NumpyOperand
from venmas.model.refusals import OF_CONDITIONS, OF_EXPRESSIONS, no_condition, no_number, refusing
from venmas.nn import Network

_MAX_TERMS = 1000
_MAX_LEAVES = 16_384  # as many as variables

Scalar: TypeAlias = "Expr | int | float | Fraction"


class Several:
    """Base of what holds several expressions; operators leave the answer to it."""

    __slots__ = ()


@refusing("an expression", OF_EXPRESSIONS)
class Expr(NumpyOperand):
    """A real-valued node. Subclasses are listed in this module and nowhere else."""

    __slots__ = ()

    def __add__(self, other: Scalar) -> Expr:
        return NotImplemented if isinstance(other, _SEVERAL) else add(self, other)

    def __radd__(self, other: Scalar) -> Expr:
        return add(other, self)

    def __sub__(self, other: Scalar) -> Expr:
        return NotImplemented if isinstance(other, _SEVERAL) else add(self, scale(as_expr(other), Fraction(-1)))

    def __rsub__(self, other: Scalar) -> Expr:
        return add(other, scale(self, Fraction(-1)))

    def __pos__(self) -> Expr:
        return self

    def __neg__(self) -> Expr:
        return scale(self, Fraction(-1))

    def __mul__(self, other: Scalar) -> Expr:
        if isinstance(other, _SEVERAL):
            return NotImplemented
        left, right = self, as_expr(other)
        if isinstance(left, Constant):
            left, right = right, left
        if not isinstance(right, Constant):
            raise ModelError("a product of two expressions is not piecewise linear; multiply by a number")
        return scale(left, right.value)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Expr:
        if isinstance(other, _SEVERAL):
            return NotImplemented
        divisor = as_expr(other)
        if not isinstance(divisor, Constant) or divisor.value == 0:
            raise ModelError("only division by a non-zero number is piecewise linear; write x / 2")
        return scale(self, 1 / divisor.value)

    def __rtruediv__(self, other: Scalar) -> Expr:
        return as_expr(other) / self

    def __lt__(self, other: Scalar) -> Condition:
        return NotImplemented if isinstance(other, _SEVERAL) else compare(self, Relation.LT, other)

    def __le__(self, other: Scalar) -> Condition:
        return NotImplemented if isinstance(other, _SEVERAL) else compare(self, Relation.LE, other)

    def __gt__(self, other: Scalar) -> Condition:
        return NotImplemented if isinstance(other, _SEVERAL) else compare(self, Relation.GT, other)

    def __ge__(self, other: Scalar) -> Condition:
        return NotImplemented if isinstance(other, _SEVERAL) else compare(self, Relation.GE, other)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return NotImplemented if isinstance(other, _SEVERAL) else compare(self, Relation.EQ, other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return NotImplemented if isinstance(other, _SEVERAL) else compare(self, Relation.NE, other)

    def __str__(self) -> str:
        linear = to_linear(self)
        return f"an expression ({type(self).__name__.lower()})" if linear is None else str(linear)


_SEVERAL = (Several, np.ndarray)


@dataclass(frozen=True, eq=False)
class Constant(Expr):
    """A number."""

    value: Fraction


@dataclass(frozen=True, eq=False)
class Variable(Expr):
    """A state variable, by name; its kind and range are in the system."""

    name: str
    integral: bool


@dataclass(frozen=True, eq=False)
class Drawn(Expr):
    """The next value of a disturbance, anything in its range; read by `venmas.model.disturbances` alone."""

    name: str


@dataclass(frozen=True, eq=False)
class Sum(Expr):
    """Affine combination ``sum(coefficient * expr) + constant``."""

    terms: tuple[tuple[Fraction, Expr], ...]
    constant: Fraction


@dataclass(frozen=True, eq=False)
class Application:
    """A network applied to expressions; not a scalar: see `Output`."""

    network: Network
    inputs: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Output(Expr):
    """Component `index` (0-based) of a network application."""

    application: Application
    index: int


@dataclass(frozen=True, eq=False)
class Maximum(Expr):
    """Greatest of its operands; ``relu``, ``min`` and ``abs`` are written with it."""

    operands: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class ArgMax(Expr):
    """Index (0-based) of the greatest score, the lowest one on a tie (design S3)."""

    scores: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Switch(Expr):
    """The case named by an integer selector; the selector takes no other values than the cases name."""

    selector: Expr
    cases: tuple[tuple[int, Expr], ...]


@dataclass(frozen=True, eq=False)
class Where(Expr):
    """`then` where the condition holds, else `otherwise`."""

    condition: Condition
    then: Expr
    otherwise: Expr


@refusing("a condition", OF_CONDITIONS)
class Condition(NumpyOperand):
    """A Boolean combination of linear comparisons."""

    __slots__ = ()

    def __and__(self, other: Condition | bool) -> Condition:
        return conjunction((self, other))

    __rand__ = __and__

    def __or__(self, other: Condition | bool) -> Condition:
        return disjunction((self, other))

    __ror__ = __or__

    def __invert__(self) -> Condition:
        match self:
            case Truth(value):
                return Truth(not value)
            case Compare(expr, relation):
                return Compare(expr, relation.negated)
            case All(operands):
                return disjunction(~c for c in operands)
            case Any(operands):
                return conjunction(~c for c in operands)
        raise TypeError(type(self))

    def __str__(self) -> str:
        linear = to_comparison(self) if isinstance(self, Compare) else None
        return f"a condition ({type(self).__name__.lower()})" if linear is None else str(linear)


@dataclass(frozen=True, eq=False)
class Truth(Condition):
    """Always true, or always false."""

    value: bool


@dataclass(frozen=True, eq=False)
class Compare(Condition):
    """``expr relation 0``."""

    expr: Expr
    relation: Relation


@dataclass(frozen=True, eq=False)
class All(Condition):
    """Conjunction."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True, eq=False)
class Any(Condition):
    """Disjunction."""

    operands: tuple[Condition, ...]


def as_expr(value: object) -> Expr:
    """An expression from an expression or a number. Raises `ModelError` for anything else."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, Condition):
        raise ModelError("expected an expression or a finite number, got a condition; write where(condition, 1, 0)")
    if isinstance(value, np.ndarray) and not value.ndim:
        return as_expr(value.item())
    if not isinstance(value, Several | np.ndarray):  # text such as "1/3" is an exact number
        try:
            return Constant(as_fraction(value))
        except InputError:
            pass
    raise ModelError(f"expected an expression or a finite number, got {no_number(value)}")


def as_condition(value: object, *, literal: bool = True) -> Condition:
    """A condition from a condition, or from True or False (of Python or numpy) where `literal` allows them.

    Raises `ModelError` for anything else.
    """
    if isinstance(value, Condition):
        return value
    if literal and isinstance(value, bool | np.bool_):
        return Truth(bool(value))
    raise ModelError(f"expected a condition such as (h > 100), got {no_condition(value)}")


def add(*parts: Scalar) -> Expr:
    """Sum of expressions, flattened and collected; in one go, where Python's ``sum`` would build every partial sum.

    Raises `ModelError` for a sum of too many: beyond 1000 terms only variables and the like are added up, no sums.
    """
    order: dict[int, Expr] = {}
    constant = Fraction(0)
    totals: dict[int, Fraction] = {}
    longest = 0
    for part in parts:
        terms, offset = _affine_parts(as_expr(part))
        longest = max(longest, len(terms))
        constant += offset
        for coefficient, expr in terms:
            order[id(expr)] = expr
            totals[id(expr)] = totals.get(id(expr), Fraction(0)) + coefficient
    most = _MAX_LEAVES if longest <= 1 else max(_MAX_TERMS, longest)  # adding sums to sums does not go on for ever
    if len(order) > most:
        raise ModelError(
            f"a sum of more than {most} different expressions is not supported: describe it in steps, "
            "or add variables all at once, add(*variables)"
        )
    return _sum(tuple((totals[i], e) for i, e in order.items() if totals[i]), constant)


def scale(expr: Expr, factor: Fraction) -> Expr:
    """An expression times a number."""
    terms, constant = _affine_parts(expr)
    return _sum(tuple((c * factor, e) for c, e in terms) if factor else (), constant * factor)


def _affine_parts(expr: Expr) -> tuple[tuple[tuple[Fraction, Expr], ...], Fraction]:
    match expr:
        case Constant(value):
            return (), value
        case Sum(terms, constant):
            return terms, constant
    return ((Fraction(1), expr),), Fraction(0)


def _sum(terms: tuple[tuple[Fraction, Expr], ...], constant: Fraction) -> Expr:
    if not terms:
        return Constant(constant)
    if len(terms) == 1 and terms[0][0] == 1 and constant == 0:
        return terms[0][1]
    return Sum(terms, constant)


def compare(left: Expr, relation: Relation, right: object) -> Condition:
    """``left relation right`` as a condition."""
    difference = left - as_expr(right)
    if isinstance(difference, Constant):
        return Truth(relation.holds(difference.value))
    return Compare(difference, relation)


def conjunction(operands: Iterable[Condition | bool]) -> Condition:
    """The condition that all of the conditions hold (flattened)."""
    flat: list[Condition] = []
    for c in map(as_condition, operands):
        if isinstance(c, Truth):
            if not c.value:
                return c
        else:
            flat.extend(c.operands if isinstance(c, All) else (c,))
    return flat[0] if len(flat) == 1 else All(tuple(flat)) if flat else Truth(True)


def disjunction(operands: Iterable[Condition | bool]) -> Condition:
    """The condition that at least one of the conditions holds (flattened)."""
    flat: list[Condition] = []
    for c in map(as_condition, operands):
        if isinstance(c, Truth):
            if c.value:
                return c
        else:
            flat.extend(c.operands if isinstance(c, Any) else (c,))
    return flat[0] if len(flat) == 1 else Any(tuple(flat)) if flat else Truth(False)


def to_linear(expr: Expr) -> LinearExpr | None:
    """The expression as an affine one over state variables, or None where it is not syntactically affine."""
    match expr:
        case Constant(value):
            return LinearExpr((), value)
        case Variable(name, _):
            return LinearExpr.variable(name)
        case Sum(terms, constant):
            found: list[tuple[str, Fraction]] = []
            for coefficient, part in terms:
                linear = to_linear(part)
                if linear is None:
                    return None
                found += ((name, coefficient * c) for name, c in linear.terms)
                constant += coefficient * linear.constant
            return LinearExpr.of(found, constant)
    return None


def to_comparison(condition: Compare) -> Comparison | None:
    """The comparison as an exact linear one over state variables, or None where it is not."""
    linear = to_linear(condition.expr)
    return None if linear is None else Comparison(linear, condition.relation)


def children(node: Expr | Condition) -> tuple[Expr | Condition, ...]:
    """Direct parts of a node, for walks over the graph. Raises `TypeError` for what is no node of this module."""
    match node:
        case Output(application, _):
            return application.inputs
        case Sum(terms, _):
            return tuple([e for _, e in terms])
        case Maximum(operands) | ArgMax(operands):
            return operands
        case Switch(selector, cases):
            return (selector, *[e for _, e in cases])
        case Where(condition, then, otherwise):
            return (condition, then, otherwise)
        case Compare(expr, _):
            return (expr,)
        case All(parts) | Any(parts):
            return parts
        case Constant() | Variable() | Drawn() | Truth():
            return ()
    raise TypeError(type(node))
