"""Networks of any usual activation, enclosed at single points: `enclose(file, points)`.

Every number is a ball: an integer midpoint and an integer radius, both in units of 2^-160, so that weights in float32
are held exactly. Sums and products are those of integers, what is cut off is added to the radius; functions come with
proven enclosures (`venmas.model.evaluation.elementary`). So the ball of a score holds the value of the real function of
the stored weights. Dense graphs only: what is not listed in `_ATTRIBUTES` is refused.

Source: midpoint-radius arithmetic, S. M. Rump, Fast and parallel interval arithmetic, BIT 39 (1999).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.model.evaluation.elementary.function import Function
from venmas.model.evaluation.elementary.registry import FUNCTIONS

BITS = 160
Whole: TypeAlias = NDArray[np.object_]
"""Python integers."""

_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "Gemm": {"transA": 0, "transB": None, "alpha": 1.0, "beta": 1.0},
    **{op: {} for op in ("MatMul", "Add", "Sub", "Mul", "Div", "Neg", "Relu", "Tanh", "Sigmoid", "Identity")},
    "Elu": {"alpha": None},
    "LeakyRelu": {"alpha": None},
    "Flatten": {"axis": 1},
    "Softmax": {"axis": None},
    "LogSoftmax": {"axis": None},
    "Cast": {"to": None, "saturate": None},
    "Constant": {"value": None},
    "Transpose": {"perm": None},
}
"""What is enclosed: attributes by operator, with the only value that they may have, or None where it is looked at."""
_FLOATS = (1, 11)  # float32 and float64, as TensorProto counts
_LISTED = ", ".join(op for op in _ATTRIBUTES if op not in ("Constant", "Transpose"))


class Ball(NamedTuple):
    """mid - rad <= value <= mid + rad, in units of 2^-BITS; both of one shape."""

    mid: Whole
    rad: Whole


def enclose(path: Path, points: NDArray[np.float64]) -> Ball:
    """Balls of the outputs of an ONNX file at points (N, n): of shape (N, outputs).

    A softmax at the end is left out: it keeps the order of scores. Raises `NetworkError` for other graphs than chains
    and sums of dense layers, naming the node.
    """
    import onnx

    try:
        model = onnx.load(path)
    except Exception as error:  # protobuf has an error type for each of its implementations
        raise NetworkError(f"{path} is not an ONNX model, or is truncated: {error}") from error
    try:
        return _run(model.graph, points)
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from error


def _run(graph: Any, points: NDArray[np.float64]) -> Ball:
    from onnx import numpy_helper

    values: dict[str, Ball | NDArray[np.float64]] = {
        t.name: _floats(numpy_helper.to_array(t), t.name) for t in graph.initializer
    }
    inputs = [i for i in graph.input if i.name not in values]
    if len(inputs) != 1 or len(graph.output) != 1 or graph.sparse_initializer:
        raise NetworkError(f"expected one input and one output, got {len(inputs)} and {len(graph.output)}")
    shape = [d.dim_value if d.HasField("dim_value") else None for d in inputs[0].type.tensor_type.shape.dim]
    if shape[-1:] != [points.shape[1]] or len(shape) > 2 or shape[:-1] not in ([], [1], [None]):
        raise NetworkError(f"takes an input of shape {shape}: expected (batch, {points.shape[1]}), the observation")
    values[inputs[0].name] = ball(points)
    for node in graph.node:
        last = node.output[0] == graph.output[0].name
        try:
            values[node.output[0]] = _node(node, [values[name] for name in node.input], last)
        except (NetworkError, KeyError, ValueError, ArithmeticError) as error:
            said = error if isinstance(error, NetworkError) else f"can not be followed: {error}"
            raise NetworkError(f"node {node.name or node.output[0]} ({node.op_type}): {said}") from error
    output = values.get(graph.output[0].name)
    if not isinstance(output, Ball) or output.mid.ndim != 2 or len(output.mid) != len(points):
        raise NetworkError("the output does not depend on the input: expected a score for each action")
    return output


def _node(node: Any, given: list[Ball | NDArray[np.float64]], last: bool) -> Ball | NDArray[np.float64]:
    from onnx import helper, numpy_helper

    op, attributes = node.op_type, {a.name: helper.get_attribute_value(a) for a in node.attribute}
    known = _ATTRIBUTES.get(op) if node.domain in ("", "ai.onnx") and len(node.output) == 1 else None
    if known is None:
        raise NetworkError(f"is not enclosed; known are {_LISTED}")
    if wrong := [k for k, v in attributes.items() if k not in known or known[k] not in (None, v)]:
        raise NetworkError(f"attribute {wrong[0]}={attributes[wrong[0]]} is not supported")
    if op == "Constant":
        return _floats(numpy_helper.to_array(attributes["value"]), node.output[0])
    first = given[0]
    if op == "Cast" and attributes["to"] not in _FLOATS:
        raise NetworkError("casts to other types than float32 and float64 are not enclosed")
    if not isinstance(first, Ball) and op in ("Transpose", "Identity", "Cast"):
        if op == "Cast" and attributes["to"] == 1 and not np.array_equal(first.astype(np.float32), first):
            raise NetworkError("a constant is rounded to float32: save it as such")
        return first.transpose(attributes.get("perm")) if op == "Transpose" else first
    if op in ("MatMul", "Gemm"):
        if not isinstance(first, Ball) or first.mid.ndim != 2 or isinstance(given[1], Ball) or given[1].ndim != 2:
            raise NetworkError("expected values times constant weights")
        product = _matmul(first, given[1].T if attributes.get("transB") else given[1])
        return product if len(given) == 2 else _add(product, _operand(given[2]))
    if op in ("Add", "Sub", "Mul", "Div"):
        a, b = (_operand(v) for v in given)
        if op == "Div":
            return _divide(a, b)
        return _multiply(a, b) if op == "Mul" else _add(a, b if op == "Add" else _negative(b))
    x = _operand(first)
    if op in ("Softmax", "LogSoftmax"):
        if not last or attributes.get("axis", -1) not in (-1, 1):
            raise NetworkError("a softmax is left out at the end only, over the scores")
        return x
    return _UNARY[op](x, attributes.get("alpha", 1.0 if op == "Elu" else 0.01))


def ball(values: NDArray[np.float64]) -> Ball:
    """Balls of floats: of radius 0 where 160 bits behind the point hold them."""
    mid, rad = np.empty(values.shape, dtype=object), np.empty(values.shape, dtype=object)
    for at, value in np.ndenumerate(values):
        numerator, denominator = float(value).as_integer_ratio()
        mid[at], rest = divmod(numerator << BITS, denominator)
        rad[at] = int(rest > 0)
    return Ball(mid, rad)


def _floats(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    if array.dtype.kind not in "fiu" and array.dtype.name != "bfloat16":
        raise NetworkError(f"constant {name!r} is of type {array.dtype}: expected numbers")
    floats = array.astype(np.float64)
    if not np.isfinite(floats).all() or (array.dtype.kind in "iu" and np.any(np.abs(floats) >= 2**53)):
        raise NetworkError(f"constant {name!r} holds numbers that are not finite, or integers from 2^53 on")
    return floats


def _operand(value: Ball | NDArray[np.float64]) -> Ball:
    """A constant, the same for every point, as a ball."""
    if isinstance(value, Ball):
        return value
    if any(size != 1 for size in value.shape[:-1]) or value.ndim > 2:
        raise NetworkError(f"a constant of shape {list(value.shape)} is not the same for every observation")
    return ball(value)


def _up(x: Whole) -> Whole:
    """x / 2^BITS, rounded up."""
    up: Whole = -(-x >> BITS)
    return up


def _add(a: Ball, b: Ball) -> Ball:
    return Ball(a.mid + b.mid, a.rad + b.rad)


def _negative(a: Ball) -> Ball:
    return Ball(-a.mid, a.rad)


def _multiply(a: Ball, b: Ball) -> Ball:
    rad = abs(a.mid) * b.rad + a.rad * abs(b.mid) + a.rad * b.rad
    return Ball(a.mid * b.mid >> BITS, _up(rad) + 1)


def _divide(a: Ball, b: Ball) -> Ball:
    """By exact numbers: of another divisor the reciprocal is none of a ball's business."""
    if b.rad.any() or not b.mid.all():
        raise NetworkError("expected a division by constants other than 0 that 160 bits hold")
    mid = (a.mid << BITS) // b.mid
    return Ball(mid, -(-(a.rad << BITS) // abs(b.mid)) + 1)


def _matmul(x: Ball, weight: NDArray[np.float64]) -> Ball:
    """x @ weight. Points in one-hot form have one row of it to add, so zeros are left out."""
    w = ball(weight)
    rows_mid, rows_rad, rough = [], [], bool(w.rad.any())
    size = abs(w.mid)
    for mid, rad in zip(x.mid, x.rad, strict=True):
        used = np.flatnonzero(mid.astype(bool) | rad.astype(bool))
        m, r = mid[used], rad[used]
        rows_mid.append(m @ w.mid[used] if len(used) else np.full(weight.shape[1], 0, dtype=object))
        error = r @ size[used] if r.any() else np.full(weight.shape[1], 0, dtype=object)
        rows_rad.append(error + (abs(m) + r) @ w.rad[used] if rough and len(used) else error)
    return Ball(np.asarray(np.stack(rows_mid) >> BITS, dtype=object), _up(np.stack(rows_rad)) + 1)


def _relu(x: Ball) -> Ball:
    """No two values are further apart than their operands."""
    return Ball(np.where(x.mid > 0, x.mid, 0), x.rad)


def _smooth(f: Function) -> Callable[[Ball], Ball]:
    """A function whose slope is at most 1 in size where it is asked for."""

    def of(x: Ball) -> Ball:
        mid, rad = np.empty_like(x.mid), np.empty_like(x.rad)
        for at, value in np.ndenumerate(x.mid):
            low, high = f.value(value, BITS)
            mid[at], rad[at] = low, high - low + x.rad[at]
        return Ball(mid, rad)

    return of


def _scaled(x: Ball, factor: float) -> Ball:
    return _multiply(x, ball(np.array([factor])))


def _elu(x: Ball, alpha: float) -> Ball:
    """relu(x) + alpha (exp(min(x, 0)) - 1). The exponential is taken of numbers up to 0, where its slope is below 1."""
    below = _negative(_relu(_negative(x)))
    bent = _smooth(FUNCTIONS["exp"])(below)
    return _add(_relu(x), _scaled(Ball(bent.mid - (1 << BITS), bent.rad), alpha))


def _leaky(x: Ball, alpha: float) -> Ball:
    return _add(_relu(x), _negative(_scaled(_relu(_negative(x)), alpha)))


_UNARY: dict[str, Callable[[Ball, float], Ball]] = {
    "Identity": lambda x, _: x,
    "Cast": lambda x, _: x,
    "Flatten": lambda x, _: x,
    "Neg": lambda x, _: _negative(x),
    "Relu": lambda x, _: _relu(x),
    "Tanh": lambda x, _: _smooth(FUNCTIONS["tanh"])(x),
    "Sigmoid": lambda x, _: _smooth(FUNCTIONS["sigmoid"])(x),
    "Elu": _elu,
    "LeakyRelu": _leaky,
}
