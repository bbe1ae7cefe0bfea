"""Small ONNX models and what onnxruntime says about them."""

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(7)


def weights(*shape, dtype=np.float32):
    return RNG.normal(size=shape).astype(dtype)


def n(op, names="_", **attributes):
    """A node of a chain; `_` stands for the value computed so far."""
    return op, names.split(), attributes


def model(nodes, *, shape=("N", 3), dtype=TensorProto.FLOAT, opset=13, outputs=("y",), inputs=("x",), **constants):
    """The chain of `nodes` from x to y."""
    built, current = [], "x"
    for i, (op, names, attributes) in enumerate(nodes):
        output = "y" if i == len(nodes) - 1 else f"t{i + 1}"
        names = [current if name == "_" else name for name in names]
        built.append(helper.make_node(op, names, [output], name=f"node_{i}", **attributes))
        current = output
    graph = helper.make_graph(
        built,
        "g",
        [helper.make_tensor_value_info(n, dtype, shape) for n in inputs],
        [helper.make_tensor_value_info(n, dtype, None) for n in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def save(tmp_path, proto, name="net.onnx"):
    path = tmp_path / name
    path.write_bytes(proto if isinstance(proto, bytes) else proto.SerializeToString())
    return path


def run(path, xs):
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    entry = session.get_inputs()[0]
    shape = [d if isinstance(d, int) else 1 for d in entry.shape]
    dtype = np.float64 if "double" in entry.type else np.float32
    return np.array([session.run(None, {entry.name: x.reshape(shape).astype(dtype)})[0].ravel() for x in xs])


def i64(*values):
    return np.array(values, dtype=np.int64)


def f32(*values):
    return np.array(values, dtype=np.float32)
