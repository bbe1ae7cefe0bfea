"""Constants of an ONNX graph, and the operators that are carried out over them while reading.

They only choose, move or cast entries, as exporters do to compute one shape from another: nothing is rounded that the
file does not round itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.nn.chain import Budget
from venmas.nn.network import Array
from venmas.nn.onnx_moves import MOVES, move
from venmas.nn.onnx_table import Call
from venmas.nn.onnx_tensors import DTYPES

CARRIED_OUT = (*MOVES, "Cast", "Concat", "Constant", "Gather", "Shape")
"""Operators over constants."""


class Constants(dict[str, NDArray[Any]]):
    """Constants by name. Methods raise `NetworkError`."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self.budget = budget

    def number(self, name: str, kind: np.dtype[Any]) -> Array:
        """A constant that takes part in arithmetic of the type `kind`, as float64, which holds it exactly."""
        value = self[name]
        if value.dtype.kind != "f":
            raise NetworkError(f"constant {name!r} has the type {value.dtype}: expected float32 or float64")
        if not np.all(np.isfinite(value)):
            raise NetworkError(f"constant {name!r} holds NaN or infinite values: every weight must be a finite number")
        if value.dtype != kind:
            raise NetworkError(f"constant {name!r} has the type {value.dtype}, what it meets {kind}: expected the same")
        return value.astype(np.float64)

    def whole(self, name: str) -> list[int]:
        """The entries of a constant of whole numbers, a vector or a scalar."""
        value = self[name]
        if value.dtype.kind != "i" or value.ndim > 1:
            raise NetworkError(f"{name!r} must be a constant of whole numbers, one after the other")
        return [int(v) for v in value.ravel()]

    def carry_out(self, call: Call) -> NDArray[Any]:
        """The value of a node all of whose inputs are constants."""
        values = [self[name] for name in call.inputs]
        self.budget.spend(sum(v.size for v in values), "the operands")
        try:
            match call.op:
                case "Constant":
                    return _constant(call)
                case "Cast":
                    return _cast(values[0], call.attributes["to"])
                case "Shape":
                    return shape_of(call, values[0].shape)
                case "Gather":
                    return self._gather(call, *values)
                case "Concat":
                    if len({v.dtype for v in values}) > 1:
                        raise NetworkError(f"of the types {[v.dtype.name for v in values]}: expected one type")
                    return np.concatenate(values, axis=call.attributes["axis"])
            return move(call, self.whole, values[0])
        except (ValueError, IndexError, TypeError, OverflowError) as error:
            raise NetworkError(f"cannot be carried out: {error}") from error

    def _gather(self, call: Call, data: NDArray[Any], indices: NDArray[Any]) -> NDArray[Any]:
        if indices.dtype.kind != "i" or data.ndim < 1:
            raise NetworkError(f"cannot be carried out: indices of the type {indices.dtype}, shape {list(data.shape)}")
        if call.since < 11 and np.any(indices < 0):
            raise NetworkError("negative indices are known from opset 11 on only")
        self.budget.spend(data.size * indices.size, "the result")
        return np.take(data, indices, axis=call.attributes["axis"])


def shape_of(call: Call, shape: Iterable[int]) -> NDArray[np.int64]:
    """Output of Shape: dimensions from ``start`` to ``end``, each counted from the end if negative, then clamped."""
    return np.array(tuple(shape)[call.attributes.get("start", 0) : call.attributes.get("end")], dtype=np.int64)


def _constant(call: Call) -> NDArray[Any]:
    given = {name: value for name, value in call.attributes.items() if value is not None}
    if len(given) != 1:
        raise NetworkError(f"has the values {sorted(given)}: expected one, of {', '.join(sorted(call.attributes))}")
    ((name, value),) = given.items()
    types = {"value": None, "value_int": np.int64, "value_ints": np.int64}
    return np.asarray(value, dtype=types.get(name, np.float32))


def _cast(value: NDArray[Any], to: int) -> NDArray[Any]:
    if to not in DTYPES:
        raise NetworkError(f"to element type {to}: expected one of {', '.join(map(str, DTYPES))}")
    dtype = np.dtype(DTYPES[to])
    if value.dtype.kind == "f" and dtype.kind == "i":
        info = np.iinfo(dtype)
        if not np.all((value > info.min) & (value < info.max)):  # not of NaN either
            raise NetworkError(f"holds numbers that {dtype} does not: what they become differs between runtimes")
    with np.errstate(over="ignore"):  # what becomes infinite is refused where it is used
        return value.astype(dtype)
