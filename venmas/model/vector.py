"""Vectors: several expressions, with the arithmetic of vectors and matrices of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from numbers import Integral
from operator import add as plus
from operator import index as whole
from operator import mul, sub, truediv
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from venmas.errors import ModelError
from venmas.faces import Shown
from venmas.model.arrays import NumpyOperand
from venmas.model.expr import Condition, Expr, Scalar, Several, add, as_expr
from venmas.model.limits import MAX_VARIABLES, check_count
from venmas.model.refusals import OF_VECTORS, no_number, refusing, shortened

Operand: TypeAlias = "Vector | Scalar | NDArray[Any]"
Matrix: TypeAlias = "Sequence[Sequence[Scalar]] | NDArray[Any]"


@refusing("a vector", OF_VECTORS)
class Vector(Sequence[Expr], Several, NumpyOperand, Shown):
    """Several expressions: the outputs of a network, a group of variables. Python's index is 0-based.

    ``+ - * /`` work component by component, with a number, an expression, another vector of this length or a
    one-dimensional array of numbers; ``A @ v`` is the product of a matrix of numbers (an array, or a list of rows) and
    a vector, ``w @ v`` that of a row. Raises `ModelError` for shapes that do not fit.
    """

    __slots__ = ("items",)

    def __init__(self, items: Iterable[Scalar]) -> None:
        self.items = components(items, "a vector")

    @overload
    def __getitem__(self, index: int) -> Expr: ...
    @overload
    def __getitem__(self, index: slice) -> Vector: ...
    def __getitem__(self, index: int | slice) -> Expr | Vector:
        if isinstance(index, slice):
            return Vector(self.items[index])
        if isinstance(index, bool | np.bool_) or not hasattr(index, "__index__"):
            kind = type(index).__name__
            raise ModelError(f"a vector is indexed by a whole number or a slice, v[0] or v[1:3], got a {kind}")
        place = whole(index)
        if not -len(self.items) <= place < len(self.items):
            raise ModelError(
                f"there is no component [{place}] in a vector of {len(self.items)}: in Python they are counted from 0"
            )
        return self.items[place]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.items)

    def __reversed__(self) -> Iterator[Expr]:
        return reversed(self.items)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items[:8]))}{', ...' if len(self.items) > 8 else ''})"

    def __pos__(self) -> Vector:
        return self

    def __neg__(self) -> Vector:
        return Vector(-a for a in self)

    def __add__(self, other: Operand) -> Vector:
        return self._with(plus, other)

    def __radd__(self, other: Operand) -> Vector:
        return self._with(lambda a, b: b + a, other)

    def __sub__(self, other: Operand) -> Vector:
        return self._with(sub, other)

    def __rsub__(self, other: Operand) -> Vector:
        return self._with(lambda a, b: b - a, other)

    def __mul__(self, other: Operand) -> Vector:
        return self._with(mul, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Vector:
        return self._with(truediv, other)

    def __rtruediv__(self, other: Operand) -> Vector:
        return self._with(lambda a, b: b / a, other)

    def __matmul__(self, other: Matrix | Vector | Sequence[Scalar]) -> Expr | Vector:
        rows = _rows(other)
        if isinstance(rows, Vector):
            return _product(self, rows)
        if len(rows) != len(self):
            raise _misfit(f"a vector of {len(self)} components and a matrix of {len(rows)} rows")
        return Vector(_product(column, self) for column in map(Vector, zip(*rows, strict=True)))

    def __rmatmul__(self, other: Matrix | Sequence[Scalar]) -> Expr | Vector:
        rows = _rows(other)
        return _product(rows, self) if isinstance(rows, Vector) else Vector(_product(row, self) for row in rows)

    def _with(self, act: Callable[[Any, Any], Expr], other: Operand) -> Vector:
        if isinstance(other, np.ndarray):
            other = Vector(other) if other.ndim else other.item()
        if isinstance(other, list | tuple):
            raise ModelError(
                f"a vector and a {type(other).__name__}: write v + Vector([...]) to add component by component, "
                "Vector([*v, ...]) to join them"
            )
        if not isinstance(other, Vector):
            second = as_expr(other)
            return Vector(act(a, second) for a in self.items)
        if len(other) != len(self):
            raise _misfit(f"vectors of {len(self)} and {len(other)} components")
        return Vector(act(a, b) for a, b in zip(self.items, other.items, strict=True))


def components(values: object, what: str) -> tuple[Expr, ...]:
    """Several expressions: of a vector, a list, a tuple, a generator, an array of one dimension.

    what: who asks, for messages. Raises `ModelError` for anything else: one expression alone, what has no order, text.
    """
    if isinstance(values, Vector):
        return values.items
    if not isinstance(values, str) and getattr(values, "ndim", 1) != 1:  # of numpy, of torch
        raise ModelError(f"{what} takes an array of one dimension, got one of shape {tuple(values.shape)}")  # type: ignore[attr-defined]
    if isinstance(values, Expr | Condition):
        raise ModelError(f"{what} takes several expressions, got one; write [x]")
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise ModelError(f"{what} takes a list of expressions in their order, [x, y], got {_kind(values)}")
    return tuple(map(as_expr, values.tolist() if isinstance(values, np.ndarray) else values))


def read_size(size: object, where: str) -> int:
    """A number of components. Raises `ModelError` where it is no whole number above 0."""
    if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
        raise ModelError(f"{where}: the size is a whole number above 0, got {shortened(size)}")
    check_count(int(size), MAX_VARIABLES, f"components of {where}")
    return int(size)


def _kind(value: object) -> str:
    return f"a {type(value).__name__}" if isinstance(value, Mapping | Set) else no_number(value)


def _rows(value: Any) -> Vector | list[Vector]:
    """A vector, or the rows of a matrix, all of one length."""
    if isinstance(value, Vector):
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise ModelError(f"@ is for a matrix of numbers and a vector, not for {no_number(value)}")
    if not any(isinstance(row, list | tuple | np.ndarray | Vector) for row in value):
        return Vector(value)
    rows = [Vector(row) for row in value]
    if len({len(row) for row in rows}) > 1:
        raise ModelError(f"the rows of a matrix have one length, got {sorted({len(row) for row in rows})}")
    return rows


def _product(row: Vector, column: Vector) -> Expr:
    if len(row) != len(column):
        raise _misfit(f"a row of {len(row)} numbers and a vector of {len(column)} components")
    return add(*(a * b for a, b in zip(row, column, strict=True)))


def _misfit(what: str) -> ModelError:
    return ModelError(f"{what} do not go together; take a part, v[:2] for the first two, or a matrix that fits")


NumpyOperand._joined = Vector
