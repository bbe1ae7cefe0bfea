"""Every dress in which a fully connected ReLU network comes as ONNX, against onnxruntime."""

from tests.needs import needs

needs("onnxruntime")

from fractions import Fraction

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import RNG, f32, i64, model, n, run, save, weights

from venmas.errors import NetworkError
from venmas.nn import load_network
from venmas.nn.deployed import run_deployed

W, B = weights(4, 3), weights(4)

DRESSES = {
    "gemm": model([n("Gemm", "_ w b", transB=1), n("Relu"), n("Gemm", "_ v")], w=W, b=B, v=weights(4, 2)),
    "gemm, alpha and beta": model([n("Gemm", "_ w b", transB=1, alpha=0.3, beta=-1.7)], w=W, b=B),
    "gemm, transA": model([n("Gemm", "_ w b", transA=1)], w=weights(3, 2), b=f32(1), shape=(3, 1)),
    "gemm, constant on the left": model(
        [n("Gemm", "w _ b", transA=1, transB=1)], w=weights(3, 4), b=weights(4, 1), shape=(1, 3)
    ),
    "gemm, bias row": model([n("Gemm", "_ w b", transB=1)], w=W, b=weights(1, 4)),
    "matmul, add": model(
        [n("MatMul", "_ w"), n("Add", "_ b"), n("Relu"), n("MatMul", "_ v"), n("Add", "c _")],
        w=W.T.copy(),
        b=B,
        v=weights(4, 2),
        c=weights(1, 2),
    ),
    "matmul from the left": model([n("MatMul", "w _"), n("Add", "_ b"), n("Relu")], w=W, b=weights(4, 1), shape=(3, 1)),
    "matmul from the left, batched": model([n("MatMul", "w _"), n("Relu")], w=W, shape=("N", 3, 2)),
    "matmul with vectors": model([n("MatMul", "_ w"), n("Relu")], w=weights(3), shape=(3,)),
    "matmul, vector from the left": model([n("MatMul", "w _"), n("Relu")], w=weights(3), shape=(3, 2)),
    "matmul over rows": model(
        [n("MatMul", "_ w"), n("Relu"), n("Flatten"), n("MatMul", "_ v")],
        w=weights(3, 4),
        v=weights(8, 2),
        shape=("N", 2, 3),
    ),
    "normalised": model(
        [n("Sub", "_ m"), n("Div", "_ s"), n("Gemm", "_ w b", transB=1), n("Mul", "_ f"), n("Add", "_ m1")],
        m=weights(3),
        s=f32(3, 0.7, 16000),
        w=W,
        b=B,
        f=f32(1.3),
        m1=f32(0.1),
    ),
    "constant minus tensor": model([n("Sub", "m _"), n("Relu"), n("Sub", "m _")], m=weights(3)),
    "sub after gemm": model([n("Gemm", "_ w b", transB=1), n("Sub", "b _"), n("Relu"), n("Sub", "_ b")], w=W, b=B),
    "mul by signs": model(
        [n("MatMul", "_ w"), n("Mul", "s _"), n("Relu"), n("Mul", "_ s")], w=W.T.copy(), s=f32(1, -1, -1, 1)
    ),
    "scalar div": model([n("Div", "_ s"), n("MatMul", "_ w")], w=W.T.copy(), s=np.float32(3)),
    "div, then selected": model(
        [n("Div", "_ s"), n("Transpose", perm=[0, 2, 1]), n("Add", "_ c"), n("Flatten")],
        s=weights(2, 3),
        c=weights(3, 2),
        shape=(1, 2, 3),
    ),
    "broadcast widens": model([n("Add", "_ c"), n("Relu"), n("Flatten")], c=weights(4, 3), shape=(1, 3)),
    "1x1 conv": model(
        [n("Sub", "_ m"), n("Conv", "_ w b", kernel_shape=[1, 3]), n("Relu"), n("Conv", "_ v c"), n("Flatten")],
        m=weights(1, 1, 1, 3),
        w=weights(4, 1, 1, 3),
        b=B,
        v=weights(2, 4, 1, 1),
        c=weights(2),
        shape=(1, 1, 1, 3),
    ),
    "conv over all": model([n("Conv", "_ w"), n("Relu"), n("Flatten")], w=weights(5, 2, 3, 4), shape=("N", 2, 3, 4)),
    "conv with strides, dilations, pads": model(
        [n("Conv", "_ w b", strides=[2, 1], dilations=[1, 2], pads=[1, 0, 2, 1]), n("Relu")],
        w=weights(3, 2, 2, 2),
        b=weights(3),
        shape=("N", 2, 5, 4),
    ),
    "conv of a line": model([n("Conv", "_ w", pads=[1, 1]), n("Relu")], w=weights(3, 2, 3), shape=(1, 2, 5)),
    "transposed image": model(
        [n("Transpose", perm=[0, 3, 1, 2]), n("Flatten"), n("Gemm", "_ w"), n("Relu")],
        w=weights(24, 3),
        shape=("N", 2, 3, 4),
    ),
    "reshape": model(
        [n("Reshape", "_ s"), n("MatMul", "_ w"), n("Relu"), n("Reshape", "_ r")],
        s=i64(0, -1, 2),
        w=weights(2, 3),
        r=i64(1, -1),
        shape=("N", 6),
    ),
    "order at the end": model(
        [n("MatMul", "_ w"), n("Reshape", "_ s"), n("Transpose"), n("Relu")], w=weights(3, 6), s=i64(2, 3), shape=(1, 3)
    ),
    "only an order": model([n("Reshape", "_ s"), n("Transpose")], s=i64(2, 3), shape=(1, 6)),
    "squeeze, unsqueeze": model(
        [n("Unsqueeze", "_ a"), n("Squeeze", "_ a"), n("Unsqueeze", "_ z"), n("Squeeze"), n("MatMul", "_ w")],
        a=i64(1),
        z=i64(0, 3),
        w=weights(3, 2),
        shape=(1, 3),
    ),
    "squeeze as attribute": model([n("Unsqueeze", axes=[1]), n("Squeeze", axes=[1]), n("Relu")], opset=11),
    "identity, dropout": model([n("Identity"), n("Dropout"), n("MatMul", "_ w"), n("Relu")], w=weights(3, 2)),
    "old dropout": model([n("Dropout", ratio=0.4), n("MatMul", "_ w")], w=weights(3, 2), opset=11),
    "cast": model(
        [n("Cast", to=TensorProto.FLOAT), n("MatMul", "_ w"), n("Cast", to=TensorProto.FLOAT)], w=weights(3, 2)
    ),
    "clip": model([n("MatMul", "_ w"), n("Clip", "_ z"), n("MatMul", "_ w")], w=weights(3, 3), z=np.float32(0)),
    "clip as attribute": model([n("MatMul", "_ w"), n("Clip", min=0.0), n("MatMul", "_ w")], w=weights(3, 3), opset=10),
    "max with zero": model([n("MatMul", "_ w"), n("Max", "z _"), n("MatMul", "_ w")], w=weights(3, 3), z=f32(0)),
    "relu at both ends": model([n("Relu"), n("Relu"), n("MatMul", "_ w"), n("Relu")], w=weights(3, 3)),
    "double": model(
        [n("Gemm", "_ w b", transB=1, alpha=0.5), n("Relu"), n("Div", "_ s")],
        w=weights(4, 3, dtype=np.float64),
        b=weights(4, dtype=np.float64),
        s=np.float64(3),
        dtype=TensorProto.DOUBLE,
    ),
    "flatten, negative axis": model(
        [n("Flatten", axis=-1), n("MatMul", "_ w"), n("Flatten", axis=0)], w=weights(3, 2), shape=(1, 2, 3)
    ),
    "clip to nothing": model([n("MatMul", "_ w"), n("Clip")], w=weights(3, 3)),
    "hard tanh": model(
        [n("MatMul", "_ w"), n("Clip", "_ z o"), n("MatMul", "_ w")], w=weights(3, 3), z=-np.float32(1), o=np.float32(1)
    ),
    "relu6": model([n("MatMul", "_ w"), n("Clip", min=0.0, max=6.0)], w=weights(3, 3), opset=10),
    "clip from below": model([n("Clip", "_ z")], z=np.float32(-0.5)),
    "clip from above": model([n("Clip", "_ z o")], z=np.float32(-1e30), o=np.float32(0.5)),
    "leaky": model(
        [n("MatMul", "_ w"), n("LeakyRelu", alpha=0.1), n("MatMul", "_ w"), n("LeakyRelu")], w=weights(3, 3)
    ),
    "absolute, negated": model([n("Gemm", "_ w b", transB=1), n("Abs"), n("Neg"), n("Abs")], w=W, b=B),
    "max and min": model([n("Max", "_ a c"), n("Min", "c _"), n("Max")], a=weights(1), c=weights(3)),
    "residual": model(
        [
            n("MatMul", "_ w"),
            n("Relu"),
            n("MatMul", "_ w"),
            n("Add", "_ x"),
            n("Relu"),
            n("Sub", "_ t2"),
            n("Max", "_ t1"),
        ],
        w=weights(3, 3),
        shape=(1, 3),
    ),
    "dense": model(
        [n("MatMul", "_ w"), n("LeakyRelu"), n("Concat", "_ x t1", axis=1), n("MatMul", "_ v"), n("Sum", "t1 _ x")],
        w=weights(3, 3),
        v=weights(9, 3),
    ),
    "image": model(
        [
            *(
                n("Conv", "_ w b", pads=[1, 1, 1, 1]),
                n("BatchNormalization", "_ b b m v", epsilon=0.01),
                n("LeakyRelu"),
            ),
            *(n("MaxPool", kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 1, 1]), n("Conv", "_ k", strides=[1, 2])),
            *(n("AveragePool", kernel_shape=[2, 2], pads=[1, 0, 0, 1], count_include_pad=1), n("Relu"), n("Flatten")),
        ],
        w=weights(3, 2, 3, 3),
        b=weights(3),
        m=weights(3),
        v=weights(3) ** 2,
        k=weights(2, 3, 2, 1),
        shape=("N", 2, 4, 5),
    ),
    "average without padding": model(
        [n("AveragePool", kernel_shape=[3], pads=[1, 1]), n("GlobalMaxPool"), n("Relu")], shape=(1, 2, 5)
    ),
    "averages of all": model(
        [n("Conv", "_ w"), n("GlobalAveragePool"), n("Flatten")], w=weights(3, 2, 2), shape=(1, 2, 4)
    ),
    "normalised twice": model(
        [n("BatchNormalization", "_ a b b v"), n("Relu"), n("BatchNormalization", "_ b a b v")],
        a=weights(3),
        b=weights(3),
        v=weights(3) ** 2,
        opset=7,
    ),
    "opset 7": model([n("Gemm", "_ w b", transB=1), n("Relu"), n("Dropout")], w=W, b=B, opset=7),
}


@pytest.mark.parametrize("name", DRESSES)
def test_dress_against_onnxruntime(name, tmp_path):
    proto = DRESSES[name]
    path = save(tmp_path, proto)
    network = load_network(path)
    xs = RNG.normal(size=(20, network.input_size)).astype(np.float32) * 3
    expected = run(path, xs)
    np.testing.assert_allclose(network.evaluate(xs), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(network.evaluate_float32(xs), expected, rtol=1e-5, atol=1e-5)
    exact = [float(v) for v in network.evaluate_exact([Fraction(float(v)) for v in xs[0]])]
    np.testing.assert_allclose(network.evaluate(xs[0]), exact, rtol=1e-9, atol=1e-12)
    assert network.dtype == ("float64" if name == "double" else "float32")
    assert network.name == "net"


def test_shapes_computed_from_the_input(tmp_path):
    """``x.view(x.size(0), -1)`` as PyTorch exports it: a side branch that only looks at the shape."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.int64(0))),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Unsqueeze", ["n"], ["n1"], axes=[0]),
        helper.make_node("Constant", [], ["rest"], value_ints=[-1]),
        helper.make_node("Concat", ["n1", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["flat"]),
        helper.make_node("Transpose", ["w"], ["wt"], perm=[1, 0]),
        helper.make_node("Identity", ["wt"], ["wi"]),
        helper.make_node("MatMul", ["flat", "wi"], ["h"]),
        helper.make_node("Constant", [], ["one"], value_float=1.5),
        helper.make_node("Add", ["h", "one"], ["y"]),
    ]
    proto = model([n("Relu")], w=weights(4, 6), shape=("N", 2, 3), opset=12)
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    path = save(tmp_path, proto)
    network = load_network(path)
    xs = RNG.normal(size=(9, 6))
    np.testing.assert_allclose(network.evaluate(xs), run(path, xs), rtol=1e-5, atol=1e-5)
    assert len(network.layers) == 1


def test_initializers_may_be_listed_as_inputs(tmp_path):
    proto = model([n("MatMul", "_ w")], w=weights(3, 2), shape=(1, 3))
    proto.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, (3, 2)))
    assert load_network(save(tmp_path, proto)).sizes == (3, 2)


def test_normalisation_is_not_folded_with_rounding(tmp_path):
    nodes = [n("Sub", "_ m"), n("Div", "_ s"), n("MatMul", "_ w")]
    network = load_network(
        save(tmp_path, model(nodes, m=f32(0.1, 0, 0), s=f32(3, 3, 3), w=np.eye(3, 1, dtype=np.float32)))
    )
    tenth = Fraction(float(np.float32(0.1)))
    assert network.evaluate_exact([Fraction(1), Fraction(0), Fraction(0)]) == ((1 - tenth) / 3,)
    assert [layer.weight_error for layer in network.layers] == [0.0, 2.0**-53, 0.0]


def test_alpha_is_an_operation_of_its_own(tmp_path):
    proto = model([n("Gemm", "_ w", alpha=0.1)], w=np.full((3, 1), 0.1), dtype=TensorProto.DOUBLE)
    network = load_network(save(tmp_path, proto))
    alpha = Fraction(float(np.float32(0.1)))
    assert network.evaluate_exact([Fraction(1), Fraction(0), Fraction(0)]) == (Fraction(0.1) * alpha,)
    assert [layer.weight.shape for layer in network.layers] == [(1, 3), (1, 1)]


@pytest.mark.parametrize("c", [0.1, 1e-46, 1e39])
def test_beta_that_floats_cannot_hold(c, tmp_path):
    """What float64 does not hold, and numbers that a runtime in float32 loses before it multiplies them."""
    beta = 0.1 if c == 0.1 else 2.0**-60 if c > 1 else 2.0**60
    nodes, w = [n("Gemm", "_ w c", beta=beta)], np.full((3, 1), 0.5)
    with pytest.raises(NetworkError, match=r"node 'node_0' \(Gemm\): beta"):
        load_network(save(tmp_path, model(nodes, w=w, c=np.array([c]), dtype=TensorProto.DOUBLE)))


@pytest.mark.filterwarnings("error")
def test_numbers_beyond_float32(tmp_path):
    def path(weight, *nodes):
        return save(tmp_path, model([*nodes], w=np.full((3, 1), weight), dtype=TensorProto.DOUBLE))

    network = load_network(halved := path(1e300, n("Gemm", "_ w", alpha=0.5)))
    assert network.evaluate_exact([Fraction(1), Fraction(0), Fraction(0)]) == (Fraction(1e300) / 2,)
    assert [*run_deployed(halved, network, [Fraction(-1)] * 3)[2]] == [-np.inf]
    large = load_network(path(1e308, n("Gemm", "_ w", alpha=10.0)))
    assert large.evaluate_exact([Fraction(1), Fraction(0), Fraction(0)]) == (10 * Fraction(1e308),)
    assert [*large.evaluate([1.0, 0.0, 0.0])] == [np.inf]
    with pytest.raises(NetworkError, match="must be a finite number"):
        load_network(path(0.0, n("Gemm", "_ w", alpha=np.inf)))


@pytest.mark.filterwarnings("error")
def test_constants_that_a_cast_makes_infinite(tmp_path):
    proto = model([n("MatMul", "_ v")], w=np.full((3, 1), 1e300))
    proto.graph.node.insert(0, helper.make_node("Cast", ["w"], ["v"], to=TensorProto.FLOAT))
    with pytest.raises(NetworkError, match="'v' holds NaN or infinite values"):
        load_network(save(tmp_path, proto))


def test_external_data_beside_the_model(tmp_path):
    proto = model([n("MatMul", "_ w")], w=weights(3, 200))
    path = tmp_path / "net.onnx"
    onnx.save_model(proto, str(path), save_as_external_data=True, location="net.bin", size_threshold=0)
    assert (tmp_path / "net.bin").exists()
    xs = RNG.normal(size=(5, 3))
    np.testing.assert_allclose(load_network(path).evaluate(xs), run(path, xs), rtol=1e-5, atol=1e-6)


def test_a_file_that_changes_is_read_again(tmp_path):
    one, other = (model([n("MatMul", "_ w")], w=weights(3, 2)) for _ in range(2))
    first = load_network(save(tmp_path, one))
    assert load_network(save(tmp_path, one)) is first  # while somebody uses it
    second = load_network(save(tmp_path, other))
    assert second != first
    np.testing.assert_allclose(second.layers[0].weight.T, numpy_helper.to_array(other.graph.initializer[0]))


@pytest.mark.parametrize("node", [False, True])
def test_external_data_that_change_are_read_again(node, tmp_path):
    path, found = tmp_path / "net.onnx", []
    for scale in (1.0, 2.0):
        proto = model([n("MatMul", "_ w")], w=np.full((3, 200), scale, np.float32))
        if node:
            proto.graph.node.insert(0, helper.make_node("Constant", [], ["w"], value=proto.graph.initializer.pop()))
        (tmp_path / "net.bin").unlink(missing_ok=True)
        how = {"save_as_external_data": True, "size_threshold": 0, "convert_attribute": True}
        onnx.save_model(proto, str(path), location="net.bin", **how)
        assert (tmp_path / "net.bin").exists()
        found.append((path.read_bytes(), load_network(path)))
    assert found[0][0] == found[1][0]
    assert [network.layers[0].weight[0, 0] for _, network in found] == [1.0, 2.0]


def test_published_acas_networks(data_dir):
    paths = sorted((data_dir / "acasxu" / "onnx").glob("*.onnx"))
    assert len(paths) == 45
    for path in paths[::9]:
        network = load_network(path)
        assert network.sizes == (5, 50, 50, 50, 50, 50, 50, 5)
        xs = RNG.uniform(-1, 1, size=(20, 5))
        np.testing.assert_allclose(network.evaluate(xs), run(path, xs), rtol=1e-4, atol=1e-5)


def test_networks_made_to_fool_floats(data_dir):
    for path in sorted((data_dir / "soundness").glob("*.onnx")):
        network = load_network(path)
        stored = np.load(path.with_suffix(".npz"))
        assert network.dtype == "float64"
        assert len(network.layers) == sum(name.startswith("W") for name in stored)
        for i, layer in enumerate(network.layers):
            np.testing.assert_array_equal(layer.weight, stored[f"W{i}"])
            np.testing.assert_array_equal(layer.bias, stored[f"b{i}"])
