"""Runtimes of networks in floats: numpy, or onnxruntime, on which deployed networks mostly run (design S2).

The two may differ in the last bits, since each sums in an order of its own. The graph that onnxruntime gets here has a
Gemm and a Relu node for each layer, the usual form of an export, whatever the file of the network looked like.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from venmas.errors import NetworkError
from venmas.nn.network import SMOOTH, Array, FloatType, Network

_OPSET = 13
_IR_VERSION = 8  # read by every onnxruntime since 1.10


class Runtime(Protocol):
    """Evaluates networks in floats."""

    @property
    def name(self) -> str:
        """The name that results give it."""
        ...

    def evaluate(self, network: Network, x: Array, precision: FloatType) -> Array:
        """(batch, in) -> (batch, out); weights, inputs and results in `precision`, the answer given as float64."""
        ...


class Numpy:
    """The runtime that is always there."""

    name = "numpy"

    def evaluate(self, network: Network, x: Array, precision: FloatType) -> Array:
        """See `Runtime.evaluate`."""
        outputs = network.evaluate_float32(x) if precision == "float32" else network.evaluate(x)
        return np.asarray(outputs, dtype=np.float64)


class OnnxRuntime:
    """onnxruntime on the CPU, one thread. Raises `ImportError` where it is not installed, or cannot be loaded."""

    name = "onnxruntime"

    def __init__(self) -> None:
        import onnxruntime

        self._module, self.version = onnxruntime, str(onnxruntime.__version__)
        self._options = onnxruntime.SessionOptions()
        self._options.intra_op_num_threads = self._options.inter_op_num_threads = 1
        self._options.log_severity_level = 3  # errors, which are raised as well
        self._sessions: dict[tuple[str, FloatType], Any] = {}

    def evaluate(self, network: Network, x: Array, precision: FloatType) -> Array:
        """See `Runtime.evaluate`. Raises `NetworkError` where onnxruntime refuses the network."""
        key = network.digest, precision
        with refusals(f"network {network.name!r} in {precision}"):
            if key not in self._sessions:
                self._sessions[key] = self.session(onnx_model(network, precision))
            with np.errstate(over="ignore"):
                inputs = np.asarray(x, dtype=precision)
            return np.asarray(self._sessions[key].run(None, {"x": inputs})[0], dtype=np.float64)

    def session(self, model: bytes | str) -> Any:
        """An `onnxruntime.InferenceSession` of the content of an .onnx file, or of the file at a path."""
        return self._module.InferenceSession(model, self._options, providers=["CPUExecutionProvider"])


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """Raise whatever onnxruntime raises about `what` as `NetworkError`."""
    try:
        yield
    except Exception as error:  # it has a dozen classes of errors, some of them plain RuntimeErrors
        raise NetworkError(f"onnxruntime does not run {what}: {error}") from error


def onnx_model(network: Network, precision: FloatType) -> bytes:
    """The network as an ONNX file from ``x`` (batch, in) to ``y`` (batch, out), weights rounded to `precision`."""
    from onnx import helper, numpy_helper

    constants, nodes, last = [], [], "x"

    def constant(name: str, value: Array) -> str:
        with np.errstate(over="ignore"):
            constants.append(numpy_helper.from_array(value.astype(precision), name))
        return name

    def node(kind: str, name: str, *inputs: str, **attributes: int) -> str:
        nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    for i, layer in enumerate(network.layers):
        bias = constant(f"b{i}", layer.bias)
        if layer.divisor is None:
            last = node("Gemm", f"h{i}", last, constant(f"w{i}", layer.weight), bias, transB=1)
        else:
            last = node("Add", f"h{i}", node("Div", f"q{i}", last, constant(f"d{i}", layer.divisor)), bias)
        if layer.activation in SMOOTH:
            last = node(layer.activation.title(), f"r{i}", last)
        elif layer.rectified:
            last = node("Relu", f"r{i}", last)
    node("Identity", "y", last)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(precision))
    ends = [
        helper.make_tensor_value_info(name, kind, ("N", size))
        for name, size in (("x", network.input_size), ("y", network.output_size))
    ]
    graph = helper.make_graph(nodes, "network", ends[:1], ends[1:], constants)
    opset = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=_IR_VERSION, producer_name="venmas")
    return bytes(model.SerializeToString())
