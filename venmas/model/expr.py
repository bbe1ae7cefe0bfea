"""The expression graph: what a scenario is written in (design section 2).

Scalar nodes are immutable and compared by identity; a node used twice is evaluated, bounded and encoded once per state.
Operators build nodes (``h - climb / 4``), comparisons build conditions (``(h > 100) | (h < -100)``). Division and
multiplication take constants only: everything here is piecewise linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, TypeAlias, overload

from venmas.errors import ModelError
from venmas.linear import Comparison, LinearExpr, Relation, as_fraction
from venmas.nn import Network

_MAX_TERMS = 1000
_MAX_LEAVES = 16_384  # as many as variables

Scalar: TypeAlias = "Expr | int | float | Fraction"


class Expr:
    """A real-valued node. Subclasses are listed in this module and nowhere else."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __add__(self, other: Scalar) -> Expr:
        return add(self, other)

    def __radd__(self, other: Scalar) -> Expr:
        return add(other, self)

    def __sub__(self, other: Scalar) -> Expr:
        return add(self, scale(as_expr(other), Fraction(-1)))

    def __rsub__(self, other: Scalar) -> Expr:
        return add(other, scale(self, Fraction(-1)))

    def __neg__(self) -> Expr:
        return scale(self, Fraction(-1))

    def __mul__(self, other: Scalar) -> Expr:
        left, right = self, as_expr(other)
        if isinstance(left, Constant):
            left, right = right, left
        if not isinstance(right, Constant):
            raise ModelError("a product of two expressions is not piecewise linear; multiply by a number")
        return scale(left, right.value)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Expr:
        divisor = as_expr(other)
        if not isinstance(divisor, Constant) or divisor.value == 0:
            raise ModelError("only division by a non-zero number is piecewise linear")
        return scale(self, 1 / divisor.value)

    def __lt__(self, other: Scalar) -> Condition:
        return compare(self, Relation.LT, other)

    def __le__(self, other: Scalar) -> Condition:
        return compare(self, Relation.LE, other)

    def __gt__(self, other: Scalar) -> Condition:
        return compare(self, Relation.GT, other)

    def __ge__(self, other: Scalar) -> Condition:
        return compare(self, Relation.GE, other)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return compare(self, Relation.EQ, other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return compare(self, Relation.NE, other)

    def __bool__(self) -> NoReturn:
        raise ModelError("an expression has no truth value in Python; compare it, and combine conditions with & | ~")


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


class Condition:
    """A Boolean combination of linear comparisons."""

    __slots__ = ()

    def __and__(self, other: Condition) -> Condition:
        return conjunction((self, as_condition(other)))

    def __or__(self, other: Condition) -> Condition:
        return disjunction((self, as_condition(other)))

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

    def __bool__(self) -> NoReturn:
        raise ModelError(
            "a condition has no truth value in Python; write & | ~ instead of and, or, not, "
            "put comparisons in parentheses, and split chains such as 0 < x < 1 into (0 < x) & (x < 1)"
        )


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


class Vector(Sequence[Expr]):
    """Several expressions: the outputs of a network, a group of variables. Python's index is 0-based."""

    __slots__ = ("items",)

    def __init__(self, items: Iterable[Scalar]) -> None:
        self.items = tuple(as_expr(i) for i in items)

    @overload
    def __getitem__(self, index: int) -> Expr: ...
    @overload
    def __getitem__(self, index: slice) -> Vector: ...
    def __getitem__(self, index: int | slice) -> Expr | Vector:
        return Vector(self.items[index]) if isinstance(index, slice) else self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.items)

    def __add__(self, other: Vector | Scalar) -> Vector:
        return Vector(a + b for a, b in zip(self, self._matched(other), strict=True))

    def __sub__(self, other: Vector | Scalar) -> Vector:
        return Vector(a - b for a, b in zip(self, self._matched(other), strict=True))

    def __mul__(self, factor: Scalar) -> Vector:
        return Vector(a * factor for a in self)

    def __truediv__(self, divisor: Scalar) -> Vector:
        return Vector(a / divisor for a in self)

    def _matched(self, other: Vector | Scalar) -> Vector:
        if not isinstance(other, Vector):
            return Vector([other] * len(self))
        if len(other) != len(self):
            raise ModelError(f"vectors of {len(self)} and {len(other)} components do not go together")
        return other


def as_expr(value: object) -> Expr:
    """An expression from an expression or a number. Raises `ModelError` for anything else."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, Condition | Vector):
        raise ModelError(f"expected an expression or a number, got a {type(value).__name__.lower()}")
    try:
        return Constant(as_fraction(value))
    except Exception as error:
        raise ModelError(f"expected an expression or a number: {error}") from error


def as_condition(value: object) -> Condition:
    """A condition from a condition or a Python truth value. Raises `ModelError` for anything else."""
    if isinstance(value, Condition):
        return value
    if isinstance(value, bool):
        return Truth(value)
    raise ModelError(f"expected a condition such as (h > 100), got {value!r}")


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
    most = (
        _MAX_LEAVES if longest <= 1 else max(_MAX_TERMS, longest)
    )  # adding one sum to another does not go on for ever
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


def conjunction(operands: Iterable[Condition]) -> Condition:
    """All of the conditions, flattened."""
    flat: list[Condition] = []
    for c in operands:
        if isinstance(c, Truth):
            if not c.value:
                return c
        else:
            flat.extend(c.operands if isinstance(c, All) else (c,))
    return flat[0] if len(flat) == 1 else All(tuple(flat)) if flat else Truth(True)


def disjunction(operands: Iterable[Condition]) -> Condition:
    """Any of the conditions, flattened."""
    flat: list[Condition] = []
    for c in operands:
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
    """Direct parts of a node, for walks over the graph."""
    match node:
        case Sum(terms, _):
            return tuple(e for _, e in terms)
        case Output(application, _):
            return application.inputs
        case Maximum(operands) | ArgMax(operands):
            return operands
        case Switch(selector, cases):
            return (selector, *(e for _, e in cases))
        case Where(condition, then, otherwise):
            return (condition, then, otherwise)
        case Compare(expr, _):
            return (expr,)
        case All(parts) | Any(parts):
            return parts
    return ()
