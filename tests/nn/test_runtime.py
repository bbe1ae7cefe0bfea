"""Networks in floats: numpy and onnxruntime against the exact value, and against each other."""

from tests.needs import needs

needs("onnxruntime")

import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.nn.test_network import networks
from venmas.errors import NetworkError
from venmas.logic import nnf, parse
from venmas.model import System, apply_network, explain, replay
from venmas.nn import Layer, Network, relu_network
from venmas.nn.runtime import Numpy, OnnxRuntime

RUNTIMES = [Numpy(), OnnxRuntime()]
ROUNDING = {"float64": 2.0**-53, "float32": 2.0**-24}


def reach(network, x):
    """What the sums inside the network amount to without signs: rounding errors are relative to it."""
    h = np.abs(x)
    for layer in network.layers:
        h = (h @ np.abs(layer.weight.T)) + np.abs(layer.bias)
    return h


@pytest.mark.parametrize("precision", ROUNDING)
@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda r: r.name)
@given(network=networks(), data=st.data())
def test_near_the_exact_value(runtime, precision, network, data):
    x = data.draw(arrays(np.float64, (2, network.input_size), elements=st.floats(-10, 10, width=32)))
    found = runtime.evaluate(network, x, precision)
    exact = [[float(v) for v in network.evaluate_exact(list(map(Fraction, row)))] for row in x.tolist()]
    assert found.dtype == np.float64
    operations = 2 * sum(network.sizes) + 8
    allowed = operations * ROUNDING[precision] * reach(network, x) + 1e-30
    assert (np.abs(found - exact) <= allowed).all()


@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda r: r.name)
def test_the_precision_is_the_one_asked_for(runtime):
    network = relu_network([[[1 + 2.0**-30]]], [[0.0]])
    assert runtime.evaluate(network, np.ones((1, 1)), "float32") == 1
    assert runtime.evaluate(network, np.ones((1, 1)), "float64") == 1 + 2.0**-30


@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda r: r.name)
def test_a_violation_that_single_precision_does_not_show(runtime):
    """The output is 1 + 2**-30 at x = 1, which is 1 in float32; the run of the loop follows what it computes."""
    system = System("single")
    x = system.real("x", 0, 2)
    (y,) = apply_network(relu_network([[[1 + 2.0**-30]]], [[0.0]]), (x,))
    system.branch("step", {x: y})
    system.initial(x == 1)
    core = nnf(parse("EX^2 x > 1", system.vocabulary))
    runs = replay(system, core, explain(system, core, {"x": Fraction(1)}), runtime).floats
    assert runs["float64"].violated and not runs["float32"].violated
    assert runs["float64"].difference < 1e-15 < 1e-9 < runs["float32"].difference < 1e-8
    assert {run.runtime for run in runs.values()} == {runtime.name}


def test_a_network_that_onnxruntime_refuses_runs_on_numpy(caplog):
    class Broken(OnnxRuntime):
        def evaluate(self, network, x, precision):
            raise NetworkError("onnxruntime does not run it")

    system = System("refused")
    x = system.real("x", 0, 2)
    system.branch("step", {x: apply_network(relu_network([[[0.5]]], [[0.0]]), (x,))[0]})
    system.initial(x == 1)
    core = nnf(parse("EX x < 1", system.vocabulary))
    runs = replay(system, core, explain(system, core, {"x": Fraction(1)}), Broken()).floats
    assert {(run.violated, run.runtime) for run in runs.values()} == {(True, "numpy")}
    assert "onnxruntime does not run it; the floats of this replay are those of numpy" in caplog.text


def test_what_onnxruntime_cannot_run_is_named(monkeypatch):
    runtime = OnnxRuntime()
    with pytest.raises(NetworkError, match="onnxruntime does not run network 'net' in float32"):
        runtime.evaluate(Network((Layer(np.eye(2), np.zeros(2)),), "net"), np.ones((1, 3)), "float32")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError):
        OnnxRuntime()
