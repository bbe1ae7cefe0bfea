"""Operators of ONNX on the tensors that pass from the inputs to the outputs, as steps of a `Chain`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence, Set
from fractions import Fraction
from math import prod
from reprlib import repr as shortened
from typing import Any

import numpy as np

from venmas.errors import NetworkError
from venmas.nn import pieces
from venmas.nn.chain import Chain
from venmas.nn.network import Array
from venmas.nn.onnx_constants import Constants
from venmas.nn.onnx_moves import MOVES, move
from venmas.nn.onnx_table import Call
from venmas.nn.onnx_tensors import DTYPES, FLOAT_TYPES
from venmas.nn.onnx_windows import average_pool, batch_normalize, convolve, max_pool
from venmas.nn.values import Value, joined


class Passage:
    """The tensors on their way. Of the node at hand: `current` is the name of the tensor that the chain has.

    kind: the type it is computed in. computed: all tensors that the node takes. Raises `NetworkError`.
    """

    def __init__(self, constants: Constants) -> None:
        self.constants, self.chain = constants, Chain((1,))
        self.kinds: dict[str, np.dtype[Any]] = {}
        self.used: set[np.dtype[np.floating]] = set()
        """Types of the constants that took part in the arithmetic."""
        self._factors: dict[str, str] = {}
        """By tensor: whether it is a "product" of matrices, or one with a "factor", that runtimes may fold together."""

    def enter(self, inputs: dict[str, tuple[tuple[int, ...], int]]) -> None:
        """Begin with tensors, shape and element type by name, one after the other in the input of the network."""
        ends = [0]
        for shape, _ in inputs.values():
            ends.append(ends[-1] + prod(shape))
        self.chain = Chain((ends[-1],))
        for start, (name, (shape, element)) in zip(ends, inputs.items(), strict=False):
            self.chain.held[name], self.kinds[name] = Value.outputs(start, shape), np.dtype(DTYPES[element])

    def apply(self, call: Call, output: str, names: list[str], done: Set[str]) -> tuple[int, ...]:
        """Let the tensors `names` pass an operator of `OPERATORS`, and return the shape of what it gives.

        done: names that are not used later.
        """
        kinds = {self.kinds[name] for name in names}
        if len(kinds) > 1:
            raise NetworkError(f"takes {names} of the types {sorted(map(str, kinds))}: expected one type")
        (self.kind,), self.current = kinds, names[0]
        self.computed = {name: self.chain.held[name] for name in names}
        self.chain.current = self.computed[names[0]]
        self.drop(done)
        OPERATORS[call.op](self, call)
        self._fold(call, output, names)
        if output not in done:
            self.chain.held[output], self.kinds[output] = self.chain.current, self.kind
        return self.chain.shape

    def _fold(self, call: Call, output: str, names: list[str]) -> None:
        """Notice what a runtime may compute in another order: a factor first or last, in weights, or as a reciprocal.

        onnxruntime does so with factors after a Conv, in its weights, and with scalar ones beside a MatMul.
        """
        was = self._factors.get(names[0], "")
        now = {"Conv": "product", "MatMul": "product", "Mul": "factor", "Div": "factor"}.get(call.op, "")
        bias = call.op in ("Add", "Sub") and len(names) == 1 and was == "product"
        if bias or call.op in (*MOVES, "Cast", "Dropout"):
            now = was
        if now and was and now != was:
            self.chain.float32_refusal = pieces.FOLDED.format("factor beside a product of matrices")
        self._factors[output] = now

    def drop(self, names: Set[str]) -> None:
        """Let tensors go."""
        for name in names:
            self.chain.held.pop(name, None)

    def leave(self, outputs: Sequence[str]) -> None:
        """Make the tensors with these names, flat and one after the other, the current one."""
        values = [self.chain.held[name].rearranged(np.ravel) for name in outputs]
        self.chain.held.clear()
        self.chain.current = joined(values, 0)

    def number(self, name: str) -> Array:
        """A constant that takes part in the arithmetic."""
        self.used.add(self.kind)
        return self.constants.number(name, self.kind)

    def _move(self, call: Call) -> None:
        try:
            self.chain.rearrange(lambda t: move(call, self.constants.whole, t))
        except (ValueError, IndexError, TypeError, OverflowError) as error:
            raise NetworkError(f"does not fit a tensor of shape {list(self.chain.shape)}: {error}") from error

    def _elementwise(self, call: Call) -> None:
        if call.inputs[0] in self.computed and call.inputs[1] in self.computed:
            a, b = self.computed[call.inputs[0]], self.computed[call.inputs[1]]
            if "broadcast" in call.attributes and a.shape != b.shape:
                raise NetworkError(
                    f"shapes {list(a.shape)} and {list(b.shape)} of computed values: expected equal ones"
                )
            self._sum([a, b if call.op == "Add" else -b])
            return
        left = call.inputs[0] != self.current
        c = self.number(call.inputs[0] if left else call.inputs[1])
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
            self.chain.matmul(self.number(call.inputs[1]))
            return
        w = self.number(call.inputs[0])
        self.chain.matmul_left(np.atleast_2d(w))
        if w.ndim == 1:
            self.chain.rearrange(lambda t: t[..., 0, :] if t.ndim > 1 else t[0])

    def _gemm(self, call: Call) -> None:
        """``alpha * A @ B + beta * C``: alpha is an operation of its own, as the product before it may overflow."""
        left = call.inputs[0] != self.current
        w = self.number(call.inputs[0] if left else call.inputs[1])
        if w.ndim != 2 or len(self.chain.shape) != 2:
            raise NetworkError(f"expected matrices, got shapes {list(self.chain.shape)} and {list(w.shape)}")
        if call.attributes["transA" if left else "transB"]:
            w = w.T
        if call.attributes["transB" if left else "transA"]:
            self.chain.rearrange(np.transpose)
        (self.chain.matmul_left if left else self.chain.matmul)(w)
        self.chain.scale(np.array(_finite(call, "alpha")))
        if name := call.optional(2):
            shape, c = self.chain.shape, _scaled(self.number(name), _finite(call, "beta"))
            self.chain.add(self._as_of_old(c, call) if "broadcast" in call.attributes else c)
            if self.chain.shape != shape:
                raise NetworkError(f"its third input does not fit a result of shape {list(shape)}")

    def _several(self, call: Call) -> tuple[list[Value], list[Array]]:
        """The computed values and the constants that an operator of any number of inputs takes."""
        values = [self.computed[name] for name in call.inputs if name in self.computed]
        constants = [self.number(name) for name in call.inputs if name not in self.computed]
        shapes = [v.shape for v in values] + [c.shape for c in constants]
        try:
            if call.since < 8 and len(set(shapes)) > 1:
                raise ValueError("before opset 8, all are of one shape")
            self.chain.budget.spend(prod(np.broadcast_shapes(*shapes)) * len(shapes), "the operands")
        except ValueError as error:
            raise NetworkError(
                f"takes operands of the shapes {shortened([list(s) for s in shapes])}: {error}"
            ) from None
        return values, constants

    def _extreme(self, call: Call) -> None:
        values, constants = self._several(call)
        least = call.op == "Min"
        pieces.maximum(self.chain, values, least)
        if constants:
            limit = functools.reduce(np.minimum if least else np.maximum, constants)
            shape = np.broadcast_shapes(self.chain.shape, limit.shape)
            self.chain.rearrange(lambda t: np.broadcast_to(t, shape))
            pieces.clip(self.chain, *((None, limit) if least else (limit, None)))

    def _add_up(self, call: Call) -> None:
        values, constants = self._several(call)
        self._sum(values)
        for c in constants:
            self.chain.add(c)

    def _sum(self, values: list[Value]) -> None:
        if len(values) == 1:
            self.chain.current = values[0]
            return
        shapes = [v.shape for v in values]
        try:
            self.chain.budget.spend(prod(np.broadcast_shapes(*shapes)) * len(shapes), "the operands")
        except ValueError:
            raise NetworkError(f"shapes {shortened([list(s) for s in shapes])} do not fit together") from None
        pieces.add_tensors(self.chain, values)

    def _concat(self, call: Call) -> None:
        if left := [name for name in call.inputs if name not in self.computed]:
            raise NetworkError(f"takes the constant {left[0]!r} beside computed values: expected computed values only")
        values = [self.computed[name] for name in call.inputs]
        self.chain.budget.spend(sum(v.size * len(v.parts) for v in values), "the operands")
        try:
            self.chain.current = joined(values, call.attributes["axis"])
        except (ValueError, IndexError) as error:
            raise NetworkError(f"takes shapes {shortened([list(v.shape) for v in values])}: {error}") from error

    def _clip(self, call: Call) -> None:
        if call.since < 11:
            low, high = call.attributes["min"], call.attributes["max"]
        else:
            low, high = (self._limit(call.optional(position)) for position in (1, 2))
        largest = float(np.finfo(self.kind).max)
        low = None if low is not None and low <= -largest else low
        high = None if high is not None and high >= largest else high
        for v in (low, high):
            if v is not None and not abs(v) <= largest:
                raise NetworkError(f"has the limit {v}: expected a finite number, or none")
        pieces.clip(self.chain, *(None if v is None else np.array(v) for v in (low, high)))

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
    "Conv": lambda passage, call: convolve(passage.chain, call, passage.number),
    **dict.fromkeys(("AveragePool", "GlobalAveragePool"), lambda passage, call: average_pool(passage.chain, call)),
    **dict.fromkeys(("MaxPool", "GlobalMaxPool"), lambda passage, call: max_pool(passage.chain, call)),
    "BatchNormalization": lambda passage, call: batch_normalize(passage.chain, call, passage.number),
    "Relu": lambda passage, call: passage.chain.relu(),
    "Sigmoid": lambda passage, call: passage.chain.bend("sigmoid"),
    "Tanh": lambda passage, call: passage.chain.bend("tanh"),
    "LeakyRelu": lambda passage, call: pieces.leaky(passage.chain, _finite(call, "alpha")),
    "Abs": lambda passage, call: pieces.absolute(passage.chain),
    "Neg": lambda passage, call: passage.chain.scale(np.array(-1.0)),
    **dict.fromkeys(("Max", "Min"), Passage._extreme),
    "Sum": Passage._add_up,
    "Concat": Passage._concat,
    "Clip": Passage._clip,
    "Cast": Passage._cast,
    "Dropout": Passage._dropout,
}
"""Operators on the tensors that pass."""

OF_SEVERAL = ("Add", "Concat", "Max", "Min", "Sub", "Sum")
"""Those of them that take several computed values."""
