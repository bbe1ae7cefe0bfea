"""Expressions of JANI as expressions and conditions of a system.

Nothing recurses: a stack holds what is still to be read, another one the values that wait for their operator. Chains
of one associative operator become one node, so that a conjunction nested 600 deep is as shallow as it means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from venmas.errors import InputError
from venmas.formats.jani.booleans import Booleans
from venmas.formats.jani.operators import NUMERIC, REFUSED, RELATIONS, number, small, truth
from venmas.formats.jani.records import LET, WRAPPED, Kind, fields
from venmas.formats.jani.text import Place, shown
from venmas.model.expressions.expr import (
    Condition,
    Constant,
    Expr,
    Scalar,
    Truth,
    add,
    compare,
    conjunction,
    disjunction,
    scale,
)
from venmas.model.expressions.functions import where
from venmas.model.expressions.limits import check_nesting

Value: TypeAlias = Expr | Condition

_BINARY = Kind("a binary operator", ("op", "left", "right"))
_UNARY = Kind("a unary operator", ("op", "exp"))
_ITE = Kind("an ite", ("op", "if", "then", "else"))
_LOGICAL = {"∧": conjunction, "∨": disjunction}
_MAX_SIZE = 200_000
_MAX_PENDING = 2000
"""Most operators inside each other, chains of one kind not counted: less remains of them, as constants are folded."""
_MANY = 64


@dataclass(frozen=True)
class Scope:
    """Names that an expression may use, and why other names of the model may not occur in it."""

    names: Mapping[str, Value]
    booleans: Booleans
    hidden: Mapping[str, str]

    def look_up(self, name: str, place: Place) -> Value:
        """The value of a name. Raises `ScenarioError`."""
        if name in self.names:
            return self.names[name]
        if name in self.hidden:
            place.refuse(f"{shown(name)} cannot be used here: {self.hidden[name]}")
        known = ", ".join(list(self.names)[:12]) + (", ..." if len(self.names) > 12 else "")
        place.refuse(f"there is no constant or variable {shown(name)} here; there are {known or 'none'}")


def read_condition(value: object, scope: Scope, place: Place) -> Condition:
    """A Boolean expression. Raises `ScenarioError` for anything else."""
    result = read_value(value, scope, place)
    if isinstance(result, Expr):
        place.refuse("expected a Boolean expression, got a number; compare it, as in x ≥ 1")
    return result


def read_number(value: object, scope: Scope, place: Place) -> Expr:
    """A numeric expression. Raises `ScenarioError` for anything else."""
    result = read_value(value, scope, place)
    if isinstance(result, Condition):
        place.refuse("expected a number, got a Boolean expression; write ite for the number")
    return result


def read_value(value: object, scope: Scope, place: Place) -> Value:
    """An expression, with a message that names its place where it is not linear, or not known."""
    result = _Reader(scope, place).read(value)
    try:
        check_nesting(str(place), [result])
    except InputError as error:
        place.refuse(str(error).removeprefix(f"{place}: "))
    return result


class _Reader:
    def __init__(self, scope: Scope, place: Place) -> None:
        self._scope, self._place, self._work = scope, place, 0
        self._sizes: dict[int, int] = {}
        self._kept: list[Value] = []

    def read(self, value: object) -> Value:
        tasks: list[tuple[Any, int]] = [(value, -1)]  # a value to read, or what to make of so many that were read
        done: list[Value] = []
        pending = 0
        while tasks:
            task, count = tasks.pop()
            pending -= count >= 0
            if count < 0:
                opened = self._opened(task, done)
                pending += any(count >= 0 for _, count in opened[:1])
                if pending > _MAX_PENDING:
                    self._place.refuse(f"expressions are nested more than {_MAX_PENDING} deep; describe it in steps")
                tasks += opened
            else:
                operands = done[len(done) - count :]
                del done[len(done) - count :]
                try:
                    made = task(operands)
                except InputError as error:
                    text = str(error)
                    self._place.refuse(text.removeprefix(f"{self._place}: "))
                twice = isinstance(made, Condition) and getattr(task, "func", None) in (self._compare, self._choice)
                self._weigh(made, operands, twice)
                done.append(small(made, self._place) if isinstance(made, Expr) else made)
        return done[0]

    def _weigh(self, made: Value, operands: list[Value], twice: bool) -> None:
        """Refuse what is too large, also where it is shared so often that reading it as a tree does not end."""
        self._kept.append(made)
        size = 1 + (1 + twice) * sum(self._sizes.get(id(o), 1) for o in operands)
        self._sizes[id(made)] = max(size, self._sizes.get(id(made), 0))
        self._work += len(operands) + len(getattr(made, "operands", ())) + len(getattr(made, "terms", ()))
        if size > _MAX_SIZE or self._work > 25 * _MAX_SIZE:
            self._place.refuse("the expression is too large; describe it in steps")

    def _opened(self, value: Any, done: list[Value]) -> list[tuple[Any, int]]:
        """Push the value of a leaf, or say what is to be read for an operator and what is to be made of it."""
        match value:
            case bool():
                done.append(Truth(value))
            case int() | Fraction():
                done.append(Constant(Fraction(value)))
            case str():
                done.append(self._scope.look_up(value, self._place))
            case dict() if "op" in value:
                return self._operator(value)
            case dict():
                return [(fields(value, WRAPPED, self._place)["exp"], -1)]
            case _:
                self._place.refuse(f"expected an expression (a number, a name or an object), got {shown(value)}")
        return []

    def _operator(self, value: dict[str, Any]) -> list[tuple[Any, int]]:
        name, place = value["op"], self._place
        if not isinstance(name, str):
            place.refuse(f"'op' is the name of an operator, got {shown(name)}")
        if name in _LOGICAL:
            parts = self._chain(value, (name,))
            return [(partial(self._join, name), len(parts)), *((part, -1) for _, part in reversed(parts))]
        if name in ("+", "-"):
            parts = self._chain(value, ("+", "-"))
            signs = [sign for sign, _ in parts]
            return [(partial(self._sum, signs), len(parts)), *((part, -1) for _, part in reversed(parts))]
        if name in RELATIONS or name == "⇒":
            sides = fields(value, _BINARY, place)
            made = partial(self._implies if name == "⇒" else self._compare, name)
            return [(made, 2), (sides["right"], -1), (sides["left"], -1)]
        if name == "¬":
            return [(self._negated, 1), (fields(value, _UNARY, place)["exp"], -1)]
        if name == "ite":
            parts_ = fields(value, _ITE, place)
            return [(partial(self._choice), 3), (parts_["else"], -1), (parts_["then"], -1), (parts_["if"], -1)]
        if name == "let":
            return [(self._body(value), -1)]
        if name in NUMERIC:
            arity, _ = NUMERIC[name]
            keys = fields(value, _BINARY if arity == 2 else _UNARY, place)
            operands = [keys["right"], keys["left"]] if arity == 2 else [keys["exp"]]
            return [(partial(self._numeric, name), arity), *((o, -1) for o in operands)]
        if name in REFUSED:
            place.refuse(f"the operator {name!r}: {REFUSED[name]}")
        known = " ".join(("∧ ∨ ¬ ⇒ ite", *RELATIONS, "+ -", *NUMERIC))
        place.refuse(f"the operator {shown(name)} is not read; the operators are {known}")

    def _chain(self, value: dict[str, Any], names: tuple[str, ...]) -> list[tuple[int, Any]]:
        """The operands of nested binary operators of these names, left to right, with their signs."""
        parts: list[tuple[int, Any]] = []
        stack: list[tuple[int, Any]] = [(1, value)]
        while stack:
            sign, part = stack.pop()
            if isinstance(part, dict) and part.get("op") in names:
                sides = fields(part, _BINARY, self._place)
                stack += [(-sign if part["op"] == "-" else sign, sides["right"]), (sign, sides["left"])]
            elif isinstance(part, dict) and "op" not in part and "exp" in part:
                stack.append((sign, fields(part, WRAPPED, self._place)["exp"]))
            elif isinstance(part, dict) and part.get("op") == "let":
                stack.append((sign, self._body(part)))
            else:
                parts.append((sign, part))
        return parts

    def _body(self, value: dict[str, Any]) -> Any:
        let = fields(value, LET, self._place)
        if let.get("variables", []) != []:
            self._place.refuse("definitions of a let are not read; write them where they are used")
        return let["expression"]

    def _join(self, name: str, operands: list[Value]) -> Value:
        return _LOGICAL[name](truth(o, name, self._place) for o in operands)

    def _sum(self, signs: list[int], operands: list[Value]) -> Value:
        parts: list[Scalar] = [
            scale(number(o, "+", self._place), Fraction(sign)) for sign, o in zip(signs, operands, strict=True)
        ]
        total = add(*parts[:_MANY])
        for start in range(_MANY, len(parts), _MANY):
            self._work += len(getattr(total, "terms", ()))
            total = small(add(total, *parts[start : start + _MANY]), self._place)
        return total

    def _compare(self, name: str, operands: list[Value]) -> Value:
        left, right = operands
        relation = RELATIONS[name]
        if isinstance(left, Condition) and isinstance(right, Condition) and name in ("=", "≠"):
            booleans = self._scope.booleans
            return booleans.equal(left, booleans.negation(right) if name == "≠" else right)
        if isinstance(left, Condition) != isinstance(right, Condition):
            self._place.refuse(f"{name!r} compares a number with a Boolean; make both sides of one kind")
        one, other = (number(side, name, self._place) for side in operands)
        if isinstance(one, Constant):  # 4 ≤ x reads better as x ≥ 4
            one, relation, other = other, relation.mirrored, one
        return compare(one, relation, other)

    def _implies(self, name: str, operands: list[Value]) -> Value:
        left, right = (truth(o, name, self._place) for o in operands)
        return disjunction((self._scope.booleans.negation(left), right))

    def _negated(self, operands: list[Value]) -> Value:
        return self._scope.booleans.negation(truth(operands[0], "¬", self._place))

    def _choice(self, operands: list[Value]) -> Value:
        test = truth(operands[0], "ite", self._place)
        then, otherwise = operands[1:]
        if isinstance(then, Condition) and isinstance(otherwise, Condition):
            negated = self._scope.booleans.negation(test)
            return disjunction((conjunction((test, then)), conjunction((negated, otherwise))))
        return where(test, number(then, "ite", self._place), number(otherwise, "ite", self._place))

    def _numeric(self, name: str, operands: list[Value]) -> Value:
        return NUMERIC[name][1](self._place, [number(o, name, self._place) for o in operands])
