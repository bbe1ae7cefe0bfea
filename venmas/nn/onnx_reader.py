"""ONNX files as networks: one chain of affine operators and ReLUs, in whatever dress exporters give it.

The batch is one input: a first dimension that is not fixed counts as 1, and an input whose dimensions are all fixed is
one input with as many numbers as it has entries. Operators over constants that only move or cast entries are carried
out while reading, so that shapes computed from the input's shape can be followed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.nn.chain import Budget, Chain, check_size
from venmas.nn.files import read_bytes
from venmas.nn.network import Array, Network
from venmas.nn.onnx_tensors import DOUBLE, DTYPES, EXTERNAL, FLOAT, read_tensor
from venmas.nn.onnx_wire import check_fields

_MOST = 10_000
_OLDEST_OPSET = 7  # before it, broadcasting was spelled out in attributes and meant something else
_LOGITS = "is not piecewise linear: export the model up to the values before it (the logits)"
_REMEDIES = {
    "Softmax": _LOGITS,
    "LogSoftmax": _LOGITS,
    "Sigmoid": _LOGITS,
    "Tanh": "is not piecewise linear: train with ReLU (for PPO and A2C of Stable-Baselines3: "
    "policy_kwargs={'activation_fn': torch.nn.ReLU})",
    "ArgMax": "belongs into the scenario (argmax): export the model up to the values before it (the logits)",
    "BatchNormalization": "divides by a square root, which no float holds: fold it into the layer before it",
}
_KNOWN: WeakValueDictionary[tuple[str, bytes], Network] = WeakValueDictionary()
"""Networks that are in use, by file and sha256 of its content: who builds a system again has them at once."""
_SHAPE_OPERATORS = ("Identity", "Flatten", "Reshape", "Transpose", "Squeeze", "Unsqueeze")


def read_onnx(path: Path) -> Network:
    """Read an ONNX model (opset 7 or later) with one input and one output. Raises `NetworkError`, naming the node."""
    import onnx

    model = onnx.ModelProto()
    data = read_bytes(path)
    key = str(path), hashlib.sha256(data).digest()
    known = _KNOWN.get(key)
    if known is not None:
        return known
    try:
        check_fields(data, model.DESCRIPTOR)
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from error
    try:
        model.ParseFromString(data)
    except Exception as error:  # protobuf has one error type for its Python and another for its C implementation
        raise NetworkError(f"{path} is not an ONNX model, or is truncated: {error}") from error
    try:
        reader = _Reader(model, path)
        network = reader.read()
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from error
    if not reader.scattered:
        _KNOWN[key] = network
    return network


class _Reader:
    def __init__(self, model: Any, path: Path) -> None:
        self.graph, self.path = model.graph, path
        for opset in model.opset_import:
            if opset.domain in ("", "ai.onnx") and opset.version < _OLDEST_OPSET:
                raise NetworkError(
                    f"opset {opset.version}: expected {_OLDEST_OPSET} or later; convert it with onnx.version_converter"
                )
        self.constants: dict[str, NDArray[Any]] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}  # of everything computed from the input so far
        self.float_types: set[str] = set()
        self.budget = Budget()
        self.scattered = False
        """Are some weights in other files?"""

    def read(self) -> Network:
        graph = self.graph
        if not graph.node:
            raise NetworkError("the model has no nodes: not an ONNX model, or an empty one")
        if len(graph.node) > _MOST:
            raise NetworkError(f"the model has {len(graph.node)} nodes: at most {_MOST} are supported")
        if len(graph.output) != 1:
            names = [o.name for o in graph.output]
            raise NetworkError(f"the model has {len(names)} outputs {names[:5]}: expected one; export the logits alone")
        if graph.sparse_initializer:
            raise NetworkError("sparse weights are not supported: save the model with dense ones")
        for tensor in graph.initializer:
            self.constants[tensor.name] = self._tensor(tensor)
        self.current, shape = self._input()
        self.chain = Chain(shape)
        self.shapes[self.current] = shape
        for number, node in enumerate(graph.node):
            try:
                self._node(node)
            except NetworkError as error:
                name = node.name or (node.output[0] if node.output else f"number {number + 1}")
                raise NetworkError(f"node {name!r} ({node.op_type}): {error}") from error
        if graph.output[0].name != self.current:
            raise NetworkError(
                f"the output {graph.output[0].name!r} is not the end of the chain of nodes, {self.current!r} is: "
                "expected a chain from the one input to the one output"
            )
        dtype = "float64" if "float64" in self.float_types else "float32"
        return self.chain.network(self.path.stem, dtype, str(self.path))  # type: ignore[arg-type]

    def _tensor(self, tensor: Any) -> NDArray[Any]:
        self.scattered |= tensor.data_location == EXTERNAL
        return read_tensor(tensor, self.path.parent, self.budget)

    def _input(self) -> tuple[str, tuple[int, ...]]:
        inputs = [i for i in self.graph.input if i.name not in self.constants]
        if len(inputs) != 1:
            names = [i.name for i in inputs]
            raise NetworkError(f"the model has {len(names)} inputs {names[:5]}: expected one")
        tensor = inputs[0].type.tensor_type
        what = f"input {inputs[0].name!r}"
        if tensor.elem_type not in (FLOAT, DOUBLE):
            raise NetworkError(f"{what} has element type {tensor.elem_type}: expected FLOAT (1) or DOUBLE (11)")
        dims = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
        if len(dims) > 1 and dims[0] < 1:
            dims[0] = 1
        if not dims or min(dims) < 1:
            raise NetworkError(
                f"{what} has the shape {dims} (-1: not fixed): expected fixed dimensions, but for the batch"
            )
        check_size(prod(dims), what)
        return inputs[0].name, tuple(dims)

    def _node(self, node: Any) -> None:
        op, inputs = node.op_type, list(node.input)
        if node.domain not in ("", "ai.onnx"):
            raise NetworkError(f"operators of the domain {node.domain!r} are not supported")
        for name in inputs:
            if name and name not in self.constants and name not in self.shapes:
                raise NetworkError(
                    f"uses {name!r}, which no earlier node defines: the graph has a cycle, is not sorted, or uses an "
                    "output that is not supported"
                )
        if not node.output or any(o and (o in self.constants or o in self.shapes) for o in node.output):
            raise NetworkError(f"writes {list(node.output)}, expected an output of its own")
        variable = [name for name in inputs if name in self.shapes]
        attributes = self._attributes(node)
        if op == "Shape" and variable:
            self.constants[node.output[0]] = np.array(self.shapes[inputs[0]], dtype=np.int64)
        elif not variable:
            self.constants[node.output[0]] = self._constant(op, inputs, attributes)
        else:
            if op in _REMEDIES:
                raise NetworkError(_REMEDIES[op])
            if op not in _OPERATORS:
                raise _unsupported(op)
            if variable != [self.current]:
                raise NetworkError(f"takes {variable}: expected a chain, where every value computed is used once")
            _OPERATORS[op](self, op, inputs, attributes)
            self.current = node.output[0]
            self.shapes[self.current] = self.chain.shape

    def _attributes(self, node: Any) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for a in node.attribute:
            match a.type:
                case 1:
                    values[a.name] = a.f
                case 2:
                    values[a.name] = a.i
                case 3:
                    values[a.name] = a.s.decode("latin-1")
                case 4:
                    values[a.name] = self._tensor(a.t)
                case 6:
                    values[a.name] = np.array(a.floats, dtype=np.float32)
                case 7:
                    values[a.name] = list(a.ints)
                case _:
                    raise NetworkError(f"attribute {a.name!r} holds a graph or another value that is not supported")
        return values

    # constants

    def _float(self, name: str) -> Array:
        """A constant that takes part in the arithmetic, as float64, which holds it exactly."""
        value = self.constants[name]
        if value.dtype.kind != "f":
            raise NetworkError(f"constant {name!r} has the type {value.dtype}: expected float32 or float64")
        if not np.all(np.isfinite(value)):
            raise NetworkError(f"constant {name!r} holds NaN or infinite values: every weight must be a finite number")
        self.float_types.add(value.dtype.name)
        return value.astype(np.float64)

    def _whole(self, name: str) -> list[int]:
        value = self.constants.get(name)
        if value is None or value.dtype.kind != "i":
            raise NetworkError(f"{name!r} must be a constant of whole numbers")
        return [int(v) for v in value.ravel()]

    def _optional(self, inputs: list[str], position: int) -> str | None:
        return inputs[position] if len(inputs) > position and inputs[position] else None

    def _constant(self, op: str, inputs: list[str], attributes: dict[str, Any]) -> NDArray[Any]:
        """Carry out a node all of whose inputs are constants."""
        values = [self.constants[name] for name in inputs if name]
        self.budget.spend(sum(v.size for v in values), "the operands")
        try:
            if op == "Constant":
                (kind, value), *_ = attributes.items()
                dtype = {"value_float": np.float32, "value_int": np.int64, "value_ints": np.int64}.get(kind)
                return np.asarray(value, dtype=dtype)
            if op == "Cast" and attributes.get("to") in DTYPES:
                with np.errstate(over="ignore"):  # what becomes infinite is refused where it is used
                    return values[0].astype(DTYPES[attributes["to"]])
            if op == "Shape":
                return np.array(values[0].shape, dtype=np.int64)
            if op == "Gather":
                self.budget.spend(values[0].size * values[1].size, "the result")
                return np.take(values[0], values[1], axis=attributes.get("axis", 0))
            if op == "Concat":
                return np.concatenate(values, axis=attributes["axis"])
            if op in _SHAPE_OPERATORS:
                return self._move(op, inputs, attributes)(values[0])
        except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
            raise NetworkError(f"cannot be carried out: {error}") from error
        raise NetworkError(f"over constants only: {_unsupported(op)}")

    # operators on the tensor that passes through

    def _rearrange(self, op: str, inputs: list[str], attributes: dict[str, Any]) -> None:
        try:
            self.chain.rearrange(self._move(op, inputs, attributes))
        except (ValueError, IndexError, TypeError, OverflowError) as error:
            raise NetworkError(f"does not fit a tensor of shape {list(self.chain.shape)}: {error}") from error

    def _move(self, op: str, inputs: list[str], attributes: dict[str, Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
        """The operation on arrays; the same one serves constants and positions."""
        axes = attributes.get("axes")
        if op in ("Squeeze", "Unsqueeze") and (given := self._optional(inputs, 1)):
            axes = self._whole(given)
        if op == "Flatten":
            axis = attributes.get("axis", 1)
            return lambda t: t.reshape(prod(t.shape[: axis + t.ndim if axis < 0 else axis]), -1)
        if op == "Transpose":
            return lambda t: np.transpose(t, attributes.get("perm"))
        if op == "Squeeze":
            return lambda t: np.squeeze(t, None if axes is None else tuple(axes))
        if op == "Unsqueeze":
            return lambda t: np.expand_dims(t, tuple(axes or ()))
        if op == "Reshape":
            target = self._whole(self._optional(inputs, 1) or "shape")
            if attributes.get("allowzero"):
                return lambda t: t.reshape(target)
            return lambda t: t.reshape([t.shape[i] if d == 0 else d for i, d in enumerate(target)])
        return lambda t: t

    def _elementwise(self, op: str, inputs: list[str], attributes: dict[str, Any]) -> None:
        if len(inputs) != 2:
            raise NetworkError(f"has {len(inputs)} inputs, expected two")
        left = inputs[0] != self.current
        c = self._float(inputs[0] if left else inputs[1])
        match op:
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

    def _matmul(self, op: str, inputs: list[str], attributes: dict[str, Any]) -> None:
        if len(inputs) != 2:
            raise NetworkError(f"has {len(inputs)} inputs, expected two")
        if inputs[0] == self.current:
            self.chain.matmul(self._float(inputs[1]))
        else:
            self.chain.matmul_left(np.atleast_2d(self._float(inputs[0])))
            if self.constants[inputs[0]].ndim == 1:
                self.chain.rearrange(lambda t: t[..., 0, :] if t.ndim > 1 else t[0])

    def _gemm(self, op: str, inputs: list[str], attributes: dict[str, Any]) -> None:
        if len(inputs) < 2 or self.current in inputs[2:]:
            raise NetworkError("expected a computed value times a constant, plus a constant")
        left = inputs[0] != self.current
        w = self._float(inputs[0] if left else inputs[1])
        if w.ndim != 2 or self.chain.index.ndim != 2:
            raise NetworkError(f"expected matrices, got shapes {list(self.chain.shape)} and {list(w.shape)}")
        if attributes.get("transA" if left else "transB"):
            w = w.T
        if attributes.get("transB" if left else "transA"):
            self.chain.rearrange(np.transpose)
        w = _scaled(w, attributes.get("alpha", 1.0), "alpha")
        (self.chain.matmul_left if left else self.chain.matmul)(w)
        if name := self._optional(inputs, 2):
            shape = self.chain.shape
            self.chain.add(_scaled(self._float(name), attributes.get("beta", 1.0), "beta"))
            if self.chain.shape != shape:
                raise NetworkError(f"its third input does not fit a result of shape {list(shape)}")

    def _conv(self, op: str, inputs: list[str], attributes: dict[str, Any]) -> None:
        if len(inputs) < 2 or self.current in inputs[1:]:
            raise NetworkError("expected constant kernels")
        w = self._float(inputs[1])
        space = w.ndim - 2
        if attributes.get("group", 1) != 1 or attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
            raise NetworkError("groups and automatic padding are not supported: expected group 1 and explicit pads")
        if attributes.get("kernel_shape", list(w.shape[2:])) != list(w.shape[2:]):
            raise NetworkError(f"kernel_shape {attributes['kernel_shape']} and kernels of shape {list(w.shape)}")
        self.chain.convolve(
            w,
            attributes.get("strides", [1] * space),
            attributes.get("dilations", [1] * space),
            attributes.get("pads", [0] * 2 * space),
        )
        if name := self._optional(inputs, 2):
            bias = self._float(name)
            if bias.shape != w.shape[:1]:
                raise NetworkError(f"a bias of shape {list(bias.shape)} for {len(w)} kernels")
            self.chain.add(bias.reshape(1, -1, *[1] * space))

    def _relu(self, op: str, inputs: list[str], attributes: dict[str, Any]) -> None:
        self.chain.relu()

    def _max(self, op: str, inputs: list[str], attributes: dict[str, Any]) -> None:
        others = [self._float(name) for name in inputs if name != self.current]
        if len(others) != len(inputs) - 1 or any(np.any(c) or c.size != 1 or c.ndim > 1 for c in others):
            raise NetworkError("expected the maximum of one computed value and the constant 0")
        if others:
            self.chain.relu()

    def _clip(self, op: str, inputs: list[str], attributes: dict[str, Any]) -> None:
        limits = []
        for position, key in ((1, "min"), (2, "max")):
            name = self._optional(inputs, position)
            value = self.constants.get(name, np.array(np.nan)) if name else np.array(attributes.get(key, np.inf))
            limits.append(float(value) if value.size == 1 else np.nan)
        low, high = limits
        if low != 0 or not high >= float(np.finfo(np.float32).max):
            raise NetworkError("only min = 0 without a max (a ReLU) is supported: clip in the scenario instead")
        self.chain.relu()

    def _cast(self, op: str, inputs: list[str], attributes: dict[str, Any]) -> None:
        if attributes.get("to") not in (FLOAT, DOUBLE):
            raise NetworkError(f"to element type {attributes.get('to')}: expected FLOAT (1) or DOUBLE (11)")

    def _dropout(self, op: str, inputs: list[str], attributes: dict[str, Any]) -> None:
        if (name := self._optional(inputs, 2)) and np.any(self.constants.get(name, np.array(True))):
            raise NetworkError("is in training mode, which is random: export the model for inference")


@np.errstate(over="ignore", invalid="ignore")  # what is infinite by then is no product, and no float32
def _scaled(value: Array, factor: float, name: str) -> Array:
    """value * factor, if floats hold it exactly; float32 values times a float32 factor always are."""
    product = value * factor
    if np.array_equal(value, value.astype(np.float32)):
        return product
    pairs = zip(value.ravel().tolist(), product.ravel().tolist(), strict=True)
    if factor != 1 and not (np.isfinite(product).all() and all(Fraction(v) * Fraction(factor) == p for v, p in pairs)):
        raise NetworkError(
            f"{name} = {factor} times the stored numbers is not a float64: multiply them before exporting"
        )
    return product


def _unsupported(op: str) -> NetworkError:
    return NetworkError(
        f"operator {op!r} is not supported; supported are {', '.join(sorted([*_OPERATORS, 'Constant']))}"
    )


_OPERATORS: dict[str, Callable[[_Reader, str, list[str], dict[str, Any]], None]] = {
    **dict.fromkeys(_SHAPE_OPERATORS, _Reader._rearrange),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _Reader._elementwise),
    "MatMul": _Reader._matmul,
    "Gemm": _Reader._gemm,
    "Conv": _Reader._conv,
    "Relu": _Reader._relu,
    "Max": _Reader._max,
    "Clip": _Reader._clip,
    "Cast": _Reader._cast,
    "Dropout": _Reader._dropout,
}
