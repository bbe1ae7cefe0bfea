"""The expression graph: what a scenario is written in (design section 2).

Scalar nodes are immutable and compared by identity; a node used twice is evaluated, bounded and encoded once per state.
Operators build nodes (``h - climb / 4``), comparisons build conditions (``(h > 100) | (h < -100)``). Nodes are
piecewise linear but for those of the class `Smooth`, which are products and quotients here and the others of
`venmas.model.expressions.smooth_nodes`; a system with one of these is `System.smooth`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from venmas.errors import InputError, ModelError
from venmas.logic.linear import Comparison, LinearExpr, Relation, as_fraction
from venmas.model.expressions.arrays import NumpyOperand
from venmas.model.expressions.conditions import All as All
from venmas.model.expressions.conditions import Any as Any
from venmas.model.expressions.conditions import Compare as Compare
from venmas.model.expressions.conditions import Condition as Condition
from venmas.model.expressions.conditions import Truth as Truth
from venmas.model.expressions.conditions import as_condition as as_condition
from venmas.model.expressions.conditions import conjunction as conjunction
from venmas.model.expressions.conditions import disjunction as disjunction
from venmas.model.expressions.refusals import OF_EXPRESSIONS, no_number, refusing
from venmas.nn import Network

_MAX_TERMS = 1000
_MAX_POWER = 16
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
        return NotImplemented if isinstance(other, _SEVERAL) else multiply(self, as_expr(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Expr:
        return NotImplemented if isinstance(other, _SEVERAL) else divide(self, as_expr(other))

    def __rtruediv__(self, other: Scalar) -> Expr:
        return divide(as_expr(other), self)

    def __pow__(self, exponent: int) -> Expr:
        return power(self, exponent)

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

    def linear(self) -> LinearExpr | None:
        """The expression as an affine one over state variables, or None where it is not syntactically affine."""
        return to_linear(self)

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
    """The next value of a disturbance, anything in its range; read by `venmas.model.system.disturbances` alone."""

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

    @property
    def application(self) -> Application | None:
        """The network of which all scores are outputs; None where they are not of one."""
        first = self.scores[0]
        shared = first.application if isinstance(first, Output) else None
        return shared if all(isinstance(s, Output) and s.application is shared for s in self.scores) else None

    @property
    def whole(self) -> Application | None:
        """The network whose outputs, all of them in order, are the scores; None where they are not those of one."""
        shared = self.application
        return shared if shared is not None and self.places == tuple(range(shared.network.output_size)) else None

    @property
    def places(self) -> tuple[int, ...]:
        """The indices of the scores that are outputs of a network."""
        return tuple([s.index for s in self.scores if isinstance(s, Output)])


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


class Smooth(Expr):
    """Base of the nodes that are not piecewise linear; `parts` are what `children` gives."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Expr, ...]:
        """Direct parts of the node."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Product(Smooth):
    """Product of two expressions; of one node with itself it is a square."""

    left: Expr
    right: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The factors."""
        return self.left, self.right


@dataclass(frozen=True, eq=False)
class Quotient(Smooth):
    """``left / right``; a divisor of 0 is an error of the model."""

    left: Expr
    right: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        """Dividend and divisor."""
        return self.left, self.right


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


def multiply(left: Expr, right: Expr) -> Expr:
    """Product of two expressions: a multiple where one of them is a number."""
    if isinstance(left, Constant):
        left, right = right, left
    return scale(left, right.value) if isinstance(right, Constant) else Product(left, right)


def divide(left: Expr, right: Expr) -> Expr:
    """Quotient of two expressions: a multiple where the divisor is a number. Raises `ModelError` for the number 0."""
    if not isinstance(right, Constant):
        return Quotient(left, right)
    if not right.value:
        raise ModelError("division by zero: take another number, or an expression that is never 0")
    return scale(left, 1 / right.value)


def power(base: Expr, exponent: object) -> Expr:
    """A power with a whole number from 0 to 16 as exponent, by squares. Raises `ModelError` for another one."""
    try:
        number = Fraction(-1) if isinstance(exponent, Expr | Condition) else as_fraction(exponent)
    except InputError:
        number = Fraction(-1)
    if number.denominator != 1 or not 0 <= number <= _MAX_POWER:
        raise ModelError(
            f"the exponent of a power is a whole number from 0 to {_MAX_POWER}, got {no_number(exponent)}; "
            "write sqrt(x) for x ** 0.5, 1 / x ** 2 for x ** -2"
        )
    if number < 2:
        return base if number else Constant(Fraction(1))
    half = power(base, number // 2)
    return multiply(multiply(half, half), base) if number % 2 else multiply(half, half)


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


def to_linear(expr: Expr) -> LinearExpr | None:
    """The expression as an affine one over state variables, or None where it is not syntactically affine."""
    match expr:
        case Constant(value):
            return LinearExpr((), value)
        case Variable(name, _):
            return LinearExpr.variable(name)
        case Sum(terms, constant):
            pairs: list[tuple[str, Fraction]] = []
            for coefficient, part in terms:
                linear = to_linear(part)
                if linear is None:
                    return None
                pairs += ((name, coefficient * c) for name, c in linear.terms)
                constant += coefficient * linear.constant
            return LinearExpr.of(pairs, constant)
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
        case Smooth():
            return node.parts
        case Constant() | Variable() | Drawn() | Truth():
            return ()
    raise TypeError(type(node))
