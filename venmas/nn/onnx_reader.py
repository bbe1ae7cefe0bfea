"""ONNX files as networks: graphs of affine and piecewise linear operators, in whatever dress exporters give them.

Several inputs follow each other in the input of the network, in the order of the file. Of several outputs the caller
chooses by name; what these do not need is not read. The batch is one input: a first dimension that is not fixed counts
as 1, and an input whose dimensions are all fixed is one input with as many numbers as it has entries. What a node may
hold is said by `venmas.nn.onnx_table`; operators over constants (`onnx_constants`) are carried out while reading, so
that shapes computed from the input's shape can be followed, those on tensors that are computed (`onnx_operators`)
become layers.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from math import prod
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.nn.chain import Budget, check_size
from venmas.nn.files import read_bytes
from venmas.nn.network import Network
from venmas.nn.onnx_constants import CARRIED_OUT, Constants, shape_of
from venmas.nn.onnx_operators import OF_SEVERAL, OPERATORS, Passage
from venmas.nn.onnx_table import FLOAT, FLOATS, INT, INTS, NEWEST, OLDEST, RECURRENT, STRING, STRINGS, TENSOR, fit
from venmas.nn.onnx_tensors import EXTERNAL, FLOAT_TYPES, read_tensor
from venmas.nn.onnx_wire import check_fields

_MOST, _MOST_ENDS = 10_000, 100
DOMAINS = ("", "ai.onnx")
_LOGITS = "is not piecewise linear: export the model up to the values before it (the logits)"
_REMEDIES = {
    "Softmax": _LOGITS,
    "LogSoftmax": _LOGITS,
    **dict.fromkeys(RECURRENT, "has a memory: read the file with load_recurrent, and use it by system.recurrent"),
    "ArgMax": "belongs into the scenario (argmax): export the model up to the values before it (the logits)",
}
_KNOWN: WeakValueDictionary[tuple[object, ...], Network] = WeakValueDictionary()
"""Networks that are in use, by file, sha256 of its content and names: who builds a system again has them at once."""
_VALUES: dict[int, Callable[[Any], Any]] = {
    FLOAT: lambda a: a.f,
    INT: lambda a: a.i,
    STRING: lambda a: a.s.decode("latin-1"),
    TENSOR: lambda a: a.t,
    FLOATS: lambda a: np.array(a.floats, dtype=np.float32),
    INTS: lambda a: list(a.ints),
    STRINGS: lambda a: [text.decode("latin-1") for text in a.strings],
}
"""The value of an attribute by its type; of a tensor, as it is stored."""


def read_onnx(path: Path, outputs: Sequence[str] | None = None, inputs: Sequence[str] | None = None) -> Network:
    """Read an ONNX model (opset 6 or later). Raises `NetworkError`, naming the node.

    outputs: names of those that the network has, one after the other; where the model has one, it need not be named.
    inputs: names of all of them in another order than that of the file.
    """
    data = read_bytes(path)
    key = str(path), hashlib.sha256(data).digest(), tuple(outputs or ()), tuple(inputs or ())
    known = _KNOWN.get(key)
    if known is not None:
        return known
    model = parse_model(path, data)
    try:
        reader = Reader(model, path)
        network = reader.read(outputs, inputs)
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from error
    if not reader.scattered:
        _KNOWN[key] = network
    return network


def parse_model(path: Path, data: bytes) -> Any:
    """The model that a file holds, as `onnx.ModelProto`. Raises `NetworkError`."""
    import onnx

    model = onnx.ModelProto()
    try:
        check_fields(data, model.DESCRIPTOR)
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from error
    try:
        model.ParseFromString(data)
    except Exception as error:  # protobuf has one error type for its Python and another for its C implementation
        raise NetworkError(f"{path} is not an ONNX model, or is truncated: {error}") from error
    return model


class Reader:
    """One reading of a graph. Methods raise `NetworkError`."""

    def __init__(self, model: Any, path: Path) -> None:
        self.model, self.graph, self.path = model, model.graph, path
        self.budget = Budget()
        self.constants = Constants(self.budget)
        self.passage = Passage(self.constants)
        self.shapes: dict[str, tuple[int, ...]] = {}  # of everything computed from the inputs so far
        self.scattered = False
        """Are some weights in other files?"""

    def begin(self) -> None:
        """Check what the model is, and read its constants."""
        graph = self.graph
        if not graph.node:
            raise NetworkError("the model has no nodes: not an ONNX model, or an empty one")
        if len(graph.node) > _MOST:
            raise NetworkError(f"the model has {len(graph.node)} nodes: at most {_MOST} are supported")
        self.opset = _opset(self.model)
        if graph.sparse_initializer:
            raise NetworkError("sparse weights are not supported: save the model with dense ones")
        for tensor in graph.initializer:
            if tensor.name in self.constants:
                raise NetworkError(f"two constants have the name {tensor.name!r}: expected one")
            self.constants[tensor.name] = self._tensor(tensor)

    def read(self, outputs: Sequence[str] | None, inputs: Sequence[str] | None, hidden: Sequence[str] = ()) -> Network:
        """The network from the inputs to the outputs, and to hidden tensors after them."""
        graph = self.graph
        self.begin()
        ends = [*chosen("outputs", [o.name for o in graph.output], outputs, whole=False), *hidden]
        self._inputs(inputs)
        nodes = needed(graph, ends)
        last = {name: number for number, node in nodes if node.op_type != "Shape" for name in node.input}
        last |= dict.fromkeys(ends, len(graph.node))
        self.passage.drop({*self.shapes} - {*last})
        for number, node in nodes:
            try:
                self.node(node, {name for name in (*node.input, *node.output) if last.get(name, -1) <= number})
            except NetworkError as error:
                name = node.name or (node.output[0] if node.output else f"number {number + 1}")
                raise NetworkError(f"node {name!r} ({node.op_type}): {error}") from error
        if left := [name for name in ends if name not in self.shapes]:
            raise NetworkError(f"the output {left[0]!r} is not computed from the inputs by any node")
        self.passage.leave(ends)
        double = np.dtype(np.float64) in self.passage.used
        return self.passage.chain.network(self.path.stem, "float64" if double else "float32", str(self.path))

    def _tensor(self, tensor: Any) -> NDArray[Any]:
        self.scattered |= tensor.data_location == EXTERNAL
        return read_tensor(tensor, self.path.parent, self.budget)

    def _inputs(self, names_given: Sequence[str] | None) -> None:
        given = {i.name: i.type.tensor_type for i in self.graph.input}
        names = [i.name for i in self.graph.input if i.name not in self.constants]
        inputs = {}
        for name in chosen("inputs", names, names_given, whole=True):
            tensor, what = given[name], f"input {name!r}"
            if tensor.elem_type not in FLOAT_TYPES:
                raise NetworkError(f"{what} has element type {tensor.elem_type}: expected FLOAT (1) or DOUBLE (11)")
            dims = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
            if len(dims) > 1 and dims[0] < 1:
                dims[0] = 1
            if not dims or min(dims) < 1:
                raise NetworkError(
                    f"{what} has the shape {dims} (-1: not fixed): expected fixed dimensions, but for the batch"
                )
            check_size(prod(dims), what)
            self.shapes[name] = tuple(dims)
            inputs[name] = tuple(dims), tensor.elem_type
        check_size(sum(prod(shape) for shape, _ in inputs.values()), "the input")
        self.passage.enter(inputs)

    def node(self, node: Any, done: Set[str]) -> None:
        """Carry out a node, or let what it takes pass it; done: names that are not used later."""
        op, inputs = node.op_type, list(node.input)
        if node.domain not in DOMAINS:
            raise NetworkError(f"operators of the domain {node.domain!r} are not supported")
        for name in inputs:
            if name and name not in self.constants and name not in self.shapes:
                raise NetworkError(
                    f"uses {name!r}, which no earlier node defines: the graph has a cycle, is not sorted, or uses an "
                    "output that is not supported"
                )
        if not node.output or any(o and (o in self.constants or o in self.shapes) for o in node.output):
            raise NetworkError(f"writes {list(node.output)}, expected an output of its own")
        output, variable = node.output[0], [*dict.fromkeys(name for name in inputs if name in self.shapes)]
        given = self.attributes(node)
        if variable and op in _REMEDIES:
            raise NetworkError(_REMEDIES[op])
        if op not in (("Shape", *OPERATORS) if variable else CARRIED_OUT):
            raise NetworkError(_unsupported(op, bool(variable)))
        call = fit(op, self.opset, inputs, len(node.output), given, self.constants.__contains__)
        if op == "BatchNormalization" and any(node.output[1:]):
            raise NetworkError(f"gives {list(node.output[1:])} beside, as in training: export the model for inference")
        if not variable:
            self.constants[output] = self.constants.carry_out(call)
        elif op == "Shape":
            self.constants[output] = shape_of(call, self.shapes[call.inputs[0]])
        elif op not in OF_SEVERAL and sum(name in self.shapes for name in inputs) > 1:
            raise NetworkError(
                f"takes {[name for name in inputs if name in self.shapes]}: expected one computed value, as products "
                f"of several are not piecewise linear; those that take several are {', '.join(OF_SEVERAL)}"
            )
        else:
            self.shapes[output] = self.passage.apply(call, output, variable, done)

    def attributes(self, node: Any) -> dict[str, tuple[int, Any]]:
        """Type and value of the attributes of a node by name."""
        values: dict[str, tuple[int, Any]] = {}
        for a in node.attribute:
            if a.name in values or a.ref_attr_name:
                raise NetworkError(f"attribute {a.name!r} is given twice, or by reference: expected one value")
            if a.type not in _VALUES:
                raise NetworkError(f"attribute {a.name!r} holds a graph or another value that is not supported")
            values[a.name] = a.type, self._tensor(a.t) if a.type == TENSOR else _VALUES[a.type](a)
        return values


def chosen(what: str, there: list[str], given: Sequence[str] | None, whole: bool) -> list[str]:
    """The names that the caller gives, or all, or the only one."""
    names = ", ".join(map(repr, there[:_MOST_ENDS]))
    if len(set(there)) < len(there) or not 0 < len(there) <= _MOST_ENDS:
        raise NetworkError(f"the model has {len(there)} {what} [{names}]: expected 1 to {_MOST_ENDS}, each with a name")
    if given is None:
        if len(there) > 1 and not whole:
            raise NetworkError(
                f"the model has {len(there)} {what} [{names}]: expected one, or {what}=[...] to say which (those of a "
                "policy are the logits)"
            )
        return there
    if wrong := [name for name in given if name not in there]:
        raise NetworkError(f"{what}: {wrong[0]!r} is none of those of the model, [{names}]")
    if not given or len(set(given)) < len(given) or (whole and len(given) < len(there)):
        raise NetworkError(f"{what}: {list(given)}: expected {'all' if whole else 'some'} of [{names}], each once")
    return list(given)


def needed(graph: Any, ends: list[str]) -> list[tuple[int, Any]]:
    """The nodes that outputs depend on, with their numbers, in the order of the file."""
    makers: dict[str, list[int]] = defaultdict(list)
    for number, node in enumerate(graph.node):
        for name in filter(None, node.output):
            makers[name].append(number)
    seen: set[int] = set()
    stack = list(ends)
    while stack:
        for number in makers.pop(stack.pop(), ()):
            if number not in seen:
                seen.add(number)
                stack.extend(graph.node[number].input)
    return [(number, graph.node[number]) for number in sorted(seen)]


def _opset(model: Any) -> int:
    """The operator set that the nodes are of."""
    if any(function.domain in DOMAINS for function in model.functions):
        raise NetworkError("the model defines operators of ONNX anew, as functions: export it without")
    versions = sorted({opset.version for opset in model.opset_import if opset.domain in DOMAINS})
    if len(versions) != 1:
        raise NetworkError(f"the model names the operator sets {versions}: expected one version")
    if not OLDEST <= versions[0] <= NEWEST:
        raise NetworkError(
            f"opset {versions[0]}: expected {OLDEST} to {NEWEST}; convert it with onnx.version_converter"
        )
    return int(versions[0])


def _unsupported(op: str, computed: bool) -> str:
    if computed and op in CARRIED_OUT:
        return f"{op} of a computed value is not supported: only of constants and shapes"
    where = "" if computed else "over constants only: "
    supported = sorted({"Shape", *OPERATORS} if computed else CARRIED_OUT)
    return f"{where}operator {op!r} is not supported; supported are {', '.join(supported)}"
