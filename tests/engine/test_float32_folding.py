"""Constants of files under ``--semantics float32``: what a runtime computes with them is what is bounded."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from venmas import System, load_network, verify
from venmas.errors import ModelError
from venmas.model import apply_network
from venmas.nn.deployed import run_deployed


def saved(folder, op, dtype=np.float32, **more):
    """One node from x (1, 1) to y; arrays are constants, numbers attributes."""
    constants = {k: np.asarray(v, dtype) for k, v in more.items() if isinstance(v, list)}
    node = helper.make_node(op, ["x", *constants], ["y"], **{k: v for k, v in more.items() if k not in constants})
    kind = TensorProto.FLOAT if dtype == np.float32 else TensorProto.DOUBLE
    ends = [helper.make_tensor_value_info(n, kind, (1, 1)) for n in "xy"]
    tensors = [numpy_helper.from_array(v, k) for k, v in constants.items()]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], tensors)
    path = folder / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path))
    return path


# (node, x, expected real value, what the value may be off by)
CASES = {
    "alpha after an overflow": (("Gemm", {"w": [[2.0**100]], "alpha": 2.0**-100}), 2.0**40, 2.0**40, 1.0),
    "alpha after an underflow": (
        ("Gemm", {"w": [[2.0**-140]], "alpha": 2.0**120}),
        1.25 * 2.0**-10,
        1.25 * 2.0**-30,
        2.0**-34,
    ),
    "alpha that underflows": (("Gemm", {"w": [[2.0**60]], "alpha": 2.0**-149}), 2.0**-61, 2.0**-150, 2.0**-152),
    "a divisor that float32 rounds to infinity": (
        ("Div", {"d": [3 * 2.0**128], "dtype": np.float64}),
        2.0**110,
        2.0**-18 / 3,
        2.0**-22,
    ),
    "a power of two that float32 rounds to infinity": (
        ("Div", {"d": [2.0**130], "dtype": np.float64}),
        2.0**110,
        2.0**-20,
        2.0**-22,
    ),
}


@pytest.mark.parametrize("mode", ["adaptive", "exact", "mono"])
@pytest.mark.parametrize("name", CASES)
def test_what_float32_does_not_compute_is_not_shown_for_it(name, mode, tmp_path):
    (op, more), point, value, off = CASES[name]
    path = saved(tmp_path, op, **more)
    network = load_network(path)
    (single,) = network.evaluate_float32([point])
    assert not abs(float(single) - value) <= off
    if "dtype" not in more:
        assert not abs(float(run_deployed(path, network, [point])[2][0]) - value) <= off
    system = System("folded")
    x = system.real("x", -(2.0**120), 2.0**120)
    (y,) = apply_network(network, (x,))
    system.branch("step", {x: y})
    system.initial(x == point)
    formula = f"AX (x >= {value - off!r} & x <= {value + off!r})"
    assert verify(system, formula, mode=mode, timeout=20).satisfied
    try:
        report = verify(system, formula, mode=mode, semantics="float32", timeout=20)
        verdict, told = report.verdict.value, report.message
    except ModelError as error:
        verdict, told = "unknown", str(error)
    assert verdict == "unknown"
    assert "float32" in told


def test_alpha_and_beta_near_one_are_shown(tmp_path):
    path = saved(tmp_path, "Gemm", w=[[3.0]], c=[0.3], alpha=0.7, beta=-1.7)
    network = load_network(path)
    system = System("usual")
    x = system.real("x", -10, 10)
    (y,) = apply_network(network, (x,))
    system.branch("step", {x: y})
    system.initial(x == 1)
    value = float(network.evaluate([1.0])[0])
    formula = f"AX (x >= {value - 1e-5!r} & x <= {value + 1e-5!r})"
    assert verify(system, formula, semantics="float32", timeout=20).satisfied
