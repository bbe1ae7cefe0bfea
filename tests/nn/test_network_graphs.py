"""Networks as graphs: skip connections, several inputs and outputs, and what single precision may be asked of them."""

from tests.needs import needs

needs("onnxruntime")

import pickle
import time
from fractions import Fraction

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import RNG, f32, model, n, save, weights

from venmas import System, verify
from venmas.errors import ModelError, NetworkError
from venmas.model import NetworkFolder, apply_network
from venmas.nn import load_network
from venmas.nn.chain import Chain
from venmas.nn.deployed import run_deployed
from venmas.nn.pieces import root

SHAPES = {"image": (1, 1, 4, 4), "speed": (1, 2)}


def agent(tmp_path, tail="Softplus"):
    """An actor and a critic over an image and a speed; the critic ends in what is not read."""
    nodes = [
        helper.make_node("Conv", ["image", "k"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("Concat", ["f", "speed"], ["all"], axis=1),
        helper.make_node("Gemm", ["all", "w"], ["logits"]),
        helper.make_node("Gemm", ["all", "v"], ["u"]),
        helper.make_node(tail, ["u"], ["value"]),
    ]
    constants = {"k": weights(2, 1, 3, 3), "w": weights(10, 3), "v": weights(10, 1)}
    graph = helper.make_graph(
        nodes,
        "agent",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in SHAPES.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("logits", "value")],
        [numpy_helper.from_array(v, name) for name, v in constants.items()],
    )
    return save(tmp_path, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))


def run(path, names, x):
    parts = {"image": x[:16].reshape(SHAPES["image"]), "speed": x[16:].reshape(SHAPES["speed"])}
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.concatenate([y.ravel() for y in session.run(names, {k: v.astype(np.float32) for k, v in parts.items()})])


def test_the_output_is_chosen_by_name(tmp_path):
    """What only the other output needs may be anything."""
    path, x = agent(tmp_path), RNG.normal(size=18)
    for outputs in ("logits", ["logits"]):
        network = load_network(path, outputs=outputs)
        assert (network.input_size, network.output_size) == (18, 3)
        np.testing.assert_allclose(network.evaluate(x), run(path, ["logits"], x), rtol=1e-4, atol=1e-5)
    with pytest.raises(NetworkError, match=r"\(Softplus\): operator 'Softplus' is not supported"):
        load_network(path, outputs="value")
    plain = agent(tmp_path, "Abs")
    network = load_network(plain, outputs=["value", "logits"])
    np.testing.assert_allclose(network.evaluate(x), run(plain, ["value", "logits"], x), rtol=1e-4, atol=1e-5)


def test_inputs_follow_each_other_in_the_order_asked_for(tmp_path):
    path, x = agent(tmp_path), RNG.normal(size=18)
    turned = load_network(path, outputs="logits", inputs=["speed", "image"])
    straight = load_network(path, outputs="logits")
    np.testing.assert_allclose(turned.evaluate(np.concatenate([x[16:], x[:16]])), straight.evaluate(x), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"2 outputs \['logits', 'value'\]: expected one, or outputs="),
        ({"outputs": "scores"}, r"outputs: 'scores' is none of those of the model, \['logits', 'value'\]"),
        ({"outputs": []}, r"outputs: \[\]: expected some"),
        ({"outputs": ["logits", "logits"]}, "each once"),
        ({"outputs": "logits", "inputs": ["image"]}, r"inputs: \['image'\]: expected all of \['image', 'speed'\]"),
        ({"outputs": "logits", "inputs": ["image", "pedal"]}, r"inputs: 'pedal' is none"),
    ],
)
def test_names_that_do_not_fit_are_refused(options, message, tmp_path):
    with pytest.raises(NetworkError, match=message):
        load_network(agent(tmp_path), **options)


def test_other_files_have_no_names(tmp_path):
    with pytest.raises(NetworkError, match=r"named in \.onnx files only"):
        load_network(tmp_path / "net.nnet", outputs="y")


def test_a_scenario_takes_two_networks_out_of_one_file(tmp_path):
    agent(tmp_path, "Abs")
    folder = NetworkFolder(tmp_path)
    actor, critic = (folder.load("*.onnx", outputs=name) for name in ("logits", "value"))
    assert (actor.output_size, critic.output_size) == (3, 1)
    assert folder.load("*.onnx", outputs="logits") is actor
    assert folder.digests == {"net.onnx:logits": actor.digest, "net.onnx:value": critic.digest}


def test_an_input_that_nothing_uses_is_not_carried(tmp_path):
    nodes = [n("MatMul", "x w"), n("Relu"), n("MatMul", "_ w"), n("Relu")]
    network = load_network(save(tmp_path, model(nodes, inputs=("x", "z"), w=weights(3, 3))))
    assert network.sizes == (6, 3, 3)
    assert not np.any(network.layers[0].weight[:, 3:])


def test_many_tensors_that_are_kept_stay_cheap(tmp_path):
    nodes = [helper.make_node("Transpose", [f"t{i}" if i else "x"], [f"t{i + 1}"]) for i in range(4000)]
    nodes.append(helper.make_node("Sum", [f"t{i + 1}" for i in range(4000)], ["y"]))
    proto = model([n("Relu")], shape=(1, 1))
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    start = time.process_time()
    network = load_network(save(tmp_path, proto))
    assert time.process_time() - start < 5
    assert network.evaluate_exact([Fraction(1, 2)]) == (2000,)


def test_a_file_of_two_inputs_is_run_as_deployed(tmp_path):
    path = save(tmp_path, model([n("Sub", "x z"), n("Abs")], inputs=("x", "z"), shape=("N", 2)))
    network = load_network(path)
    name, _, outputs = run_deployed(path, network, [Fraction(v) for v in (1, 2, 4, -1)])
    assert name.startswith("onnxruntime")
    assert [*outputs] == [3, 3]


def residual(tmp_path):
    """``y = relu(1.5 x - 1) + x``, and then the lesser of it and 2."""
    nodes = [n("Mul", "_ a"), n("Sub", "_ o"), n("Relu"), n("Add", "_ x"), n("Min", "_ t")]
    return save(tmp_path, model(nodes, shape=(1, 1), a=f32(1.5), o=f32(1), t=f32(2)))


@pytest.mark.parametrize("mode", ["adaptive", "mono", "exact"])
def test_modes_decide_about_a_skip_connection(mode, tmp_path):
    system = System("skip")
    x = system.real("x", -3, 3)
    system.branch("go", x=apply_network(load_network(residual(tmp_path)), [x])[0])
    system.initial(x >= -1)
    assert verify(system, "AX (x >= -1 & x <= 2)", mode=mode).satisfied
    report = verify(system, "AX x < 2", mode=mode)
    assert report.violated and report.replay is not None and report.replay.confirmed


def test_a_held_tensor_is_carried_exactly():
    """Through a ReLU as a pair, alone where it is not negative, beside a division as it is."""
    chain = Chain((1, 2))
    chain.held["x"] = chain.current
    chain.divide(np.array([3.0, 5.0]))
    chain.relu()
    chain.held["r"] = chain.current
    chain.matmul(np.array([[1.0], [-1.0]]))
    chain.relu()
    chain.held["s"] = chain.current
    a, b, c = chain.held["x"], chain.held["r"], chain.held["s"]
    assert (len(a.parts), len(b.parts), len(c.parts)) == (2, 1, 1)
    chain.current = a
    network = chain.network("carried", "float64", "")
    point = [Fraction(1, 3), Fraction(-2, 7)]
    assert network.evaluate_exact(point) == tuple(point)


def test_the_root_is_the_nearest_float():
    for value in (*map(Fraction, (2, 4, 0.3, 1e-30, 1e30, 7e250, 3e-250)), Fraction(1, 3), Fraction(2) ** 64 + 1):
        found = root(value)
        low, high = (Fraction(np.nextafter(found, end)) for end in (0, np.inf))
        middle = [(Fraction(found) + other) / 2 for other in (low, high)]
        assert middle[0] ** 2 <= value <= middle[1] ** 2
    assert root(Fraction(4)) == 2


UNSURE = {
    "a normalisation of batches": model([n("BatchNormalization", "_ a a a a", epsilon=0.5)], shape=(1, 1), a=f32(0.5)),
    "a pool of averages": model([n("AveragePool", kernel_shape=[3])], shape=(1, 1, 3)),
    "a factor beside a product of matrices": model(
        [n("Div", "_ c"), n("MatMul", "_ w")], shape=(1, 1), c=f32(3), w=[f32(1)]
    ),
}


@pytest.mark.parametrize("name", UNSURE)
def test_single_precision_is_refused_where_runtimes_differ(name, tmp_path):
    network = load_network(save(tmp_path, UNSURE[name]))
    assert "single precision cannot be spoken for" in network.float32_obstacle
    copy = pickle.loads(pickle.dumps(network))
    assert copy == network and copy.float32_obstacle == network.float32_obstacle
    system = System("unsure")
    xs = [system.real(f"x{i}", -1, 1) for i in range(network.input_size)]
    y = apply_network(network, xs)[0]
    system.branch("go", **{f"x{i}": y / 1000 if i == 0 else 0 for i in range(network.input_size)})
    system.initial(xs[0] >= 0)
    assert verify(system, "AX x0 < 1").satisfied
    with pytest.raises(ModelError, match=f"has {name}, which runtimes compute in other ways"):
        verify(system, "AX x0 < 1", semantics="float32")


TINY = {"c": 1e-30, "m": [[[1e-30]]], "v": [[1e30]], "k": [[[[1e-30]]]], "l": [[[[1e30]]]]}


@pytest.mark.parametrize(
    ("nodes", "shape"),
    [
        ([n("Mul", "_ c"), n("Transpose", perm=[1, 0]), n("MatMul", "_ v")], (1, 1)),
        ([n("Conv", "_ k"), n("Identity"), n("Mul", "_ m"), n("Relu"), n("Conv", "_ l")], (1, 1, 1, 1)),
        ([n("Conv", "_ k"), n("Add", "_ m"), n("Mul", "_ m"), n("Relu"), n("Conv", "_ l")], (1, 1, 1, 1)),
    ],
)
def test_factors_that_onnxruntime_folds_are_not_spoken_for_in_single_precision(nodes, shape, tmp_path):
    """The folded numbers over- or underflow: single precision in the order of the file gives something else."""
    used = {name: np.array(value, np.float32) for name, value in TINY.items() if any(name in m[1] for m in nodes)}
    path = save(tmp_path, model(nodes, shape=shape, **used))
    network = load_network(path)
    x = np.full((1, 1), 1e30, np.float32)
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert not np.allclose(network.evaluate_float32(x), session.run(None, {"x": x.reshape(shape)})[0].ravel(), rtol=0.5)
    assert "a factor beside a product of matrices" in network.float32_obstacle


def test_factors_elsewhere_are_spoken_for_in_single_precision(tmp_path):
    chain = [n("Mul", "_ c"), n("Gemm", "_ w"), n("Relu"), n("Mul", "_ c"), n("Add", "_ c"), n("MatMul", "_ w")]
    path = save(tmp_path, model(chain, shape=(1, 1), c=f32(3), w=[f32(5)]))
    assert load_network(path).float32_obstacle is None


def test_a_pool_of_two_by_two_is_exact_in_single_precision(tmp_path):
    path = save(tmp_path, model([n("AveragePool", kernel_shape=[2, 2])], shape=(1, 1, 2, 2)))
    network = load_network(path)
    assert network.float32_obstacle is None
    assert network.evaluate_exact([Fraction(v) for v in (1, 2, 3, 5)]) == (Fraction(11, 4),)
