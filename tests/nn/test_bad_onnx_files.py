"""Broken, unsupported and hostile ONNX files: one clear message, quickly, and nothing executed."""

from tests.needs import needs

needs("onnxruntime")

import time
import tracemalloc

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import RNG, f32, i64, model, n, save, weights

from venmas.errors import NetworkError
from venmas.nn import load_network

LOGITS = [n("MatMul", "_ w")]
W = weights(3, 3)


def dense(*more, **options):
    return model([*LOGITS, *more], **{"w": W, **options})


def edited(change, **options):
    proto = dense(**options)
    change(proto)
    return proto


def nodes(proto, *made):
    del proto.graph.node[:]
    proto.graph.node.extend(helper.make_node(op, i.split(), o.split(), **a) for op, i, o, a in made)


def image(*more):
    return model([*more], shape=(1, 3, 4))


def branch(proto):
    nodes(proto, ("MatMul", "x w", "a", {}), ("Relu", "a", "b", {}), ("Div", "a b", "y", {}))


def statistics(proto):
    nodes(proto, ("BatchNormalization", "x r r r r", "y m v", {}))


def indices(proto):
    nodes(proto, ("MaxPool", "x", "p indices", {"kernel_shape": [2]}), ("Relu", "indices", "y", {}))


def cycle(proto):
    nodes(proto, ("Add", "x b", "a", {}), ("Add", "a w", "b", {}), ("Relu", "b", "y", {}))


def overwritten(proto):
    nodes(proto, ("MatMul", "x w", "a", {}), ("Relu", "a", "x", {}), ("Relu", "x", "y", {}))


def huge_claim(proto):
    proto.graph.initializer[0].dims[:] = [1 << 20, 1 << 20]


def wrong_claim(proto):
    proto.graph.initializer[0].dims[:] = [3, 4]


def negative_claim(proto):
    proto.graph.initializer[0].dims[:] = [-3, -3]


def custom_domain(proto):
    proto.graph.node[0].domain = "com.example"


def subgraph(proto):
    inner = helper.make_graph([], "inner", [], [])
    nodes(proto, ("If", "c", "y", {"then_branch": inner, "else_branch": inner}))
    proto.graph.initializer.append(numpy_helper.from_array(np.array(True), "c"))


def no_input(proto):
    del proto.graph.input[:]


def half_floats(proto):
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((3, 3), np.float16), "w"))


def external(location, **more):
    def change(proto):
        tensor = proto.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in {"location": location, **more}.items():
            tensor.external_data.add(key=key, value=str(value))

    return change


BIG = weights(1000, 1000)

# message: the file
BAD = {
    r"node 'node_1' \(Softmax\): .*logits": dense(n("Softmax")),
    r"node 'node_1' \(ArgMax\): .*logits": dense(n("ArgMax")),
    r"node 'node_1' \(Sigmoid\): gives sigmoid units beside tensors that are used later": dense(
        n("Sigmoid"), n("Add", "_ t1")
    ),
    r"node 'node_1' \(Elu\): operator 'Elu' is not supported; supported are .*Relu": dense(n("Elu")),
    r"node 'node_1' \(Softplus\): operator 'Softplus' is not supported; supported are .*Tanh": dense(n("Softplus")),
    r"\(BatchNormalization\): scale, bias, .* of shapes \[\[2\], \[2\], \[2\], \[2\]\]": dense(
        n("BatchNormalization", "_ r r r r"), r=f32(1, 1)
    ),
    r"\(BatchNormalization\): a variance plus epsilon is -0.9999": dense(
        n("BatchNormalization", "_ r r r v"), r=W[0], v=-f32(1, 1, 1)
    ),
    r"\(BatchNormalization\): its input 'scale', 't1', is computed": dense(
        n("BatchNormalization", "x _ r r r"), r=W[0]
    ),
    r"\(BatchNormalization\): is in training mode": dense(
        n("BatchNormalization", "_ r r r r", training_mode=1), r=W[0], opset=14
    ),
    r"\(BatchNormalization\): is in training mode, ": dense(n("BatchNormalization", "_ r r r r"), r=W[0], opset=6),
    r"\(BatchNormalization\): gives \['m', 'v'\] beside, as in training": edited(statistics, opset=9, r=W[0]),
    r"\(BatchNormalization\): moments of every entry": dense(
        n("BatchNormalization", "_ r r r r", spatial=0), r=W[0], opset=7
    ),
    r"\(BatchNormalization\): epsilon is nan": dense(n("BatchNormalization", "_ r r r r", epsilon=np.nan), r=W[0]),
    r"\(Clip\): its least value 2.0 is above its largest 1.0": dense(
        n("Clip", "_ z o"), z=np.float32(2), o=np.float32(1)
    ),
    r"\(Clip\): has the limit nan": dense(n("Clip", "_ z"), z=np.float32(np.nan)),
    r"\(Clip\): has the limit inf": dense(n("Clip", min=np.inf), opset=10),
    r"\(Clip\): limit 'z' of type float32, shape \[2\]: expected one number": dense(n("Clip", "_ z"), z=f32(1, 2)),
    r"\(Clip\): its input 'min', 't1', is computed": dense(n("Clip", "x _")),
    r"\(Max\): constant 'z' holds NaN or infinite": dense(n("Max", "_ z"), z=f32(np.inf)),
    r"\(Max\): takes operands of the shapes \[\[1, 3\], \[4\]\]": dense(n("Max", "_ z"), z=weights(4)),
    r"\(LeakyRelu\): alpha is nan": dense(n("LeakyRelu", alpha=np.nan)),
    r"operator 'PRelu' is not supported": dense(n("PRelu", "_ z"), z=f32(1)),
    r"\(AveragePool\): automatic padding is not supported": image(
        n("AveragePool", kernel_shape=[2], auto_pad="SAME_UPPER")
    ),
    r"\(AveragePool\): windows that reach beyond": image(n("AveragePool", kernel_shape=[2], ceil_mode=1)),
    r"\(AveragePool\): needs the attribute 'kernel_shape'": image(n("AveragePool")),
    r"\(AveragePool\): has an attribute 'dilations' .* in opset 13": image(
        n("AveragePool", kernel_shape=[2], dilations=[2])
    ),
    r"\(AveragePool\): pads \[2, 0\] .*padding only": image(n("AveragePool", kernel_shape=[2], pads=[2, 0])),
    r"\(MaxPool\): automatic padding is not supported": image(n("MaxPool", kernel_shape=[2], auto_pad="SAME_LOWER")),
    r"\(MaxPool\): windows that reach beyond": image(n("MaxPool", kernel_shape=[2], ceil_mode=1)),
    r"\(MaxPool\): pads \[2, 0\] .*padding only": image(n("MaxPool", kernel_shape=[2], pads=[2, 0])),
    r"\(MaxPool\): a kernel \[2, 2\] over a tensor of shape \[1, 3, 4\]": image(n("MaxPool", kernel_shape=[2, 2])),
    r"\(MaxPool\): a kernel \[9\] does not fit": image(n("MaxPool", kernel_shape=[9])),
    r"\(MaxPool\): strides \[0\]": image(n("MaxPool", kernel_shape=[2], strides=[0])),
    r"\(MaxPool\): a padded tensor": image(n("MaxPool", kernel_shape=[2], pads=[1 << 40, 0])),
    r"\(MaxPool\): a tensor of shape \[2, 3, 4\]: expected \(1, channels": model(
        [n("MaxPool", kernel_shape=[2])], shape=(2, 3, 4)
    ),
    r"\(Relu\): uses 'indices', which no earlier node defines": edited(indices, shape=(1, 3, 3)),
    r"\(GlobalMaxPool\): a tensor of shape \[1, 3\]": dense(n("GlobalMaxPool")),
    r"\(Concat\): takes the constant 'w' beside computed": dense(n("Concat", "_ w", axis=0)),
    r"\(Concat\): takes shapes \[\[1, 3\], \[1, 3\]\]: axis 2": dense(n("Concat", "_ _", axis=2)),
    r"\(Mul\): takes \['t1', 't1'\]: .* products of": dense(n("Mul", "_ _")),
    r"\(Gemm\): its input 'C', 'x', is computed": dense(n("Gemm", "_ w x"), shape=(1, 3)),
    r"\(Add\): takes \['t1', 'x'\] of the types \['float32', 'float64'\]": model([n("Cast", to=11), n("Add", "_ x")]),
    r"\(Cast\): to element type 7": dense(n("Cast", to=TensorProto.INT64)),
    r"\(Dropout\): is in training": dense(n("Dropout", "_ z t"), z=np.float32(0.5), t=np.array(True)),
    r"\(Div\): divides a constant by a computed value": dense(n("Div", "w _")),
    r"\(Div\): a division by .*0": dense(n("Div", "_ z"), z=f32(1, 0, 1)),
    r"\(MatMul\): takes \['t1', 't1'\]: expected one computed value": dense(n("MatMul", "_ _")),
    r"node 'y' \(Div\): takes \['a', 'b'\]: expected one computed value": edited(branch),
    r"node 'a' \(Add\): uses 'b', which no earlier node defines: the graph has a cycle": edited(cycle),
    r"node 'x' \(Relu\): writes \['x'\], expected an output of its own": edited(overwritten),
    r"node 'node_1' \(MatMul\): a tensor of shape \[1, 3\] times a matrix": dense(n("MatMul", "_ r"), r=weights(4, 3)),
    r"node 'node_1' \(Add\): shapes \[1, 3\] and \[4\] do not fit": dense(n("Add", "_ r"), r=weights(4)),
    r"node 'node_1' \(Reshape\): does not fit a tensor": dense(n("Reshape", "_ s"), s=i64(2, 2)),
    r"node 'node_1' \(Transpose\): does not fit a tensor": dense(n("Transpose", perm=[0, 2])),
    r"node 'node_1' \(Squeeze\): does not fit a tensor": dense(n("Squeeze", "_ s"), s=i64(1)),
    r"node 'node_1' \(Unsqueeze\): does not fit": dense(n("Unsqueeze", "_ s"), s=i64(*range(70))),
    r"\(Conv\): kernels of shape": dense(n("Conv", "_ r"), r=weights(2, 3, 1)),
    r"\(Conv\): groups": dense(n("Conv", "_ r", group=3), r=weights(3, 1, 1)),
    r"\(Conv\): strides \[0\]": model([n("Conv", "_ r", strides=[0])], r=weights(2, 3, 1), shape=(1, 3, 2)),
    r"\(Conv\): kernels .* do not fit": model([n("Conv", "_ r")], r=weights(2, 3, 5), shape=(1, 3, 2)),
    r"\(Conv\): a padded tensor": model([n("Conv", "_ r", pads=[1 << 40] * 2)], r=weights(2, 3, 1), shape=(1, 3, 2)),
    r"\(Conv\): a convolution": model([n("Conv", "_ r", pads=[1 << 21] * 2)], r=weights(1, 1, 1), shape=(1, 1, 1)),
    r"\(Gemm\): expected matrices": model([n("Gemm", "_ w")], w=W, shape=(3,)),
    r"\(Gemm\): its third input does not fit": dense(n("Gemm", "_ w c"), c=weights(2, 3)),
    r"\(MatMul\): constant 'w' holds NaN": dense(w=np.array([[1, np.nan, 1]] * 3, np.float32)),
    r"\(MatMul\): constant 'w' holds NaN or infinite": dense(w=np.full((3, 3), np.inf)),
    r"\(MatMul\): constant 'w' has the type int64": dense(w=np.ones((3, 3), np.int64)),
    r"tensor 'w' has the ONNX element type 10: .*float32": edited(half_floats),
    r"tensor 'w' claims the shape \[3, 4\], 48 bytes, but holds 36 bytes": edited(wrong_claim),
    r"tensor 'w' would have \d+ entries: at most": edited(huge_claim),
    r"tensor 'w' claims the shape \[-3, -3\]": edited(negative_claim),
    r"operators of the domain 'com.example' are not supported": edited(custom_domain),
    r"\(If\): attribute '.*_branch' holds a graph": edited(subgraph),
    r"0 inputs": edited(no_input),
    r"2 inputs \['x', 'x'\]: expected 1 to 100, each with a name": dense(inputs=("x", "x")),
    r"2 outputs \['y', 't1'\].*logits": dense(n("Relu"), outputs=("y", "t1")),
    r"the output 'w' is not computed from the inputs by any node": dense(n("Relu"), outputs=("w",)),
    r"2 outputs \['y', 'y'\]: expected 1 to 100, each with a name": dense(n("Relu"), outputs=("y", "y")),
    r"opset 5: expected 6 to \d+; convert": dense(opset=5),
    r"opset 99: expected 6 to \d+; convert": dense(opset=99),
    r"names the operator sets \[\]: expected one": edited(lambda proto: proto.ClearField("opset_import")),
    r"names the operator sets \[7, 13\]": edited(lambda proto: proto.opset_import.add(domain="ai.onnx", version=7)),
    r"defines operators of ONNX anew": edited(lambda proto: proto.functions.add(name="MatMul")),
    r"two constants have the name 'w'": edited(
        lambda proto: proto.graph.initializer.append(proto.graph.initializer[0])
    ),
    r"tensor 'w' holds its numbers twice": edited(lambda proto: proto.graph.initializer[0].float_data.append(1)),
    r"tensor 'w' is a segment": edited(lambda proto: proto.graph.initializer[0].segment.SetInParent()),
    r"input 'x' has element type 7": dense(dtype=TensorProto.INT64),
    r"input 'x' has the shape \[1, -1\]": dense(shape=("N", "M")),
    r"input 'x' has the shape \[\]": dense(shape=()),
    r"input 'x' would have \d+ entries": dense(shape=(1, 1 << 40)),
    r"over constants only: .*'Add'": model([n("Add", "w w"), n("Add", "x _")], w=W),
    r"\(Concat\): the operands would have 60000000 entries": model(
        [n("Concat", " ".join(["w"] * 60), axis=0)], w=weights(1000, 1000)
    ),
    r"\(Gather\): cannot be carried out": model([n("Gather", "w i")], w=W, i=i64(5)),
    r"the model has no nodes": edited(lambda proto: proto.graph.ClearField("node")),
    r"outside the folder of the model": edited(external("../secret.bin")),
    r"outside the folder of the model: refused": edited(external("/etc/passwd")),
    r"secret.bin does not exist": edited(external("sub/secret.bin")),
    r"4 bytes at offset 0, its shape needs 36": edited(external("net.onnx", length=4)),
    r"offset -1": edited(external("net.onnx", offset=-1)),
    r"claims the shape .* but holds 0 bytes": edited(external("net.onnx", offset=1 << 40)),
    r"external data cannot be found": edited(external("net.onnx", offset="abc")),
    r"not an ONNX model, or is truncated": b"this is no protobuf, but text",
    r"not an ONNX model, or is truncated: ": dense().SerializeToString()[:-30],
    r"the model has no nodes: not an ONNX model, or an empty one": b"",
    r"a tensor would have 9000000 entries": model([n("Add", "_ w")], w=weights(3000, 1), shape=(1, 3000)),
    r"a weight matrix": model([n("Add", "_ w")], w=weights(4000), shape=(1, 4000)),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_file(message, tmp_path):
    path = save(tmp_path, BAD[message])
    with pytest.raises(NetworkError, match=message) as caught:
        load_network(path)
    assert "net.onnx" in str(caught.value)


def test_links_that_leave_the_folder(tmp_path):
    (tmp_path / "secret.bin").write_bytes(bytes(36))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "w.bin").symlink_to(tmp_path / "secret.bin")
    path = save(tmp_path / "models", edited(external("w.bin")))
    with pytest.raises(NetworkError, match="outside the folder"):
        load_network(path)


HOSTILE = {
    "layers that each fill a matrix": [n("Add", "_ r"), n("Relu")] * 400,
    "tensors that are copied on and on": [n("Transpose"), n("Reshape", "_ s")] * 4000,
    "matrices that are copied on and on": [n("Mul", "_ r"), n("Mul", "_ i")] * 4000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_small_files_stay_cheap(name, tmp_path):
    shape = (2000, 4000) if "tensors" in name else (1, 2500)
    constants = {"r": RNG.normal(size=shape[1]), "i": -np.ones(1), "s": i64(*shape)}
    path = save(tmp_path, model(HOSTILE[name], **constants, shape=shape, dtype=TensorProto.DOUBLE))
    assert path.stat().st_size < 500_000
    start = time.perf_counter()
    tracemalloc.start()
    with pytest.raises(NetworkError, match="too large for verification"):
        load_network(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 30
    assert time.perf_counter() - start < 10


def test_every_truncation_of_a_model(tmp_path):
    data = dense(n("Relu")).SerializeToString()
    for length in range(0, len(data) - 1):
        path = save(tmp_path, data[:length])
        try:
            network = load_network(path)
        except NetworkError:
            continue
        assert network == load_network(save(tmp_path, data)), length  # only what does not matter was cut off


def test_random_damage_gives_a_network_or_an_error(tmp_path):
    data = np.frombuffer(dense(n("Relu")).SerializeToString(), np.uint8)
    rng = np.random.default_rng(1)
    for _ in range(300):
        damaged = data.copy()
        damaged[rng.integers(0, len(data), 3)] = rng.integers(0, 256, 3)
        try:
            load_network(save(tmp_path, damaged.tobytes()))
        except NetworkError:
            continue


def test_nested_graphs(tmp_path):
    """Nodes with graphs with nodes with graphs, a thousand deep: written by hand, as protobuf refuses to."""

    def field(number, content):
        size, length = b"", len(content)
        while length > 127:
            size, length = size + bytes([length % 128 + 128]), length // 128
        return bytes([number * 8 + 2]) + size + bytes([length]) + content

    attribute = b""
    for _ in range(1000):
        attribute = field(6, field(1, field(5, attribute)))  # AttributeProto.g.node.attribute
    path = save(tmp_path, field(7, field(1, field(5, attribute))))
    with pytest.raises(NetworkError, match="not an ONNX model"):
        load_network(path)
