"""Conditions of expression graphs: Boolean combinations of comparisons (design section 2); see `venmas.model.expr`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from venmas.errors import ModelError
from venmas.linear import Comparison, Relation
from venmas.model.arrays import NumpyOperand
from venmas.model.refusals import OF_CONDITIONS, no_condition, refusing, shortened

if TYPE_CHECKING:
    from venmas.model.expr import Expr


@refusing("a condition", OF_CONDITIONS)
class Condition(NumpyOperand):
    """A Boolean combination of comparisons."""

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
        return f"a condition ({type(self).__name__.lower()})"


@dataclass(frozen=True, eq=False)
class Truth(Condition):
    """Always true, or always false."""

    value: bool


@dataclass(frozen=True, eq=False)
class Compare(Condition):
    """``expr relation 0``."""

    expr: Expr
    relation: Relation

    def __str__(self) -> str:
        linear = self.expr.linear()
        return super().__str__() if linear is None else str(Comparison(linear, self.relation))


@dataclass(frozen=True, eq=False)
class All(Condition):
    """Conjunction."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True, eq=False)
class Any(Condition):
    """Disjunction."""

    operands: tuple[Condition, ...]


def as_condition(value: object, *, literal: bool = True) -> Condition:
    """A condition from a condition, or from True or False (of Python or numpy) where `literal` allows them.

    Raises `ModelError` for anything else.
    """
    if isinstance(value, Condition):
        return value
    if literal and isinstance(value, bool | np.bool_):
        return Truth(bool(value))
    raise ModelError(f"expected a condition such as (h > 100), got {no_condition(value)}")


def conjunction(operands: Iterable[Condition | bool]) -> Condition:
    """The condition that all of the conditions hold (flattened)."""
    flat: list[Condition] = []
    for c in map(as_condition, _several(operands, "conjunction")):
        if isinstance(c, Truth):
            if not c.value:
                return c
        else:
            flat.extend(c.operands if isinstance(c, All) else (c,))
    return flat[0] if len(flat) == 1 else All(tuple(flat)) if flat else Truth(True)


def disjunction(operands: Iterable[Condition | bool]) -> Condition:
    """The condition that at least one of the conditions holds (flattened)."""
    flat: list[Condition] = []
    for c in map(as_condition, _several(operands, "disjunction")):
        if isinstance(c, Truth):
            if c.value:
                return c
        else:
            flat.extend(c.operands if isinstance(c, Any) else (c,))
    return flat[0] if len(flat) == 1 else Any(tuple(flat)) if flat else Truth(False)


def _several(operands: object, name: str) -> Iterable[Condition | bool]:
    """The operands of a function. Raises `ModelError` for what is no list of conditions."""
    if isinstance(operands, Condition | str) or not isinstance(operands, Iterable) or getattr(operands, "ndim", 1) != 1:
        raise ModelError(f"{name}() takes several conditions; write {name}([x > 0, y > 0]), got {shortened(operands)}")
    return operands
