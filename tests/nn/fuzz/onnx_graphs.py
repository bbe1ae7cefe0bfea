"""Random ONNX graphs: every operator that is read, with all its attributes, in opsets 6 to 22.

Values are multiples of a unit with few bits, which is tracked, so that every runtime computes them exactly. The runtime
is onnxruntime; where it has no kernel (some of float64) the reference of the package onnx. Neither knows the rules of
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
from tests.nn.fuzz.onnx_steps import STEPS, Graph
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
    try:
        network = load_network(path)
    except NetworkError as error:
        if damaged:
            return f"refused: on purpose: {damaged}"
        reason = str(error).split("net.onnx: ", 1)[-1]
        return f"refused: {reason}"
    assert not damaged, f"read in spite of {damaged}\n{text}"
    xs = rng.integers(-16, 17, (_POINTS, *graph.input_shape)) / 4
    expected = outputs(twin, xs.astype(graph.dtype), text)
    compare(network, path if graph.opset > 6 else None, xs, expected, text, rng.random() < 0.1)
    return "agrees"


def random_graph(rng: np.random.Generator) -> Graph:
    """A chain of at most eight steps."""
    graph = Graph(rng)
    for step in rng.choice([*STEPS, "gemm", "gemm", "elementwise", "view", "conv"], rng.integers(1, 9)):
        STEPS[step](graph)
    if graph.current == "x":
        graph.step("Identity", [graph.current], graph.shape)
    return graph


def model_of(graph: Graph, twin: bool) -> onnx.ModelProto:
    """The graph as a file, or its twin for runtimes, which differs in opset 6 only."""
    kind = helper.np_dtype_to_tensor_dtype(graph.dtype)
    ends = [
        helper.make_tensor_value_info("x", kind, graph.declared_shape),
        helper.make_tensor_value_info(graph.current, helper.np_dtype_to_tensor_dtype(graph.type), None),
    ]
    constants = graph.constants | (graph.twin_constants if twin else {})
    inputs = ends[:1] + [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(constants[name].dtype), constants[name].shape
        )
        for name in graph.listed
    ]
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    built = helper.make_graph(graph.twin_nodes if twin else graph.nodes, "random", inputs, ends[1:], tensors)
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


def outputs(model: onnx.ModelProto, xs: NDArray[Any], text: str) -> NDArray[Any]:
    """What another reader of the file computes at each point, flat."""
    data = model.SerializeToString()
    try:
        session = ort.InferenceSession(data, _options(), providers=["CPUExecutionProvider"])
        return np.array([session.run(None, {"x": x})[0].ravel() for x in xs])
    except ort.capi.onnxruntime_pybind11_state.NotImplemented:
        session = ReferenceEvaluator(model, new_ops=[Unsqueeze])
        return np.array([np.ravel(session.run(None, {"x": x})[0]) for x in xs])
    except Exception as error:
        raise AssertionError(f"read, but onnxruntime says {error}\n{text}") from error


def compare(
    network: Network, path: Path | None, xs: NDArray[Any], expected: NDArray[Any], text: str, runtime: bool
) -> None:
    """Every evaluation of the network gives what the runtime gave, exactly; path: the file, if a runtime takes it."""
    points = xs.reshape(len(xs), -1)
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
