"""Cells that PyTorch writes out as products and units: against torch step by step, and what is no cell is refused."""

from tests.needs import needs

needs("torch")

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from venmas.errors import NetworkError
from venmas.nn import load_recurrent

XS = np.random.default_rng(3).normal(size=(8, 2))


class Policy(torch.nn.Module):  # type: ignore[misc]
    """Layers, cells one after the other, a layer."""

    def __init__(self, kind: str, sizes: tuple[int, ...] = (4,), bias: bool = True, inputs: int = 3) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.lstm, self.first = kind == "LSTMCell", torch.nn.Linear(2, inputs)
        cells = [getattr(torch.nn, kind)(n, m, bias=bias) for n, m in zip((inputs, *sizes), sizes, strict=False)]
        self.cells, self.last = torch.nn.ModuleList(cells), torch.nn.Linear(sizes[-1], 2)
        self.sizes = [m for m in sizes for _ in range(1 + self.lstm)]

    def forward(self, x: Any, *memory: Any) -> Any:
        x, after = torch.relu(self.first(x)), []
        for k, cell in enumerate(self.cells):
            new = cell(x, (memory[2 * k], memory[2 * k + 1])) if self.lstm else (cell(x, memory[k]),)
            after += new
            x = new[0]
        return self.last(x), *after


def export(policy: Any, path: Path, dynamo: bool) -> Path:
    names = [f"m{k}" for k in range(len(policy.sizes))]
    torch.onnx.export(
        policy.eval(), (torch.zeros(1, 2), *(torch.zeros(1, m) for m in policy.sizes)), path, dynamo=dynamo,
        input_names=["x", *names], output_names=["y", *(f"{name}_out" for name in names)], verbose=False,
        **({"external_data": False} if dynamo else {}),
    )  # fmt: skip
    return path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "dynamo", "settings"),
    [
        ("LSTMCell", False, {}),
        pytest.param("LSTMCell", True, {"sizes": (4, 3)}, marks=pytest.mark.slow),  # the exporter takes 8 s to load
        ("LSTMCell", False, {"sizes": (3, 3)}),
        ("GRUCell", False, {"sizes": (4, 4)}),
        pytest.param("GRUCell", True, {}, marks=pytest.mark.slow),
    ],
)
def test_steps_are_those_of_torch(kind: str, dynamo: bool, settings: dict[str, Any], tmp_path: Path) -> None:
    policy = Policy(kind, **settings)
    network, mine = load_recurrent(export(policy, tmp_path / "p.onnx", dynamo)), None
    memory = [torch.zeros(1, m) for m in policy.sizes]
    assert [cell.kind for cell in network.cells] == [kind.removesuffix("Cell")] * len(policy.cells)
    for x in XS:
        with torch.no_grad():
            y, *memory = policy(torch.tensor(x[None], dtype=torch.float32), *memory)
        answer, mine = network.evaluate(x, mine)
        for ours, theirs in zip([answer, *mine], [y, *memory], strict=True):
            np.testing.assert_allclose(ours, theirs.numpy()[0], atol=1e-5)


def altered(name: str, model: Any) -> Any:
    """A model that is no cell any more, or does not say which input is its memory."""
    graph = model.graph
    by_op = {node.op_type: node for node in graph.node}
    if name == "another unit":
        by_op["Sigmoid"].op_type = "Tanh"
    elif name == "a factor":
        next(
            a
            for a in next(n for n in graph.node if n.op_type == "Gemm" and "hh" in n.input[1]).attribute
            if a.name == "alpha"
        ).f = 2
    elif name == "no output":
        del graph.output[-1]
    elif name == "another axis":
        next(a for a in by_op["Split"].attribute if a.name == "axis").i = 0
    return model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", ["another unit", "a factor", "no output", "another axis"])
@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell"])
def test_what_is_no_cell_is_refused(kind: str, what: str, tmp_path: Path) -> None:
    path = export(Policy(kind), tmp_path / "p.onnx", False)
    onnx.save(altered(what, onnx.load(path)), path)
    with pytest.raises(NetworkError, match="nor an LSTMCell or GRUCell"):
        load_recurrent(path)


class Bare(torch.nn.Module):  # type: ignore[misc]
    """An LSTMCell that sees as many numbers as it has units, so that either input may be its memory."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.sizes = torch.nn.LSTMCell(2, 2), [2, 2]

    def forward(self, x: Any, h: Any, c: Any) -> Any:
        h, c = self.cell(x, (h, c))
        return h + 0, h, c


@pytest.mark.filterwarnings("ignore")
def test_a_memory_that_could_be_either_input_is_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="nor an LSTMCell or GRUCell"):
        load_recurrent(export(Bare(), tmp_path / "p.onnx", False))
