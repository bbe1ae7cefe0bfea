"""Operators of ONNX on the tensor that passes from the input to the output, as steps of a `Chain`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from reprlib import repr as shortened

import numpy as np

from venmas.errors import NetworkError
from venmas.nn.chain import Chain
from venmas.nn.network import Array
from venmas.nn.onnx_constants import Constants
from venmas.nn.onnx_moves import MOVES, move
from venmas.nn.onnx_table import Call
from venmas.nn.onnx_tensors import DTYPES, FLOAT_TYPES


class Passage:
    """The tensor on its way: `current` is its name, `kind` the type it is computed in. Raises `NetworkError`."""

    def __init__(self, name: str, shape: tuple[int, ...], element: int, constants: Constants) -> None:
        self.current, self.kind, self.constants = name, np.dtype(DTYPES[element]), constants
        self.chain = Chain(shape)
        self.used: set[np.dtype[np.floating]] = set()
        """Types of the constants that took part in the arithmetic."""

    def apply(self, call: Call, output: str) -> None:
        """Let the tensor pass an operator of `OPERATORS`."""
        OPERATORS[call.op](self, call)
        self.current = output

    def _number(self, name: str) -> Array:
        self.used.add(self.kind)
        return self.constants.number(name, self.kind)

    def _move(self, call: Call) -> None:
        try:
            self.chain.rearrange(lambda t: move(call, self.constants.whole, t))
        except (ValueError, IndexError, TypeError, OverflowError) as error:
            raise NetworkError(f"does not fit a tensor of shape {list(self.chain.shape)}: {error}") from error

    def _elementwise(self, call: Call) -> None:
        left = call.inputs[0] != self.current
        c = self._number(call.inputs[0] if left else call.inputs[1])
        if "broadcast" in call.attributes:
            c = self._as_of_old(c, call, left)
        match call.op:
            case "Add":
                self.chain.add(c)
            case "Sub" if left:
                self.chain.scale(np.array(-1.0))
                self.chain.add(c)
            case "Sub":
                self.chain.add(-c)
            case "Mul":
                self.chain.scale(c)
            case _ if left:
                raise NetworkError("divides a constant by a computed value, which is not piecewise linear")
            case _:
                self.chain.divide(c)

    def _as_of_old(self, c: Array, call: Call, left: bool = False) -> Array:
        """A constant in the shape that broadcasting gave it before opset 7: of one entry, or of dimensions in a row."""
        shape, axis = self.chain.shape, call.attributes.get("axis")
        if not call.attributes["broadcast"]:
            if c.shape != shape or axis is not None:
                raise NetworkError(f"shapes {list(shape)} and {list(c.shape)} without broadcast: expected equal ones")
            return c
        at = len(shape) - c.ndim if axis is None else axis
        if left and c.shape != shape:
            raise NetworkError("broadcasts its first input: before opset 7, only the second one is")
        if c.size == 1 and c.ndim <= len(shape):
            return c.reshape(())
        if at < 0 or shape[at : at + c.ndim] != c.shape:
            raise NetworkError(f"a constant of shape {list(c.shape)} is not a part of {list(shape)} from axis {at} on")
        return c.reshape(*c.shape, *[1] * (len(shape) - at - c.ndim))

    def _matmul(self, call: Call) -> None:
        if call.inputs[0] == self.current:
            self.chain.matmul(self._number(call.inputs[1]))
            return
        w = self._number(call.inputs[0])
        self.chain.matmul_left(np.atleast_2d(w))
        if w.ndim == 1:
            self.chain.rearrange(lambda t: t[..., 0, :] if t.ndim > 1 else t[0])

    def _gemm(self, call: Call) -> None:
        """``alpha * A @ B + beta * C``: alpha is an operation of its own, as the product before it may overflow."""
        left = call.inputs[0] != self.current
        w = self._number(call.inputs[0] if left else call.inputs[1])
        if w.ndim != 2 or self.chain.index.ndim != 2:
            raise NetworkError(f"expected matrices, got shapes {list(self.chain.shape)} and {list(w.shape)}")
        if call.attributes["transA" if left else "transB"]:
            w = w.T
        if call.attributes["transB" if left else "transA"]:
            self.chain.rearrange(np.transpose)
        (self.chain.matmul_left if left else self.chain.matmul)(w)
        self.chain.scale(np.array(_finite(call, "alpha")))
        if name := call.optional(2):
            shape, c = self.chain.shape, _scaled(self._number(name), _finite(call, "beta"))
            self.chain.add(self._as_of_old(c, call) if "broadcast" in call.attributes else c)
            if self.chain.shape != shape:
                raise NetworkError(f"its third input does not fit a result of shape {list(shape)}")

    def _conv(self, call: Call) -> None:
        w = self._number(call.inputs[1])
        space, given = w.ndim - 2, call.attributes
        if given["kernel_shape"] not in (None, list(w.shape[2:])):
            raise NetworkError(f"kernel_shape {shortened(given['kernel_shape'])} and kernels of shape {list(w.shape)}")
        pads = [0] * 2 * space if given["pads"] is None else given["pads"]
        if given["auto_pad"] == "VALID" and any(pads):
            raise NetworkError(f"pads {shortened(pads)} and auto_pad VALID, which means none: expected one of the two")
        strides, dilations = (given[key] or [1] * space for key in ("strides", "dilations"))
        self.chain.convolve(w, strides, dilations, pads)
        if name := call.optional(2):
            bias = self._number(name)
            if bias.shape != w.shape[:1]:
                raise NetworkError(f"a bias of shape {list(bias.shape)} for {len(w)} kernels")
            self.chain.add(bias.reshape(1, -1, *[1] * space))

    def _relu(self, call: Call) -> None:
        self.chain.relu()

    def _max(self, call: Call) -> None:
        shape = self.chain.shape
        others = [self._number(name) for name in call.inputs if name != self.current]
        if any(np.any(c) for c in others):
            raise NetworkError("expected the maximum of one computed value and the constant 0")
        for c in others:
            if c.shape != shape and (call.since < 8 or _widened(shape, c.shape) != shape):
                raise NetworkError(f"zeros of shape {list(c.shape)} beside a computed value of shape {list(shape)}")
        if others:
            self.chain.relu()

    def _clip(self, call: Call) -> None:
        if call.since < 11:
            low, high = call.attributes["min"], call.attributes["max"]
        else:
            low, high = (self._limit(call.optional(position)) for position in (1, 2))
        if low != 0 or (high is not None and not high >= float(np.finfo(self.kind).max)):
            raise NetworkError("only min = 0 without a max (a ReLU) is supported: clip in the scenario instead")
        self.chain.relu()

    def _limit(self, name: str | None) -> float | None:
        if name is None:
            return None
        value = self.constants[name]
        if value.dtype != self.kind or value.size != 1 or value.ndim > 1:
            raise NetworkError(f"limit {name!r} of type {value.dtype}, shape {list(value.shape)}: expected one number")
        return float(value.ravel()[0])

    def _cast(self, call: Call) -> None:
        if call.attributes["to"] not in FLOAT_TYPES:
            raise NetworkError(f"to element type {call.attributes['to']}: expected FLOAT (1) or DOUBLE (11)")
        self.kind = np.dtype(DTYPES[call.attributes["to"]])

    def _dropout(self, call: Call) -> None:
        if (name := call.optional(2)) and np.any(self.constants[name]):
            raise NetworkError("is in training mode, which is random: export the model for inference")


def _widened(shape: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(shape, other)
    except ValueError:
        return None


def _finite(call: Call, name: str) -> float:
    factor = float(call.attributes[name])
    if not np.isfinite(factor):
        raise NetworkError(f"{name} is {factor}: every weight must be a finite number")
    return factor


@np.errstate(over="ignore", invalid="ignore")  # what is infinite by then is no product, and no float32
def _scaled(c: Array, beta: float) -> Array:
    """``beta * c``, exactly, where a runtime that rounds c and the product to float32 meets neither infinity nor zero.

    Numbers of float32 are rounded once, in the product: what that does to the bias that is returned here, too, counts
    in every evaluation in float32. Others must be far from the edges, so that both roundings are relative.
    """
    product = c * beta
    single = np.array_equal(c, c.astype(np.float32))
    pairs = zip(c.ravel().tolist(), product.ravel().tolist(), strict=True)
    far = (c == 0) | ((np.abs(c) > 2.0**-100) & (np.abs(c) < 2.0**100))
    if beta != 1 and not (single or (far.all() and all(Fraction(v) * Fraction(beta) == p for v, p in pairs))):
        raise NetworkError(
            f"beta = {beta} times the stored numbers is not a float64, or they are too large or too small for float32: "
            "multiply them before exporting"
        )
    return product


OPERATORS: dict[str, Callable[[Passage, Call], None]] = {
    **dict.fromkeys(MOVES, Passage._move),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), Passage._elementwise),
    "MatMul": Passage._matmul,
    "Gemm": Passage._gemm,
    "Conv": Passage._conv,
    "Relu": Passage._relu,
    "Max": Passage._max,
    "Clip": Passage._clip,
    "Cast": Passage._cast,
    "Dropout": Passage._dropout,
}
"""Operators on the tensor that passes."""
