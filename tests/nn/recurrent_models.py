"""ONNX models of policies with memory, and what onnxruntime says of their runs."""

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx_models import weights

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent_model(
    kind,
    *,
    units=5,
    inputs=2,
    states=True,
    dtype=np.float32,
    steps=1,
    opset=14,
    bias=True,
    head=3,
    last=False,
    more=(),
    **attributes,
):
    """Observation -> cell -> Squeeze -> Gemm, with states as inputs and outputs, or without any.

    more: further inputs of the node after those, with their constants. last: the Gemm takes the last hidden state.
    """
    rows = GATES[kind] * units
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    constants = {"W": weights(1, rows, inputs, dtype=dtype), "R": weights(1, rows, units, dtype=dtype) / 2}
    constants |= {"B": weights(1, 2 * rows, dtype=dtype)} if bias else {}
    constants |= {"V": weights(head, units, dtype=dtype), "d": weights(head, dtype=dtype)} | dict(more)
    memory = ["h0", "c0"][: 1 + (kind == "LSTM")]
    after = ["h1", "c1"][: len(memory)]
    taken = ["x", "W", "R", "B" if bias else "", "", *(memory if states else [])]
    taken += ["" for _ in range(7 - len(taken))] if more else []
    nodes = [
        helper.make_node(kind, [*taken, *dict(more)], ["Y", *after], name="cell", hidden_size=units, **attributes),
        helper.make_node("Reshape", ["h1" if last else "Y", "shape"], ["flat"]),
        helper.make_node("Gemm", ["flat", "V", "d"], ["y"], transB=1),
    ]
    constants["shape"] = np.array([-1, units], np.int64)
    info = helper.make_tensor_value_info
    ends = [info("x", element, (steps, 1, inputs))]
    ends += [info(name, element, (1, 1, units)) for name in memory] if states else []
    gives = [info("y", element, None), *(info(name, element, None) for name in after if states)]
    stored = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    graph = helper.make_graph(nodes, "g", ends, gives, stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def run_steps(path, xs, units, states=("h0", "c0")):
    """Outputs and memory of onnxruntime, step by step; xs: (steps, inputs)."""
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    entry, *kept = session.get_inputs()
    dtype = np.float64 if "double" in entry.type else np.float32
    memory = {i.name: np.zeros([d if isinstance(d, int) else 1 for d in i.shape], dtype) for i in kept}
    shape = [d if isinstance(d, int) else 1 for d in entry.shape]
    found = []
    for x in xs:
        y, *after = session.run(None, {entry.name: x.reshape(shape).astype(dtype), **memory})
        memory = dict(zip(memory, after, strict=True))
        found.append((y.ravel(), [a.ravel() for a in after]))
    return found


def run_along(path, xs):
    """Outputs of onnxruntime for all steps at once, of a sequence without a fixed length."""
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(["y"], {"x": xs[:, None].astype(np.float32)})[0]


FLOAT = TensorProto.FLOAT
