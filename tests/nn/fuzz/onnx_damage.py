"""One thing in a graph that the reader does not know: each must be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper

from tests.nn.fuzz.onnx_steps import Graph
from venmas.nn.onnx_table import FLOAT, INT, INTS, NEWEST, OLDEST, STRING, TABLE, form_of

_VALUES: dict[int, Any] = {FLOAT: 0.5, INT: 0, INTS: [0], STRING: "NOTSET"}
_WRONG: list[tuple[str, str, Any]] = [
    ("Gemm", "transA", 2),
    ("Gemm", "transB", -1),
    ("Gemm", "alpha", float("nan")),
    ("Gemm", "alpha", float("inf")),
    ("Gemm", "beta", 1),
    ("Conv", "group", 2),
    ("Conv", "auto_pad", "SAME_UPPER"),
    ("Conv", "auto_pad", "SAME_LOWER"),
    ("Conv", "strides", [0]),
    ("Conv", "kernel_shape", [7]),
    ("Cast", "to", 16),
    ("Cast", "saturate", 0),
    ("Transpose", "perm", [0, 0]),
    ("Flatten", "axis", 9),
    ("Flatten", "axis", -9),
    ("Clip", "min", float("nan")),
    ("Clip", "max", float("-inf")),
    ("LeakyRelu", "alpha", float("nan")),
    ("MaxPool", "auto_pad", "SAME_UPPER"),
    ("MaxPool", "ceil_mode", 1),
    ("MaxPool", "kernel_shape", [9] * 7),
    ("MaxPool", "strides", [0]),
    ("AveragePool", "auto_pad", "SAME_LOWER"),
    ("AveragePool", "ceil_mode", 1),
    ("AveragePool", "count_include_pad", 2),
    ("AveragePool", "kernel_shape", [9] * 7),
    ("BatchNormalization", "training_mode", 1),
    ("BatchNormalization", "is_test", 0),
    ("BatchNormalization", "spatial", 0),
    ("BatchNormalization", "epsilon", float("inf")),
    ("Dropout", "is_test", 0),
    ("Reshape", "allowzero", 2),
    ("Concat", "axis", 9),
]
_OTHERS = ("Elu", "Sigmoid", "Tanh", "Softplus", "Exp", "Floor", "Sign", "HardSigmoid", "Ceil", "Erf", "Sqrt")


def damage(rng: np.random.Generator, graph: Graph, model: ModelProto) -> str:
    """Change the model in one way and return what was done, or "" where the way that was chosen does not apply."""
    ways = (_attribute, _of_another_opset, _value, _operator, _input, _output, _domain, _opset, _twice)
    way = ways[int(rng.integers(len(ways)))]
    return way(rng, graph, model)


def _live(graph: Graph, model: ModelProto) -> list[NodeProto]:
    """Nodes that the outputs in question depend on: the others are not looked at."""
    needed, live = {*graph.ends}, []
    for node in reversed(model.graph.node):
        if needed & {*node.output}:
            needed |= {*node.input}
            live.append(node)
    return live


def _any(
    rng: np.random.Generator, nodes: Any, fits: Callable[[NodeProto], bool] = lambda node: True
) -> NodeProto | None:
    fitting = [node for node in nodes if fits(node)]
    return fitting[int(rng.integers(len(fitting)))] if fitting else None


def _set(node: NodeProto, name: str, value: Any) -> None:
    kept = [a for a in node.attribute if a.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute(name, value)])


def _attribute(rng: np.random.Generator, graph: Graph, model: ModelProto) -> str:
    node = _any(rng, _live(graph, model))
    assert node is not None
    _set(
        node, str(rng.choice(["foo", "Axis", "alpha ", "consumed_inputs"])), [0.5, 1, "x", [1, 2]][int(rng.integers(4))]
    )
    return "an attribute that no operator has"


def _of_another_opset(rng: np.random.Generator, graph: Graph, model: ModelProto) -> str:
    node = _any(rng, _live(graph, model))
    assert node is not None
    here = form_of(node.op_type, graph.opset).attributes
    others = {n: a for form in TABLE[node.op_type] for n, a in form.attributes.items() if n not in here}
    if not others:
        return ""
    name = str(rng.choice(sorted(others)))
    if others[name].kind not in _VALUES:
        return ""
    _set(node, name, _VALUES[others[name].kind])
    return "an attribute of another opset"


def _value(rng: np.random.Generator, graph: Graph, model: ModelProto) -> str:
    present = {node.op_type for node in _live(graph, model)}
    known = [(op, name, v) for op, name, v in _WRONG if op in present and name in form_of(op, graph.opset).attributes]
    if not known:
        return ""
    op, name, value = known[int(rng.integers(len(known)))]
    node = _any(rng, _live(graph, model), lambda node: node.op_type == op)
    assert node is not None
    _set(node, name, value)
    return f"{op} with {name} = {value}"


def _operator(rng: np.random.Generator, graph: Graph, model: ModelProto) -> str:
    node = _any(rng, _live(graph, model), lambda node: node.op_type in ("Relu", "Identity"))
    if node is None:
        return ""
    node.op_type = str(rng.choice(_OTHERS))
    return "an operator that is not in the table"


def _input(rng: np.random.Generator, graph: Graph, model: ModelProto) -> str:
    """An input more than there may be, or one less."""
    node = _any(rng, _live(graph, model), lambda node: "*" not in form_of(node.op_type, graph.opset).inputs)
    if node is None:
        return ""
    roles = form_of(node.op_type, graph.opset).inputs.split()
    least = sum("?" not in role for role in roles)
    if node.input and rng.random() < 0.5:
        del node.input[least - 1 :]
        return "an input less than the operator needs"
    node.input.extend(["x"] * (len(roles) + 1 - len(node.input)))
    return "an input more than the operator has"


def _output(rng: np.random.Generator, graph: Graph, model: ModelProto) -> str:
    node = _any(rng, _live(graph, model))
    assert node is not None
    node.output.extend(["more", "and_more"])
    return "three outputs"


def _domain(rng: np.random.Generator, graph: Graph, model: ModelProto) -> str:
    node = _any(rng, _live(graph, model))
    assert node is not None
    node.domain = str(rng.choice(["com.microsoft", "ai.onnx.ml", "custom"]))
    return "an operator of another domain"


def _opset(rng: np.random.Generator, graph: Graph, model: ModelProto) -> str:
    model.opset_import[0].version = int(rng.choice([-1, 0, 1, OLDEST - 1, NEWEST + 1, 1000]))
    return "an opset that the table does not describe"


def _twice(rng: np.random.Generator, graph: Graph, model: ModelProto) -> str:
    node = _any(rng, _live(graph, model), lambda node: bool(node.attribute))
    if node is None:
        return ""
    node.attribute.append(node.attribute[0])
    return "an attribute given twice"
