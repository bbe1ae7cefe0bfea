"""Sequences of a fixed length: all entries are inputs of one call, against onnxruntime and torch."""

from tests.needs import needs

needs("onnxruntime")

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import save, weights
from recurrent_models import GATES, recurrent_model

from venmas import verify
from venmas.errors import NetworkError
from venmas.model import System
from venmas.nn import load_recurrent
from venmas.nn.recurrent import Unrolled

CELLS = [("RNN", {}), ("LSTM", {}), ("GRU", {}), ("GRU", {"linear_before_reset": 1})]


def runs(path, xs, memory=()):
    """All outputs of onnxruntime, flat; xs: (entries, inputs)."""
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    entry, *kept = session.get_inputs()
    given = {i.name: m.reshape(i.shape).astype(np.float32) for i, m in zip(kept, memory, strict=True)}
    return [a.ravel() for a in session.run(None, {entry.name: xs.reshape(entry.shape).astype(np.float32), **given})]


def near(mine, theirs):
    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("kind", "attributes"), CELLS)
@pytest.mark.parametrize("length", [2, 3, 4, 5])
@pytest.mark.parametrize("last", [True, False])
def test_calls_are_those_of_onnxruntime(kind, attributes, length, last, tmp_path):
    path = save(tmp_path, recurrent_model(kind, states=False, steps=length, last=last, **attributes))
    network, rng = load_recurrent(path), np.random.default_rng(length)
    assert network.memory == () and network.input_size == 2 * length
    assert network.output_size == 3 * (1 if last else length)
    for _ in range(5):
        x = rng.normal(size=(length, 2))
        outputs, after = network.evaluate(x.ravel())
        assert after == []
        near(outputs, runs(path, x)[0])


@pytest.mark.parametrize(("kind", "attributes"), CELLS)
@pytest.mark.parametrize("last", [True, False])
def test_memory_goes_on_from_call_to_call_where_it_comes_in_and_goes_out(kind, attributes, last, tmp_path):
    path = save(tmp_path, recurrent_model(kind, steps=3, last=last, **attributes))
    network, rng = load_recurrent(path), np.random.default_rng(0)
    memory = theirs = [np.zeros(5) for _ in network.memory]
    assert len(memory) == 1 + (kind == "LSTM")
    for _ in range(4):
        x = rng.normal(size=(3, 2))
        outputs, memory = network.evaluate(x.ravel(), memory)
        y, *theirs = runs(path, x, theirs)
        near(np.concatenate([outputs, *memory]), np.concatenate([y, *theirs]))


def stacked(steps, *, both=False):
    """A GRU over a sequence, whose hidden states an LSTM goes on with, the last of which is the output."""
    constants, nodes = {}, []
    for name, kind, inputs in (("a", "GRU", 2), ("b", "LSTM", 4)):
        rows = GATES[kind] * 4
        constants |= {f"W{name}": weights(1, rows, inputs), f"R{name}": weights(1, rows, 4) / 2}
        entry = "x" if name == "a" else "flat"
        nodes.append(helper.make_node(kind, [entry, f"W{name}", f"R{name}"], [f"Y{name}", f"h{name}"], hidden_size=4))
        nodes.append(helper.make_node("Squeeze", [f"Y{name}", "axis"], ["flat" if name == "a" else "all"]))
    nodes[-1] = helper.make_node("Squeeze", ["hb", "axis"], ["y"])
    if both:
        nodes[-1:] = [
            helper.make_node("Sum", ["Yb", "hb"], ["sum"]),
            helper.make_node("Squeeze", ["sum", "axis"], ["y"]),
        ]
    constants["axis"] = np.array([0 if not both else 1], np.int64)
    nodes[1].input[1] = "direction"
    constants["direction"] = np.array([1], np.int64)
    stored = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    info = helper.make_tensor_value_info
    ends = info("x", TensorProto.FLOAT, (steps, 1, 2)), info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [ends[0]], [ends[1]], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


@pytest.mark.parametrize("length", [2, 5])
def test_layers_follow_each_other(length, tmp_path):
    path = save(tmp_path, stacked(length))
    network, x = load_recurrent(path), np.random.default_rng(1).normal(size=(length, 2))
    assert [cell.last for cell in network.cells] == [False, True]
    near(network.evaluate(x.ravel())[0], runs(path, x)[0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamo", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_torch_export_of_a_batch_first_sequence(dynamo, tmp_path):
    needs("torch")
    import torch

    class Policy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(2, 3), torch.nn.Linear(4, 2)
            self.cell = torch.nn.LSTM(3, 4, 2, batch_first=True)

        def forward(self, x):
            return self.last(torch.relu(self.cell(torch.relu(self.first(x)))[0]))

    torch.manual_seed(4)
    policy, path = Policy().eval(), tmp_path / "policy.onnx"
    more = {"external_data": False} if dynamo else {}
    torch.onnx.export(
        policy, (torch.zeros(1, 4, 2),), path, input_names=["x"], output_names=["y"], dynamo=dynamo, **more
    )
    network = load_recurrent(path)
    x = np.random.default_rng(2).normal(size=(1, 4, 2))
    with torch.no_grad():
        near(network.evaluate(x.ravel())[0], policy(torch.tensor(x, dtype=torch.float32)).numpy().ravel())


def test_the_length_and_what_is_shown_are_part_of_the_digest(tmp_path):
    kinds = [(length, last) for length in (2, 3) for last in (True, False)]
    paths = [
        save(tmp_path, recurrent_model("GRU", states=False, steps=length, last=last), f"{length}{last}.onnx")
        for length, last in kinds
    ]
    assert len({load_recurrent(path).digest for path in paths}) == 4


def test_a_system_sees_all_entries_in_a_step(tmp_path):
    path = save(tmp_path, recurrent_model("LSTM", states=False, steps=2, last=True, inputs=1, units=2, head=1))
    network, system = load_recurrent(path), System("two")
    now, before = system.real("now", -2, 2), system.real("before", -2, 2)
    (push,) = system.recurrent(network, [before, now])
    system.branch("go", {now: now / 2 + push / 100, before: now})
    system.initial(now == 1.25, before == 0)
    assert not system.memory
    (y,) = runs(path, np.array([0.0, 1.25]))[0]
    near, after = 1e-4, 1.25 / 2 + float(y) / 100
    assert verify(system, f"AX (now > {after - near:.6f} & now < {after + near:.6f})", timeout=60).satisfied
    assert verify(system, f"AX now > {after + near:.6f}", timeout=60).violated


REFUSED = {
    r"expected \[entries, 1, inputs\]": recurrent_model("GRU", steps=3, states=False),
    r"direction is 'reverse'|expected forward": recurrent_model("LSTM", steps=3, states=False, direction="reverse"),
    r"of all entries are used, and the last one": stacked(3, both=True),
    r"peepholes": recurrent_model("LSTM", steps=2, states=False, more={"P": weights(1, 15)}),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_recognised_is_refused_by_name(message, tmp_path):
    proto = REFUSED[message]
    if "entries, 1" in message:
        proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 2
    with pytest.raises(NetworkError, match=message):
        load_recurrent(save(tmp_path, proto))


def test_a_single_entry_stays_a_step(tmp_path):
    assert not any(isinstance(s, Unrolled) for s in load_recurrent(save(tmp_path, recurrent_model("GRU"))).stages)
