"""Random ONNX graphs: every operator that is read, with all its attributes, in opsets 6 to 22.

Values are multiples of a unit with few bits, which is tracked, so that every runtime computes them exactly. The runtime
is onnxruntime; where it has no kernel of float64 it runs the graph in float32, and where it has none at all the
reference of the package onnx. Neither knows the rules of
broadcasting of opset 6: there the runtime gets a twin of the graph in opset 7, which the generator writes beside it.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import helper, numpy_helper, printer
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from tests.nn.fuzz.onnx_damage import damage
from tests.nn.fuzz.onnx_pieces import STEPS
from tests.nn.fuzz.onnx_steps import Graph
from venmas.errors import NetworkError
from venmas.nn import Network, load_network
from venmas.nn.deployed import run_deployed
from venmas.nn.runtime import OnnxRuntime

ort.set_default_logger_severity(4)
_POINTS = 3


def case(rng: np.random.Generator, folder: Path) -> str:
    """One random graph: see `tests.nn.fuzz.run`."""
    graph = random_graph(rng)
    path = folder / "net.onnx"
    model, twin = model_of(graph, False), model_of(graph, True)
    damaged = damage(rng, graph, model) if rng.random() < 0.25 else ""
    path.write_bytes(model.SerializeToString())
    text = f"opset {graph.opset}\n{printer.to_text(model)}"
    inputs = [str(name) for name in rng.permutation([*graph.inputs])] if rng.random() < 0.3 else None
    try:
        network = load_network(
            path, outputs=graph.ends if len(graph.named) > 1 or rng.random() < 0.2 else None, inputs=inputs
        )
    except NetworkError as error:
        if damaged:
            return f"refused: on purpose: {damaged}"
        reason = str(error).split("net.onnx: ", 1)[-1]
        return f"refused: {reason}"
    assert not damaged, f"read in spite of {damaged}\n{text}"
    xs = {name: rng.integers(-16, 17, (_POINTS, *shape)) / 4 for name, shape in graph.inputs.items()}
    expected = outputs(twin, {name: x.astype(graph.dtype) for name, x in xs.items()}, graph.ends, text)
    points = np.concatenate([xs[name].reshape(_POINTS, -1) for name in inputs or xs], axis=1)
    deployable = graph.opset > 6 and inputs is None and len(graph.named) == 1
    compare(network, path if deployable else None, points, expected, text, rng.random() < 0.1)
    return "agrees"


def random_graph(rng: np.random.Generator) -> Graph:
    """At most nine steps, with some that come back to earlier tensors."""
    graph = Graph(rng)
    often = ["gemm", "gemm", "elementwise", "view", "conv", "conv", "pool", "pool", "bend", "skip", "skip"]
    for step in rng.choice([*STEPS, *often], rng.integers(1, 10)):
        STEPS[step](graph)
    if graph.current == "x":
        graph.step("Identity", [graph.current], graph.shape)
    graph.named = graph.ends = [graph.current]
    others = [k[0] for k in graph.kept if k[0] not in graph.inputs and k[0] != graph.current]
    if others and graph.chance(0.2):
        graph.named = [*dict.fromkeys([graph.current, *others[: graph.one(1, 2)]])]
        graph.ends = [str(name) for name in rng.permutation(graph.named)[: graph.one(1, 2)]]
    return graph


def model_of(graph: Graph, twin: bool) -> onnx.ModelProto:
    """The graph as a file, or its twin for runtimes, which differs in opset 6 only."""
    kind = helper.np_dtype_to_tensor_dtype(graph.dtype)
    declared = graph.inputs | {"x": graph.declared_shape}
    types = {k[0]: k[4] for k in graph.kept} | {graph.current: graph.type}
    ends = [helper.make_tensor_value_info(name, kind, shape) for name, shape in declared.items()]
    results = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(types[name]), None) for name in graph.named
    ]
    constants = graph.constants | (graph.twin_constants if twin else {})
    inputs = ends + [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(constants[name].dtype), constants[name].shape
        )
        for name in graph.listed
    ]
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    built = helper.make_graph(graph.twin_nodes if twin else graph.nodes, "random", inputs, results, tensors)
    opset = helper.make_opsetid("", max(graph.opset, 7) if twin else graph.opset)
    return helper.make_model(built, opset_imports=[opset], ir_version=8)


class Unsqueeze(OpRun):
    """That of the reference adds negative axes one after the other, each to a rank of its own."""

    op_domain = ""

    def _run(self, data: NDArray[Any], axes: Any = None) -> tuple[NDArray[Any]]:
        return (np.expand_dims(data, tuple(np.ravel(axes))),)


def _options() -> ort.SessionOptions:
    """Nothing is optimised: that confuses a Dropout whose ratio is computed, and fails on Clip in float64."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return options


def in_single(model: onnx.ModelProto) -> bytes:
    """The model with all of its floats in single precision, which holds its numbers exactly."""
    single = onnx.ModelProto()
    single.CopyFrom(model)
    ends = [*single.graph.input, *single.graph.output]
    for end in ends:
        if end.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE:
            end.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    tensors = [*single.graph.initializer]
    for node in single.graph.node:
        for a in node.attribute:
            tensors += [a.t] if a.type == onnx.AttributeProto.TENSOR else []
            if node.op_type == "Cast" and a.name == "to" and a.i == onnx.TensorProto.DOUBLE:
                a.i = onnx.TensorProto.FLOAT
    for tensor in tensors:
        if tensor.data_type == onnx.TensorProto.DOUBLE:
            with np.errstate(over="ignore"):  # what stands for no limit
                value = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    return bytes(single.SerializeToString())


def outputs(model: onnx.ModelProto, xs: dict[str, NDArray[Any]], ends: list[str], text: str) -> NDArray[Any]:
    """What another reader of the file computes at each point, flat, of these outputs one after the other."""
    data = model.SerializeToString()
    points = [{name: x[at] for name, x in xs.items()} for at in range(_POINTS)]

    def run(session: Any) -> NDArray[Any]:
        return np.array([np.concatenate([np.ravel(y) for y in session.run(ends, point)]) for point in points])

    try:
        return run(ort.InferenceSession(data, _options(), providers=["CPUExecutionProvider"]))
    except ort.capi.onnxruntime_pybind11_state.NotImplemented:
        pass
    points = [{name: x.astype(np.float32) for name, x in point.items()} for point in points]
    try:
        return run(ort.InferenceSession(in_single(model), _options(), providers=["CPUExecutionProvider"]))
    except ort.capi.onnxruntime_pybind11_state.NotImplemented:
        points = [{name: x[at] for name, x in xs.items()} for at in range(_POINTS)]
        return run(ReferenceEvaluator(model, new_ops=[Unsqueeze]))
    except Exception as error:
        raise AssertionError(f"read, but onnxruntime says {error}\n{text}") from error


def compare(
    network: Network, path: Path | None, xs: NDArray[Any], expected: NDArray[Any], text: str, runtime: bool
) -> None:
    """Every evaluation of the network gives what the runtime gave, exactly; path: the file, if a runtime takes it."""
    points = xs
    found: dict[str, Any] = {"float64": network.evaluate(points), "float32": network.evaluate_float32(points)}
    exact = [[Fraction(v) for v in row] for row in points.tolist()]
    found["exact"] = [list(map(float, network.evaluate_exact(row))) for row in exact]
    if runtime:
        found["onnxruntime on the layers"] = OnnxRuntime().evaluate(network, points, "float32")
    for what, values in found.items():
        assert np.array_equal(values, expected), f"{what}: {values}, expected {expected} at {points}\n{text}"
    if runtime and path is not None:
        try:
            found = {"deployed": run_deployed(path, network, exact[0])[2]}
        except NetworkError as error:
            known = any(words in str(error) for words in ("NOT_IMPLEMENTED", "FuseReluClip"))
            found = {} if known else {"deployed": str(error)}
        for what, values in found.items():
            assert np.array_equal(values, expected[0]), f"{what}: {values}, expected {expected[0]}\n{text}"
