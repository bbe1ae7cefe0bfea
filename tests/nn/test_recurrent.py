"""Networks with memory: cells against onnxruntime and torch, and what is refused by name."""

from tests.needs import needs

needs("onnxruntime")

from fractions import Fraction
from pathlib import Path

import numpy as np
import operator_table
import pytest
from onnx import defs, helper
from onnx_models import model, n, save, weights
from recurrent_models import recurrent_model, run_along, run_steps

from venmas.errors import NetworkError
from venmas.model import NetworkFolder
from venmas.nn import load_network, load_recurrent
from venmas.nn.onnx_table import OLDEST, RECURRENT, form_of
from venmas.nn.recurrent import Cell

CELLS = [("RNN", {}), ("LSTM", {}), ("GRU", {}), ("GRU", {"linear_before_reset": 1})]
XS = np.random.default_rng(3).normal(size=(12, 2))


@pytest.mark.parametrize(("kind", "attributes"), CELLS)
@pytest.mark.parametrize("opset", [7, 13, 14, 22])
@pytest.mark.parametrize("bias", [True, False])
def test_steps_are_those_of_onnxruntime(kind, attributes, opset, bias, tmp_path):
    path = save(tmp_path, recurrent_model(kind, opset=opset, bias=bias, **attributes))
    network, memory = load_recurrent(path), None
    assert [size for _, size in network.memory] == [5] * len(network.cells[0].memory)
    for x, (y, after) in zip(XS, run_steps(path, XS, 5), strict=True):
        found, memory = network.evaluate(x, memory)
        for mine, theirs in zip([found, *memory], [y, *after], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("kind", "attributes"), CELLS)
def test_memory_is_kept_along_a_sequence_without_a_length(kind, attributes, tmp_path):
    path = save(tmp_path, recurrent_model(kind, states=False, steps="T", **attributes))
    network, memory = load_recurrent(path), None
    for x, y in zip(XS, run_along(path, XS), strict=True):
        found, memory = network.evaluate(x, memory)
        np.testing.assert_allclose(found, y, rtol=1e-4, atol=2e-5)


def test_a_batch_is_its_rows(tmp_path):
    network = load_recurrent(save(tmp_path, recurrent_model("LSTM")))
    memory = [np.random.default_rng(0).normal(size=(4, 5)) for _ in range(2)]
    y, after = network.evaluate(XS[:4], memory)
    for k in range(4):
        one, kept = network.evaluate(XS[k], [part[k] for part in memory])
        np.testing.assert_allclose(y[k], one)
        np.testing.assert_allclose(after[1][k], kept[1])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "dynamo", "layers"),
    [("RNN", False, 1), ("GRU", False, 1), ("LSTM", False, 2), ("GRU", True, 2), ("LSTM", True, 1), ("LSTM", True, 2)],
)
def test_torch_exports(kind, dynamo, layers, tmp_path):
    needs("torch")
    import torch

    class Policy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(2, 3), torch.nn.Linear(4, 2)
            self.cell = getattr(torch.nn, kind)(3, 4, layers)

        def forward(self, x, *memory):
            y, after = self.cell(torch.relu(self.first(x)), memory if kind == "LSTM" else memory[0])
            return self.last(y), *(after if kind == "LSTM" else (after,))

    torch.manual_seed(4)
    policy, path = Policy().eval(), tmp_path / "policy.onnx"
    memory = [torch.zeros(layers, 1, 4) for _ in range(1 + (kind == "LSTM"))]
    names = ["h", "c"][: len(memory)]
    more = {"external_data": False} if dynamo else {}
    torch.onnx.export(
        policy, (torch.zeros(1, 1, 2), *memory), path, input_names=["x", *names], dynamo=dynamo, **more,
        output_names=["y", *(f"{name}_out" for name in names)],
    )  # fmt: skip
    network, mine = load_recurrent(path), None
    for x in XS:
        with torch.no_grad():
            y, *memory = policy(torch.tensor(x, dtype=torch.float32).reshape(1, 1, 2), *memory)
        found, mine = network.evaluate(x, mine)
        np.testing.assert_allclose(found, y.numpy().ravel(), rtol=1e-4, atol=1e-5)


def test_biases_add_up_exactly():
    """A sum of biases that no float holds takes a layer of its own."""
    big, small = np.full(3, 1.0), np.full(3, 2.0**-60)
    for more, layers in ((small, 2), (np.full(3, 0.25), 1)):
        cell = Cell("RNN", weights(3, 2).astype(float), weights(3, 3).astype(float), (big, more))
        (network,) = cell.networks
        assert len(network.layers) == layers
        total = sum((layer.exact_bias[0] for layer in network.layers), Fraction(0))
        assert total == 1 + Fraction(more[0])


W = {"W": weights(1, 4, 3), "R": weights(1, 4, 4)}
REFUSED = {
    "direction is 'reverse'|expected forward": recurrent_model("LSTM", direction="reverse"),
    r"expected the activations Sigmoid, Tanh": recurrent_model("GRU", activations=["Sigmoid", "Relu"]),
    r"'clip' is 3": recurrent_model("LSTM", clip=3.0),
    r"coupled|'input_forget' is 1": recurrent_model("LSTM", input_forget=1),
    r"layout 0": recurrent_model("RNN", layout=1),
    r"peepholes": recurrent_model("LSTM", more={"P": weights(1, 15)}),
    r"not kept from step to step": recurrent_model("LSTM", states=False),
    r"expected 7 or later": recurrent_model("RNN", opset=6),
    r"hidden_size": None,
    r"no RNN, GRU or LSTM": model([n("Relu")]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_recognised_is_refused_by_name(message, tmp_path):
    proto = REFUSED[message]
    if proto is None:
        proto = recurrent_model("GRU")
        attribute = next(a for a in proto.graph.node[0].attribute if a.name == "hidden_size")
        attribute.i = 4
    with pytest.raises(NetworkError, match=message):
        load_recurrent(save(tmp_path, proto))


def test_an_initial_state_that_is_not_zero_is_refused(tmp_path):
    proto = recurrent_model("GRU", states=False, steps="T", more={})
    from onnx import numpy_helper

    proto.graph.initializer.append(numpy_helper.from_array(np.ones((1, 1, 5), np.float32), "begin"))
    proto.graph.node[0].input.append("begin")
    with pytest.raises(NetworkError, match="'begin' is not zero"):
        load_recurrent(save(tmp_path, proto))


def test_a_way_around_the_cell_is_refused(tmp_path):
    proto = recurrent_model("GRU", head=2)
    proto.graph.node[-1].output[0] = "z"
    proto.graph.node.append(helper.make_node("Add", ["z", "x"], ["y"]))
    with pytest.raises(NetworkError, match=r"depends on \['x'\]"):
        load_recurrent(save(tmp_path, proto))


def test_the_cell_state_is_no_output_of_a_policy(tmp_path):
    proto = recurrent_model("LSTM")
    with pytest.raises(NetworkError, match="'c1'"):
        load_recurrent(save(tmp_path, proto), outputs="c1")


def test_load_network_names_the_remedy(tmp_path):
    with pytest.raises(NetworkError, match="load_recurrent"):
        load_network(save(tmp_path, recurrent_model("GRU", states=False)))


@pytest.mark.parametrize("op", RECURRENT)
def test_the_forms_are_those_of_onnx(op):
    for opset in range(max(OLDEST, 7), defs.onnx_opset_version() + 1):
        schema, form = defs.get_schema(op, opset, ""), form_of(op, opset)
        assert set(form.attributes) == set(schema.attributes), opset
        assert all(form.attributes[name].kind == known.type.value for name, known in schema.attributes.items())
        assert [role.rstrip("?!*") for role in form.inputs.split()] == [i.name for i in schema.inputs]
        assert form.outputs == schema.max_output


def test_a_scenario_loads_one_by_name(tmp_path):
    save(tmp_path, recurrent_model("GRU"), "agent.onnx")
    folder = NetworkFolder(tmp_path)
    network = folder.load_recurrent("*.onnx")
    assert folder.load_recurrent("agent.onnx") is network and folder.digests == {"agent.onnx": network.digest}
    assert [file.name for file in folder.files] == ["agent.onnx"]


def test_the_page_has_the_forms():
    page = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text(encoding="utf-8")
    table = page[page.index(operator_table.RECURRENT_HEAD[0]) :].split("\n\n")[0].splitlines()
    assert table == [*operator_table.RECURRENT_HEAD, *operator_table.recurrent_rows()]
