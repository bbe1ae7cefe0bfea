import pickle
import subprocess
import sys
import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from venmas.errors import NetworkError
from venmas.nn import Layer, Network, relu_network

pytestmark = pytest.mark.quick


def naive(network: Network, x):
    """The definition of design S2, in fractions and term by term."""
    for layer in network.layers:
        rows = zip(layer.exact_weight, layer.exact_bias, strict=True)
        x = [sum((w * v for w, v in zip(row, x, strict=True)), b) for row, b in rows]
        if layer.activation == "relu":
            x = [max(v, Fraction(0)) for v in x]
    return tuple(x)


WEIGHTS = st.floats(-100, 100)


@st.composite
def networks(draw, elements=WEIGHTS):
    sizes = draw(st.lists(st.integers(1, 5), min_size=2, max_size=5))
    layers = []
    for n, m in pairwise(sizes):
        if draw(st.booleans()):
            divisor = arrays(np.float64, n, elements=st.floats(0.01, 1e6) | st.floats(-1e6, -0.01))
            layers.append(Layer.dividing(draw(divisor), draw(st.sampled_from(["relu", "linear"]))))
        weight, bias = (
            draw(arrays(np.float64, (m, n), elements=elements)),
            draw(arrays(np.float64, m, elements=elements)),
        )
        layers.append(Layer(weight, bias, draw(st.sampled_from(["relu", "linear"]))))
    return Network(tuple(layers))


@given(networks(), st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_exact_evaluation_is_the_definition(network, data):
    x = data.draw(st.lists(st.fractions(-1000, 1000), min_size=network.input_size, max_size=network.input_size))
    assert network.evaluate_exact(x) == naive(network, x)


@given(networks(st.sampled_from([0.0, 5e-324, 1e17, -1e17, 1.7e308, 1e-9, 1.0])), st.data())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_exact_evaluation_of_extreme_weights(network, data):
    x = data.draw(st.lists(st.fractions(-2, 2), min_size=network.input_size, max_size=network.input_size))
    assert network.evaluate_exact(x) == naive(network, x)


@given(networks(), st.data())
def test_floats_are_near_the_exact_value(network, data):
    x = data.draw(arrays(np.float64, (3, network.input_size), elements=st.floats(-10, 10)))
    got = network.evaluate(x)
    size = np.abs(x)  # the size of what is added up, on which rounding errors are proportional
    for layer in network.layers:
        size = size @ np.abs(layer.weight).T + np.abs(layer.bias)
    for row, value, scale in zip(x, got, size, strict=True):
        exact = [float(v) for v in network.evaluate_exact([Fraction(float(v)) for v in row])]
        np.testing.assert_allclose(value, exact, rtol=1e-9, atol=1e-12 * scale.max() + 1e-300)
        np.testing.assert_allclose(network.evaluate(row), value, rtol=1e-9, atol=1e-12 * scale.max() + 1e-300)


def test_a_small_network_by_hand():
    network = relu_network([[[1, -2], [3, 0.5]], [[1, -1]]], [[0.25, -1], [0.125]])
    # hidden units: 1/3 - 2/7 + 1/4 = 25/84 and 3/3 + 1/14 - 1 = 1/14
    assert network.evaluate_exact([Fraction(1, 3), Fraction(1, 7)]) == (
        Fraction(25, 84) - Fraction(1, 14) + Fraction(1, 8),
    )
    assert network.evaluate_exact([Fraction(-5), Fraction(0)]) == (Fraction(1, 8),)  # both units off
    np.testing.assert_array_equal(network.evaluate([[1.0, 0.0], [-5.0, 0.0]]), [[-0.625], [0.125]])
    assert [layer.activation for layer in network.layers] == ["relu", "linear"]
    assert network.sizes == (2, 2, 1)


def test_division_keeps_the_true_value():
    layer = Layer.dividing([3.0, -5.0])
    network = Network((layer,))
    assert network.evaluate_exact([Fraction(1), Fraction(1)]) == (Fraction(1, 3), Fraction(-1, 5))
    assert layer.weight_error == 2.0**-53
    for i in range(2):
        true, stored = layer.exact_weight[i][i], Fraction(float(layer.weight[i, i]))
        assert abs(true - stored) <= Fraction(layer.weight_error) * abs(stored)
        assert true != stored
    assert Layer.dividing([4.0, -0.5]).weight_error == 0.0
    assert Network((Layer.dividing([4.0]),)).evaluate_exact([Fraction(1)]) == (Fraction(1, 4),)
    assert network.evaluate_float32([1.0, 1.0])[0] == np.float32(1) / np.float32(3)


@pytest.mark.parametrize("divisor", [0.0, np.nan, np.inf, 5e-324, 1.7e308])
def test_divisors_without_a_normal_reciprocal(divisor):
    with pytest.raises(NetworkError, match="division"):
        Layer.dividing([1.0, divisor])


def test_identity_is_that_of_the_function_stored():
    one = relu_network([[[1.0, -0.0]]], [[0.0]], name="a")
    same = relu_network([[[1.0, 0.0]]], [[-0.0]], name="b", dtype="float32")
    assert one == same
    assert hash(one) == hash(same)
    others = [
        relu_network([[[1.0, 5e-324]]], [[0.0]]),
        Network((Layer(np.array([[1.0, 0.0]]), np.zeros(1), "relu"),)),
        relu_network([[[1.0], [0.0]]], [[0.0, 0.0]]),
        Network((Layer.dividing([3.0]),)),
        Network((Layer(Layer.dividing([3.0]).weight, np.zeros(1)),)),
    ]
    assert len({one.digest, *(o.digest for o in others)}) == 6
    assert one != "a"


def test_pickle_keeps_all_but_the_caches():
    network = Network((Layer(np.ones((2, 3)), np.ones(2), "relu"), Layer.dividing([3.0, 7.0])), "n", "float32", "file")
    before = len(pickle.dumps(network))
    value = network.evaluate_exact([Fraction(1)] * 3)
    network.evaluate(np.ones(3))
    copy = pickle.loads(pickle.dumps(network))
    assert len(pickle.dumps(network)) == before
    assert (copy, copy.name, copy.dtype, copy.source) == (network, "n", "float32", "file")
    assert copy.evaluate_exact([Fraction(1)] * 3) == value
    for layer in (*network.layers, *copy.layers):
        assert not layer.weight.flags.writeable
        assert not layer.bias.flags.writeable


def test_layers_own_their_arrays():
    weight = np.ones((1, 1))
    layer = Layer(weight, np.zeros(1))
    weight[0, 0] = 2
    assert layer.weight[0, 0] == 1


def test_float32_evaluation_rounds_after_every_operation():
    network = relu_network([[[1.0, 1.0]], [[1.0]]], [[0.0], [-16777216.0]])
    assert network.evaluate([16777216.0, 1.0])[0] == 1
    result = network.evaluate_float32([16777216.0, 1.0])
    assert (result[0], result.dtype) == (0, np.float32)


BAD = {
    "layer 2 of 2: takes 3 inputs, the layer before it gives 1": [(np.ones((1, 2)), [0]), (np.ones((1, 3)), [0])],
    r"layer 1 of 1: .*bias of shape \(2,\)": [(np.ones((2, 2)), [0])],
    r"layer 1 of 1: .*weight matrix": [(np.ones(2), [0])],
    r"layer 1 of 1: .*weight matrix of shape \(out, in\), got shape \(0, 2\)": [(np.ones((0, 2)), [])],
    r"layer 2 of 2: weight\[0, 1\] is nan": [(np.ones((2, 1)), [0, 0]), ([[1, np.nan]], [0])],
    r"layer 1 of 1: bias\[1\] is -inf": [(np.ones((2, 1)), [0, -np.inf])],
    "no layers": [],
}


@pytest.mark.parametrize("message", BAD)
def test_networks_that_are_none(message):
    layers = tuple(Layer(np.asarray(w), np.asarray(b)) for w, b in BAD[message])
    with pytest.raises(NetworkError, match=message):
        Network(layers)


def test_other_misuse():
    with pytest.raises(NetworkError, match="not an array of numbers"):
        Layer([[1], [1, 2]], [0])
    with pytest.raises(NetworkError, match="activation"):
        Network((Layer(np.ones((1, 1)), np.zeros(1), "softplus"),))
    with pytest.raises(NetworkError, match="dividing"):
        Network((Layer(np.ones((1, 1)), np.zeros(1), "linear", np.array([3.0])),))
    with pytest.raises(NetworkError, match="1 weight matrices, but 2 biases"):
        relu_network([[[1.0]]], [[0.0], [0.0]])
    network = relu_network([[[1.0, 1.0]]], [[0.0]])
    for x in ([1.0], [[1.0]], [[[1.0, 1.0]]], 1.0):
        with pytest.raises(NetworkError, match="takes inputs"):
            network.evaluate(x)
    with pytest.raises(NetworkError, match="takes 2 inputs"):
        network.evaluate_exact([Fraction(1)])


@pytest.mark.parametrize(("sizes", "limit"), [((3, 20, 20, 20, 20, 20, 9), 0.02), ((9, 32, 32, 4), 0.003)])
def test_exact_evaluation_is_quick_enough_for_every_replay(sizes, limit):
    rng = np.random.default_rng(0)
    pairs = list(pairwise(sizes))
    network = relu_network(
        [rng.normal(size=(m, n)).astype(np.float32) for n, m in pairs],
        [rng.normal(size=m).astype(np.float32) for _, m in pairs],
    )
    x = [Fraction(int(v), 7919) for v in rng.integers(-9999, 9999, sizes[0])]
    network.evaluate_exact(x)
    best = min(_seconds(network, x) for _ in range(20))
    assert best < limit


def _seconds(network, x):
    start = time.perf_counter()
    network.evaluate_exact(x)
    return time.perf_counter() - start


def test_importing_the_package_is_light():
    """Readers are imported when a file asks for them: nothing of onnx, h5py or their like comes with the package."""
    code = "import sys, venmas.nn; print(sorted({'onnx', 'h5py', 'tensorflow', 'scipy'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
