"""Operators of JANI on operands that are expressions, or conditions where they are Boolean.

Constants are folded, so that what is no linear operation may be applied to constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from venmas.errors import ModelError
from venmas.formats.jani.text import Place
from venmas.logic.linear import Relation
from venmas.model.expressions.expr import Condition, Constant, Expr
from venmas.model.expressions.functions import absolute, maximum, minimum

Value: TypeAlias = Expr | Condition

RELATIONS: Mapping[str, Relation] = {
    "=": Relation.EQ,
    "≠": Relation.NE,
    "<": Relation.LT,
    "≤": Relation.LE,
    ">": Relation.GT,
    "≥": Relation.GE,
}
_MAX_BITS = 2000
_ARRAYS = "arrays are not read; declare a variable for each element"
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("aa", "av", "ac"), _ARRAYS),
    **dict.fromkeys(("da", "dv"), "datatypes are not read; declare a variable for each component"),
    **dict.fromkeys(("et", "ee", "oa", "ov"), "options are not read; declare a variable for each component"),
    "der": "derivatives are not read: describe the model in steps",
    "call": "functions are not read; write the expression where it is used",
    "nondet": "it is not read; write an edge for each choice",
}


def number(value: Value, operator: str, place: Place) -> Expr:
    """The operand as a number. Raises `ScenarioError` for a condition."""
    if isinstance(value, Expr):
        return value
    place.refuse(f"{operator!r} takes numbers, and one of its operands is Boolean; write ite for the number")


def truth(value: Value, operator: str, place: Place) -> Condition:
    """The operand as a condition. Raises `ScenarioError` for a number."""
    if isinstance(value, Condition):
        return value
    place.refuse(f"{operator!r} takes Boolean operands, and one of them is a number; compare it, as in x ≥ 1")


def small(value: Expr, place: Place) -> Expr:
    """The expression, whose numbers are small enough to go on with. Raises `ScenarioError`."""
    numbers: tuple[Fraction, ...] = ()
    match value:
        case Constant(one):
            numbers = (one,)
        case _:
            terms = getattr(value, "terms", ())
            numbers = (*(c for c, _ in terms), getattr(value, "constant", Fraction(0)))
    if any(n.numerator.bit_length() + n.denominator.bit_length() > _MAX_BITS for n in numbers):
        place.refuse(f"a number here needs more than {_MAX_BITS} bits; round it")
    return value


def _of_constants(name: str, rule: Callable[..., Fraction]) -> Callable[[Place, list[Expr]], Expr]:
    def fold(place: Place, operands: list[Expr]) -> Expr:
        values = [o.value for o in operands if isinstance(o, Constant)]
        if len(values) < len(operands):
            place.refuse(
                f"the operator {name!r} of variables is not piecewise linear; it may be applied to constants only"
            )
        try:
            return Constant(rule(*values))
        except (ArithmeticError, ValueError, TypeError) as error:
            place.refuse(f"the operator {name!r} has no value here: {error}; change its operands")

    return fold


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1 or abs(exponent) > 1000:
        raise ValueError("the exponent is a whole number of at most 1000")
    if abs(exponent) * (base.numerator.bit_length() + base.denominator.bit_length()) > _MAX_BITS:
        raise ValueError("the power has too many digits")
    return base ** int(exponent)


def _modulo(left: Fraction, right: Fraction) -> Fraction:
    return left - right * floor(left / right)


def _product(place: Place, operands: list[Expr]) -> Expr:
    left, right = operands
    if not isinstance(left, Constant) and not isinstance(right, Constant):
        place.refuse("a product of two variables is not piecewise linear; one factor must be a constant")
    return left * right


def _quotient(place: Place, operands: list[Expr]) -> Expr:
    left, right = operands
    if not isinstance(right, Constant) or not right.value:
        place.refuse("division by a variable or by zero is not piecewise linear; divide by a constant other than 0")
    return left / right


NUMERIC: Mapping[str, tuple[int, Callable[[Place, list[Expr]], Expr]]] = {
    "*": (2, _product),
    "/": (2, _quotient),
    "min": (2, lambda _place, o: minimum(*o)),
    "max": (2, lambda _place, o: maximum(*o)),
    "abs": (1, lambda _place, o: absolute(o[0])),
    "%": (2, _of_constants("%", _modulo)),
    "pow": (2, _of_constants("pow", _power)),
    "floor": (1, _of_constants("floor", lambda x: Fraction(floor(x)))),
    "ceil": (1, _of_constants("ceil", lambda x: Fraction(ceil(x)))),
    "trc": (1, _of_constants("trc", lambda x: Fraction(int(x)))),
    "sgn": (1, _of_constants("sgn", lambda x: Fraction((x > 0) - (x < 0)))),
}
"""Operators of numbers by name: how many operands they take, and what they make of them."""


def guarded(place: Place, make: Callable[[], Value]) -> Value:
    """The result of `make`; a `ModelError` of the expression graph gets the place."""
    try:
        return make()
    except ModelError as error:
        place.refuse(str(error))
