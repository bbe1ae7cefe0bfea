"""The functions that scenarios are written with where they are not piecewise linear: ``sin``, ``tanh``, ``sqrt``.

Values that are rational by the form of the operand are taken at once: ``sin(0)``, ``exp(0)``, ``sqrt(4)``.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import isqrt

from venmas.errors import ModelError
from venmas.model.expressions.expr import Constant, Expr, Scalar, add, as_expr, divide, power
from venmas.model.expressions.flows import held as held
from venmas.model.expressions.smooth_nodes import Apply
from venmas.model.expressions.vector import components

FUNCTIONS = ("exp", "tanh", "sigmoid", "sin", "cos", "sqrt")
"""Names of functions in expressions and their canonical form."""
_AT_ZERO = {"exp": Fraction(1), "tanh": Fraction(0), "sigmoid": Fraction(1, 2), "sin": Fraction(0), "cos": Fraction(1)}


def sin(x: Scalar) -> Expr:
    """The sine of an angle in radians."""
    return apply("sin", x)


def cos(x: Scalar) -> Expr:
    """The cosine of an angle in radians."""
    return apply("cos", x)


def tan(x: Scalar) -> Expr:
    """The tangent of an angle in radians: sine by cosine."""
    operand = as_expr(x)
    return divide(sin(operand), cos(operand))


def tanh(x: Scalar) -> Expr:
    """The hyperbolic tangent."""
    return apply("tanh", x)


def sigmoid(x: Scalar) -> Expr:
    """``1 / (1 + exp(-x))``."""
    return apply("sigmoid", x)


def exp(x: Scalar) -> Expr:
    """The exponential function."""
    return apply("exp", x)


def sqrt(x: Scalar) -> Expr:
    """The square root; an operand below 0 is an error of the model."""
    return apply("sqrt", x)


def norm(components_: Iterable[Scalar]) -> Expr:
    """The Euclidean norm of several expressions. Raises `ModelError` for none."""
    parts = components(components_, "norm()")
    if not parts:
        raise ModelError("norm() needs at least one component, norm([x, y])")
    return sqrt(add(*(power(part, 2) for part in parts)))


def apply(function: str, x: Scalar) -> Expr:
    """One of `FUNCTIONS` of an expression. Raises `ModelError` for the square root of a negative number."""
    operand = as_expr(x)
    if isinstance(operand, Constant):
        value = exact_value(function, operand.value)
        if value is not None:
            return Constant(value)
        if function == "sqrt" and operand.value < 0:
            raise ModelError(f"sqrt({operand}): the square root of a negative number; take another one")
    return Apply(function, operand)


def exact_value(function: str, x: Fraction) -> Fraction | None:
    """The value of a function at a rational where it is rational, as it is only there; else None."""
    if function == "sqrt":
        top, bottom = (isqrt(abs(n)) for n in x.as_integer_ratio())
        return Fraction(top, bottom) if x >= 0 and Fraction(top * top, bottom * bottom) == x else None
    return _AT_ZERO[function] if not x else None
