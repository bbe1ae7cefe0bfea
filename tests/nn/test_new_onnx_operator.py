"""The recipe of an ONNX operator, and of an activation that ReLU can say: HardSigmoid, in one room and by one file.

``max(0, min(1, alpha x + beta))`` is lowered to ReLU and affine layers in the reader, so that no interpreter of
networks has to know it. Each step that is left out shows.
"""

from tests.needs import needs

needs("onnxruntime")

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx_models import RNG, f32, model, n, run, save, weights
from test_onnx_table import test_the_table_holds_what_is_read_and_nothing_else as table_is_what_is_read
from test_onnx_table import test_the_table_says_what_onnx_says as table_agrees_with_onnx

from venmas import System, verify
from venmas.errors import NetworkError
from venmas.model import apply_network
from venmas.nn import load_network
from venmas.nn.onnx_operators import OPERATORS, Passage
from venmas.nn.onnx_table import FLOAT, TABLE, Attribute, Call, Form

ATTRIBUTES = {"alpha": Attribute(FLOAT, np.float32(0.2).item()), "beta": Attribute(FLOAT, 0.5)}


def hard_sigmoid(passage: Passage, call: Call) -> None:
    """Let the tensor pass: min(1, v) = 1 - relu(1 - v)."""
    chain, one = passage.chain, np.ones(())
    chain.scale(np.array(call.attributes["alpha"]))
    chain.add(np.array(call.attributes["beta"]))
    chain.relu()
    chain.scale(-one)
    chain.add(one)
    chain.relu()
    chain.scale(-one)
    chain.add(one)


Step = Callable[[pytest.MonkeyPatch], None]
STEPS: dict[str, Step] = {
    "row": lambda patch: patch.setitem(TABLE, "HardSigmoid", (Form(6, "X", ATTRIBUTES),)),
    "method": lambda patch: patch.setitem(OPERATORS, "HardSigmoid", hard_sigmoid),
}


def file(folder: Path) -> Path:
    """Two layers with the operator between them, its numbers once given and once left to their defaults."""
    nodes = [n("Gemm", "_ w b"), n("HardSigmoid", alpha=0.25, beta=0.5), n("HardSigmoid"), n("MatMul", "_ v")]
    return save(folder, model(nodes, w=weights(3, 4), b=weights(4), v=weights(4, 2)))


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    for step in STEPS.values():
        step(monkeypatch)


@pytest.mark.usefixtures("added")
def test_it_is_read_as_onnxruntime_runs_it(tmp_path: Path) -> None:
    table_is_what_is_read()
    table_agrees_with_onnx("HardSigmoid")
    path, xs = file(tmp_path), (8 * RNG.normal(size=(50, 3))).astype(np.float32)
    network = load_network(path)
    np.testing.assert_allclose(network.evaluate(xs), run(path, xs), rtol=1e-4, atol=1e-5)
    assert {layer.activation for layer in network.layers} == {"relu", "linear"}


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize("mode", ["adaptive", "mono", "exact"])
def test_modes_decide_about_it(mode: str, tmp_path: Path) -> None:
    path = save(tmp_path, model([n("HardSigmoid", alpha=0.5, beta=0.5), n("Mul", "_ c")], shape=(1, 1), c=f32(2)))
    system = System("gate")
    x = system.real("x", -4, 4)
    system.branch("go", x=apply_network(load_network(path), [x])[0])
    system.initial(x >= -4)
    assert verify(system, "AX (x >= 0 & x <= 2)", mode=mode).satisfied
    report = verify(system, "AX x < 2", mode=mode)
    assert report.violated and report.replay is not None and report.replay.confirmed


@pytest.mark.parametrize("left_out", STEPS)
def test_no_step_can_be_left_out(left_out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, step in STEPS.items():
        if name != left_out:
            step(monkeypatch)
    with pytest.raises(AssertionError):
        table_is_what_is_read()
    with pytest.raises((NetworkError, KeyError), match="HardSigmoid"):
        load_network(file(tmp_path))


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize(
    "form",
    [
        Form(6, "X", {**ATTRIBUTES, "alpha": Attribute(FLOAT, 0.5)}),
        Form(6, "X", {"alpha": ATTRIBUTES["alpha"]}),
        Form(6, "X Y", ATTRIBUTES),
        Form(6, "X", ATTRIBUTES, 2),
    ],
    ids=["another default", "an attribute less", "an input more", "an output more"],
)
def test_a_row_that_onnx_does_not_have_is_told(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLE, "HardSigmoid", (form,))
    with pytest.raises(AssertionError):
        table_agrees_with_onnx("HardSigmoid")
