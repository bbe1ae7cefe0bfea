"""numpy protocols of expressions: its operators are those of expressions and vectors, its functions mostly refused.

Without this, numpy would wrap an expression in an array of objects and compare objects. Those that are piecewise linear
are in `venmas.model.expressions.elementwise`. Functions that only add up and rearrange (``np.sum``, ``np.dot``,
``np.concatenate``) are left to numpy, on arrays of expressions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from venmas.errors import ModelError
from venmas.logic.linear import as_fraction

_OPERATORS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "matmul": operator.matmul,
    "negative": operator.neg,
    "positive": operator.pos,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "invert": operator.inv,
    "power": operator.pow,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "divmod": divmod,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
}
"""Ufuncs that are operators: ``array * x`` reaches an expression as ``np.multiply``."""

_ALL = "conjunction(a == b for a, b in zip(v, w))"
_INSTEAD = {
    **dict.fromkeys(("max", "amax", "nanmax", "maximum.reduce", "fmax.reduce"), "maximum(*v)"),
    **dict.fromkeys(("min", "amin", "nanmin", "minimum.reduce", "fmin.reduce"), "minimum(*v)"),
    "clip": "clip(x, low, high)",
    **dict.fromkeys(("where", "select", "piecewise", "choose"), "where(condition, a, b) or switch(i, {0: a, 1: b})"),
    **dict.fromkeys(("sign", "heaviside"), "where(x > 0, 1, where(x < 0, -1, 0))"),
    "argmax": "argmax(v)",
    "argmin": "argmax(-v)",
    "logical_and": "a & b",
    "logical_or": "a | b",
    "logical_not": "~a",
    "logical_xor": "(a & ~b) | (~a & b)",
    "any": "disjunction(conditions)",
    "all": "conjunction(conditions)",
    **dict.fromkeys(("array_equal", "array_equiv", "allclose", "isclose"), _ALL),
    **dict.fromkeys(("isin", "in1d"), "disjunction(c == x for c in v)"),
    "add.reduce": "add(*v)",
}


class NumpyOperand:
    """Base of what numpy must not take apart."""

    __slots__ = ()

    _joined: ClassVar[Callable[[Any], Any]]
    """Makes a vector of an array of one dimension; `venmas.model.expressions.vector` puts it here."""
    _functions: ClassVar[Mapping[str, Callable[..., Any]]]
    """What numpy's functions do, by their names there; `venmas.model.expressions.elementwise` puts them here."""

    def __abs__(self) -> Any:
        return NumpyOperand._functions["absolute"](self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        known = _OPERATORS.get(ufunc.__name__) or NumpyOperand._functions.get(ufunc.__name__)
        act = known if method == "__call__" and not options else None
        if act is None:
            name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
            raise _refused(name + ("(out=...)" if options else ""))
        return act(*(_operand(i, matrix=act is operator.matmul) for i in inputs))

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if (act := NumpyOperand._functions.get(func.__name__)) is not None:
            try:
                return act(*(_operand(a, matrix=False) for a in args), **kwargs)
            except TypeError as error:  # another option, such as out=
                raise _refused(func.__name__) from error
        if func.__name__ in _INSTEAD:
            raise _refused(func.__name__)
        try:
            return func(*_objects(args), **_objects(kwargs))
        except (TypeError, ValueError) as error:
            raise _refused(func.__name__) from error


def _refused(name: str) -> ModelError:
    instead = _INSTEAD.get(name, "operators and functions of venmas.model: relu, maximum, clip, where, switch, argmax")
    return ModelError(f"numpy.{name} is for numbers, not for expressions; write {instead}")


def _operand(value: Any, matrix: bool) -> Any:
    """A number or an array of numpy as what the operators of expressions know: Python's number, a vector, a matrix."""
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.number):
        return as_fraction(value)
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim > 1:
        if matrix:
            return value.tolist()
        raise ModelError(
            f"an array of shape {value.shape} and expressions do not go together; write A @ v for the product of a "
            "matrix and a vector, and one vector for each row otherwise"
        )
    if value.ndim:
        return NumpyOperand._joined(value)
    return _operand(value[()], matrix)


def _objects(value: Any) -> Any:
    """Arguments with arrays of objects in place of expressions and vectors."""
    match value:
        case NumpyOperand():
            items = {(): value} if not isinstance(value, Sequence) else dict(enumerate(value))
            array = np.empty(len(value) if isinstance(value, Sequence) else (), dtype=object)
            for place, item in items.items():
                array[place] = item  # each on its own: numpy asks none of them whether it is a sequence
            return array
        case list() | tuple():
            return type(value)(map(_objects, value))
        case dict():
            return {key: _objects(part) for key, part in value.items()}
    return value
