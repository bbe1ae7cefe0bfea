"""Steps of random ONNX graphs, each one operator or a pattern of exporters, with random attributes that are known."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

_MOST = 2.0**21  # largest ratio of value and unit: every sum of such values is exact in float32
_MOST_ENTRIES = 200
_WEIGHTS = np.array([-2, -1, -0.5, 0, 0, 0.5, 1, 1.5])


class Graph:
    """A chain that grows: its nodes, its constants, and of the tensor at its end name, shape, size and unit.

    Constants and nodes of the twin are the same but where the rules of opset 6 differ from those of opset 7.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.opset = rng, int(rng.choice([6, 6, *range(6, 23)]))
        self.dtype = np.dtype(rng.choice(["float32", "float32", "float64"]))
        self.type = self.dtype
        """The type at the end; Cast changes it."""
        self.shape: tuple[int, ...] = tuple(int(d) for d in rng.integers(1, 4, rng.choice([1, 2, 2, 3, 4])))
        self.declared_shape: list[int | str] = list(self.shape)
        if len(self.shape) > 1 and rng.random() < 0.7:
            self.shape = (1, *self.shape[1:])
            self.declared_shape[0] = str(rng.choice(["N", "batch", ""])) if rng.random() < 0.7 else 1
        self.current, self.count, self.top, self.unit = "x", 0, 4.0, 0.25
        self.inputs: dict[str, tuple[int, ...]] = {"x": self.shape}
        """Shapes of the inputs."""
        self.kept: list[tuple[str, tuple[int, ...], float, float, Any]] = []
        """Tensors to come back to: name, shape, size, unit, type."""
        for name in ("u", "v")[: int(rng.choice([0, 0, 0, 1, 2]))]:
            shape = self.shape if rng.random() < 0.7 else tuple(int(d) for d in rng.integers(1, 4, rng.choice([1, 2])))
            self.inputs[name] = shape
            self.kept.append((name, shape, self.top, self.unit, self.dtype))
        self.nodes: list[Any] = []
        self.twin_nodes: list[Any] = []
        self.constants: dict[str, NDArray[Any]] = {}
        self.twin_constants: dict[str, NDArray[Any]] = {}
        self.listed: list[str] = []
        """Constants that are listed among the inputs as well."""
        self.named: list[str] = []
        """The outputs."""
        self.ends: list[str] = []
        """Those that are read, in this order."""

    def chance(self, p: float = 0.5) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < p)

    def one(self, *choices: Any) -> Any:
        """One of these."""
        return choices[int(self.rng.integers(len(choices)))]

    def name(self) -> str:
        """A name that is not used yet."""
        self.count += 1
        return f"v{self.count}"

    def node(
        self, op: str, inputs: list[str], *, twin: tuple[list[str], dict[str, Any]] | None = None, **more: Any
    ) -> str:
        """Append a node and return its output; twin: inputs and attributes of the one for the runtime."""
        output = self.name()
        self.nodes.append(helper.make_node(op, inputs, [output], **more))
        given, attributes = twin or (inputs, more)
        self.twin_nodes.append(helper.make_node(op, given, [output], **attributes))
        return output

    def step(self, op: str, inputs: list[str], shape: tuple[int, ...], **more: Any) -> None:
        """A node that the chain goes on from."""
        if self.chance(0.4):
            self.keep()
        self.current, self.shape = self.node(op, inputs, **more), tuple(int(d) for d in shape)

    def keep(self) -> None:
        """Remember the tensor at the end."""
        self.kept.append((self.current, self.shape, self.top, self.unit, self.type))

    def grows(self, top: float, unit: float, entries: int = 1) -> bool:
        """Take the new size and unit of values, if they are exact still and not too many."""
        if top > _MOST * unit or unit < 2.0**-60 or entries > _MOST_ENTRIES:
            return False
        self.top, self.unit = top, unit
        return True

    def weights(self, *shape: int) -> NDArray[Any]:
        """Random dyadic weights: multiples of 1/2 up to 2."""
        return self.rng.choice(_WEIGHTS, shape).astype(self.type)

    def initializer(self, value: Any) -> str:
        """A constant as it is stored mostly."""
        name = self.name()
        self.constants[name] = np.asarray(value)
        return name

    def constant(self, value: Any) -> str:
        """A constant in one of its dresses: initialiser, listed as an input or not, or a node, or moved or cast."""
        value = np.asarray(value)
        kind, name = self.rng.random(), self.name()
        if kind < 0.6 or value.dtype == bool:
            self.constants[name] = value
            if kind < 0.2:
                self.listed.append(name)
            return name
        if kind < 0.75:
            key = {"f": "value_float", "i": "value_int"}.get(value.dtype.kind, "")
            if self.opset >= 12 and value.ndim < 2 and value.dtype in (np.float32, np.int64) and value.size:
                key += "s" * value.ndim
                return self.node("Constant", [], **{key: value.tolist()})
            return self.node("Constant", [], value=numpy_helper.from_array(value))
        if kind < 0.8 and value.ndim == 2:
            self.constants[name] = np.ascontiguousarray(value.T)
            return self.node("Transpose", [name], **({"perm": [1, 0]} if self.chance() else {}))
        if kind < 0.9 and value.dtype.kind == "f" and not np.any(value > 1e30):
            other = np.float64 if value.dtype == np.float32 else np.float32
            self.constants[name] = value.astype(other)
            return self.node("Cast", [name], to=helper.np_dtype_to_tensor_dtype(value.dtype), **self.saturate())
        if kind < 0.95 and value.ndim and value.shape[0] > 1 and value.dtype.kind == "f":
            self.constants[name] = value[::-1].copy()
            order = self.constant(np.arange(len(value))[::-1].astype(self.one(np.int32, np.int64)))
            return self.node("Gather", [name, order], **({"axis": 0} if self.chance() else {}))
        self.constants[name] = value
        return self.node("Identity", [name])

    def saturate(self) -> dict[str, Any]:
        """Attributes of Cast that say nothing about the types that are read."""
        return {"saturate": 1} if self.opset >= 19 and self.chance() else {}

    def axis(self, count: int) -> int:
        """An axis below `count`, perhaps counted from the end where the opset knows that."""
        axis = int(self.rng.integers(count))
        return axis - count if self.opset >= 11 and self.chance() else axis


def gemm(g: Graph) -> None:
    """``alpha * A' B' + beta * C``, the tensor being A or B."""
    if len(g.shape) != 2:
        return
    left, flipped, turned = g.chance(0.3), g.chance(), g.chance(0.3)
    rows, columns = g.shape[::-1] if turned else g.shape
    width = int(g.rng.integers(1, 5))
    w = g.weights(width, rows) if left else g.weights(columns, width)
    shape = (width, columns) if left else (rows, width)
    alpha, beta = g.one(1.0, 1.0, 0.5, -1.0, 2.0, -0.25), g.one(1.0, 1.0, -1.0, 0.5, 4.0, 0.0)
    c = g.opset < 11 or g.chance(0.8)
    product = g.top * float(np.abs(w).sum(1 if left else 0).max())
    if not g.grows(max(product, abs(alpha) * product + 2 * abs(beta) * c), g.unit * min(0.5 * abs(alpha), 0.5) * 0.25):
        return
    w = w.T if flipped else w
    attributes = {"transA" if left else "transB": int(flipped), "transB" if left else "transA": int(turned)}
    attributes = {k: v for k, v in attributes.items() if v or g.chance()}
    attributes |= {k: v for k, v in (("alpha", alpha), ("beta", beta)) if v != 1 or g.chance(0.2)}
    inputs = [g.constant(w), g.current] if left else [g.current, g.constant(w)]
    more: dict[str, Any] = dict(attributes)
    if c:
        fitting = [(shape[1],), (), (1,), (1, 1), (1, shape[1]), (shape[0], 1), shape]
        if g.opset == 6:
            more["broadcast"] = g.one(0, 1)
            fitting = [*fitting[:4], shape] if more["broadcast"] else [shape]
        inputs.append(g.constant(g.weights(*g.one(*fitting))))
    g.step("Gemm", inputs, shape, twin=(inputs, attributes), **more)


def matmul(g: Graph) -> None:
    """A matrix or a vector on either side."""
    left, vector, width = g.chance(0.3), g.chance(0.2), int(g.rng.integers(1, 5))
    inner = g.shape[-2] if left and len(g.shape) > 1 else g.shape[-1] if g.shape else 0
    if not inner:
        return
    w = g.weights(inner) if vector else g.weights(width, inner) if left else g.weights(inner, width)
    pair = (w, np.zeros(g.shape)) if left else (np.zeros(g.shape), w)
    shape = np.matmul(*pair).shape
    size = float(np.abs(w).sum(None if vector else 1 if left else 0).max())
    if not g.grows(g.top * size, g.unit / 2, prod(shape)):
        return
    name = g.constant(w)
    g.step("MatMul", [name, g.current] if left else [g.current, name], shape)


def elementwise(g: Graph) -> None:
    """Add, Sub, Mul or Div with a constant, broadcast by the rules of the opset."""
    op, left = g.one("Add", "Sub", "Mul", "Div"), g.chance(0.3)
    left &= op != "Div"
    attributes: dict[str, Any] = {}
    c_shape, twin_shape = g.shape, g.shape
    if g.opset == 6:
        if g.chance(0.8) and not left:
            attributes["broadcast"] = 1
            count = g.one(1, int(g.rng.integers(0, len(g.shape) + 1))) if g.shape else 0
            at = int(g.rng.integers(0, len(g.shape) - count + 1))
            c_shape = g.shape[at : at + count]
            if at + count < len(g.shape) or g.chance(0.3):
                attributes["axis"] = at
            twin_shape = c_shape + (1,) * (len(g.shape) - at - count)
        elif g.chance(0.2):
            attributes["broadcast"] = 0
    else:
        c_shape = tuple(1 if g.chance(0.3) else d for d in g.shape[int(g.rng.integers(0, len(g.shape) + 1)) :])
        if g.chance(0.15):
            c_shape = (int(g.rng.integers(1, 3)), *(1 if g.chance() else d for d in g.shape))
        twin_shape = c_shape
    shape = np.broadcast_shapes(g.shape, twin_shape)
    c = g.weights(*c_shape)
    if op == "Div":
        c = np.asarray(g.rng.choice([-4.0, -2.0, -1.0, 0.5, 1.0, 2.0, 8.0], c_shape)).astype(g.type)
    top, unit = {"Mul": (2 * g.top, g.unit / 2), "Div": (2 * g.top, g.unit / 8)}.get(op, (g.top + 2, min(g.unit, 0.5)))
    if not g.grows(top, unit, prod(shape)):
        return
    name = g.constant(c)
    twin = name
    if twin_shape != c_shape:
        twin = g.name()
        g.twin_constants[twin] = c.reshape(twin_shape)
    inputs, others = ([name, g.current], [twin, g.current]) if left else ([g.current, name], [g.current, twin])
    g.step(op, inputs, shape, twin=(others, {}), **attributes)


def relu(g: Graph) -> None:
    """A ReLU in one of its dresses."""
    zero = np.zeros((), g.type)
    kind = g.one("Relu", "Max", "Clip")
    if kind == "Max":
        shapes = [g.shape] if g.opset < 8 else [g.shape, (), (1,), (1,) * len(g.shape), g.shape[1:]]
        shapes = [s for s in shapes if len(s) <= len(g.shape)]
        names = [g.constant(np.zeros(g.one(*shapes), g.type)) for _ in range(g.one(0, 1, 1, 2))]
        names.insert(int(g.rng.integers(len(names) + 1)), g.current)
        g.step("Max", names, g.shape)
    elif kind == "Clip" and g.opset < 11:
        single = [{}, {"max": 3.4028234663852886e38}] if g.type == np.float32 else []
        g.step("Clip", [g.current], g.shape, min=0.0, **g.one({"max": np.inf}, *single))
    elif kind == "Clip":
        largest = np.asarray(g.one(np.inf, np.finfo(g.type).max), g.type)
        g.step("Clip", [g.current, g.constant(zero), *g.one([], [""], [g.constant(largest)])], g.shape)
    else:
        g.step("Relu", [g.current], g.shape)


def nothing(g: Graph) -> None:
    """Identity, Dropout, and Cast to the same or the other type."""
    kind = g.one("Identity", "Dropout", "Cast")
    if kind == "Identity":
        g.step("Identity", [g.current], g.shape)
    elif kind == "Cast":
        to = np.dtype(g.one("float32", "float64"))
        g.step("Cast", [g.current], g.shape, to=helper.np_dtype_to_tensor_dtype(to), **g.saturate())
        g.type = to
    elif g.opset < 12:
        ratio = {"ratio": g.one(0.0, 0.5)} if g.chance() else {}
        more = {"is_test": 1} if g.opset == 6 else {}
        g.step("Dropout", [g.current], g.shape, twin=([g.current], ratio), **ratio, **more)
    else:
        inputs = [g.current, *g.one([], [""], [g.initializer(np.float32(0.5))])]
        if len(inputs) > 1 and g.chance():
            inputs.append(g.constant(np.array(False)))
        g.step("Dropout", inputs, g.shape, **({"seed": 7} if g.chance() else {}))


def flatten(g: Graph) -> None:
    """Flatten at any axis."""
    axis = int(g.rng.integers(0, len(g.shape) + 1))
    shape = (prod(g.shape[:axis]), prod(g.shape[axis:]))
    given = axis - len(g.shape) if g.opset >= 11 and axis < len(g.shape) and g.chance() else axis
    if len(g.shape) or axis == 0:
        g.step("Flatten", [g.current], shape, **({} if axis == 1 and g.chance() else {"axis": given}))


def transpose(g: Graph) -> None:
    """Any order, or the reverse one."""
    order = [int(i) for i in g.rng.permutation(len(g.shape))]
    if not order or g.chance(0.3):
        g.step("Transpose", [g.current], g.shape[::-1])
    else:
        g.step("Transpose", [g.current], tuple(g.shape[i] for i in order), perm=order)


def _other_shape(g: Graph) -> list[int]:
    """A random factorisation of the number of entries."""
    left, dims = prod(g.shape), []
    while left > 1 and len(dims) < 3:
        divisors = [d for d in range(1, left + 1) if left % d == 0]
        dims.append(g.one(*divisors))
        left //= dims[-1]
    return [*dims, left] if left > 1 or g.chance(0.3) or not dims else dims


def reshape(g: Graph) -> None:
    """Reshape to other dimensions, some of them left to it."""
    shape, attributes = _other_shape(g), {}
    asked = list(shape)
    if g.opset >= 14 and g.chance(0.3):
        attributes["allowzero"] = g.one(0, 1)
    if not attributes.get("allowzero"):
        asked = [0 if i < len(g.shape) and g.shape[i] == d and g.chance(0.4) else d for i, d in enumerate(shape)]
    if g.chance(0.4):
        asked[int(g.rng.integers(len(asked)))] = -1
    g.step("Reshape", [g.current, g.constant(np.array(asked, np.int64))], tuple(shape), **attributes)


def _with_axes(g: Graph, op: str, axes: list[int], shape: tuple[int, ...]) -> None:
    if g.opset < 13:
        g.step(op, [g.current], shape, axes=axes)
    else:
        g.step(op, [g.current, g.constant(np.array(axes, np.int64))], shape)


def squeeze(g: Graph) -> None:
    """Some dimensions of 1, or all."""
    ones = [i for i, d in enumerate(g.shape) if d == 1]
    if not ones or g.chance(0.2):
        g.step("Squeeze", [g.current], tuple(d for d in g.shape if d != 1))
        return
    chosen = [i for i in ones if g.chance()] or ones[:1]
    given = [i - len(g.shape) if g.opset >= 11 and g.chance() else i for i in chosen]
    _with_axes(g, "Squeeze", given, tuple(d for i, d in enumerate(g.shape) if i not in chosen))


def unsqueeze(g: Graph) -> None:
    """One or two new dimensions."""
    if len(g.shape) > 4:
        return
    rank = len(g.shape) + g.one(1, 1, 2)
    chosen = sorted(int(i) for i in g.rng.choice(rank, rank - len(g.shape), replace=False))
    given = [i - rank if g.opset >= 11 and g.chance() else i for i in chosen]
    _with_axes(g, "Unsqueeze", given, np.expand_dims(np.zeros(g.shape), tuple(chosen)).shape)


def conv(g: Graph) -> None:
    """A convolution over one or two dimensions of space."""
    if len(g.shape) not in (3, 4) or g.shape[0] != 1:
        return
    space = g.shape[2:]
    kernel = [int(g.rng.integers(1, min(3, d) + 1)) for d in space]
    strides, dilations = ([int(g.rng.integers(1, 3)) for _ in space] for _ in range(2))
    pads = [int(v) for v in g.rng.integers(0, 2, 2 * len(space))]
    auto = g.one(None, None, "NOTSET", "VALID")
    if auto == "VALID":
        pads = [0] * len(pads)
    padded = [d + a + b for d, a, b in zip(space, pads, pads[len(space) :], strict=False)]
    out = [(p - d * (k - 1) - 1) // s + 1 for p, d, k, s in zip(padded, dilations, kernel, strides, strict=True)]
    w = g.weights(int(g.rng.integers(1, 4)), g.shape[1], *kernel)
    size = float(np.abs(w).reshape(len(w), -1).sum(1).max())
    if min(out) < 1 or not g.grows(g.top * size + 2, min(g.unit / 2, 0.5), len(w) * prod(out)):
        return
    more: dict[str, Any] = {} if auto is None else {"auto_pad": auto}
    for key, value, default in (("strides", strides, 1), ("dilations", dilations, 1), ("pads", pads, 0)):
        if any(v != default for v in value) or (g.chance(0.3) and not (key == "pads" and auto == "VALID")):
            more[key] = value
    more |= {k: v for k, v in (("kernel_shape", kernel), ("group", 1)) if g.chance()}
    bias = g.one([], [g.constant(g.weights(len(w)))], [""] if g.opset >= 11 else [])
    g.step("Conv", [g.current, g.constant(w), *bias], (1, len(w), *out), **more)


def view(g: Graph) -> None:
    """Dimensions read off the tensor's shape, in a pattern of exporters, that it is reshaped to."""
    rank = len(g.shape)
    ends: dict[str, int] = {}
    if g.opset >= 15:
        ends = {k: int(g.rng.integers(-rank - 2, rank + 3)) for k in ("start", "end") if g.chance()}
    dims = g.shape[slice(ends.get("start", 0), ends.get("end"))]
    values = g.node("Shape", [g.current], **ends)
    if g.chance(0.3):
        values = g.node("Cast", [values], to=TensorProto.INT64, **g.saturate())
    if dims and g.chance(0.7):
        chosen = [int(i) for i in g.rng.permutation(len(dims))[: g.one(1, 1, 2, len(dims))]]
        given = [i - len(dims) if g.opset >= 11 and g.chance(0.3) else i for i in chosen]
        dims = tuple(dims[i] for i in chosen)
        if len(chosen) == 1 and g.chance():  # as x.size(i)
            values = g.node("Gather", [values, g.constant(np.array(given[0], g.one(np.int32, np.int64)))])
            axes = {"axes": [0]} if g.opset < 13 else {}
            values = g.node("Unsqueeze", [values, *([] if axes else [g.constant(np.array([0]))])], **axes)
        else:
            values = g.node("Gather", [values, g.constant(np.array(given, np.int64))], axis=0)
    shape = (*dims, prod(g.shape) // prod(dims)) if prod(g.shape) % prod(dims) == 0 else g.shape
    if shape == g.shape and prod(g.shape) % prod(dims):  # such dimensions do not divide the entries
        values = g.node("Shape", [g.current])
    elif dims:
        values = g.node("Concat", [values, g.constant(np.array([-1]))], axis=g.axis(1))
    else:
        values = g.constant(np.array([-1]))
    g.step("Reshape", [g.current, values], shape)
    if g.chance(0.7):  # an order of entries that tells shapes apart
        g.step("Transpose", [g.current], g.shape[::-1])
