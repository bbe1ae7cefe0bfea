"""Learners of ranks that are plug-ins: by name, with exact proofs; those of VenMAS, and one of another package."""

from __future__ import annotations

from tests.needs import needs

needs("onnxruntime", "venmas_learners", "torch")

import csv
import random
import sys
from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from venmas_learners import gradient
from venmas_learners.dense import Dense, Layer, pool_of
from venmas_learners.shifts import Shifted, ShiftLayer, shifted_pool

from tests.procedures.ranking.proved import proved
from tests.procedures.ranking.test_relu import ranks
from tests.slow import some_slow
from venmas import verify
from venmas.budget import Budget
from venmas.errors import SolverUnavailableError, UsageError
from venmas.formats.btor2.reader import read_btor2
from venmas.formats.designs import load_machine
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.procedures.netlist.ranges import circuit_of
from venmas.procedures.ranking import learn, learners
from venmas.procedures.ranking.learn import Network
from venmas.procedures.ranking.relu import relu_network, write_onnx
from venmas.runtime import plugins
from venmas.runtime.choices import LEARNERS


def published(data_dir: Path, key: str, index: int) -> tuple[Circuit, str]:
    folder = data_dir / "ltl"
    (row,) = [row for row in csv.DictReader((folder / "properties24.csv").open()) if row["property"] == key]
    return read_btor2(folder / "btor24" / f"{row['family']}_{index}.btor2"), row["ltl"]


@pytest.mark.parametrize(
    "key", ["gray_a", "seven_seg_b", "delay_a", "pwm", pytest.param("lcd", marks=pytest.mark.slow)]
)
def test_trained_networks_prove_published_tasks(data_dir: Path, key: str) -> None:
    circuit, text = published(data_dir, key, 1)
    answer = verify(circuit, text, timeout=250, tune={"ranking.learner": "gradient"})
    ranked = proved(answer).ranked
    assert all(one.network.level == gradient.LEVEL for one in ranked)
    assert all(len(one.steps) == len(one.goal.edges) for one in ranked)


@pytest.mark.parametrize(("key", "index"), [("delay_a", 1), ("vga", 1), ("seven_seg_b", 2)])
def test_hyperplanes_prove_published_tasks(data_dir: Path, key: str, index: int) -> None:
    circuit, text = published(data_dir, key, index)
    answer = verify(circuit, text, timeout=120, tune={"ranking.learner": "milp"})
    assert proved(answer).ranked


@pytest.mark.parametrize("learner", ["milp", "gradient"])
def test_learners_prove_nothing_that_is_false(learner: str) -> None:
    circuit = circuit_of(load_machine("pwm", size=5), Budget(10))
    assert not verify(circuit, "G F pulse", timeout=4, tune={"ranking.learner": learner}).satisfied


def test_pytorch_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    circuit = circuit_of(load_machine("delay"), Budget(10))
    with pytest.raises(SolverUnavailableError, match=r"needs PyTorch, which is not installed: .*train"):
        verify(circuit, "F G !rst -> G F sig", timeout=10, tune={"ranking.learner": "gradient"})


def trained(rng: random.Random) -> tuple[Network, dict[int, Dense]]:
    """A dense network with random weights."""
    outer = Builder()
    nodes = (outer.register(10), outer.register(1))
    circuit = Circuit(tuple(outer.nodes), (), nodes, nodes, (None, None))

    def whole(*shape: int) -> np.ndarray:
        return np.array([rng.randint(-40, 40) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)

    def layer(units: int, inputs: int, top: int) -> Layer:
        return Layer(whole(units, inputs), whole(units), np.full(units, top, dtype=object))

    dense = {q: Dense((layer(4, 2, 900), layer(3, 4, 7000)), whole(3), rng.randint(-9, 9)) for q in (0, 2)}
    pool, weights = pool_of(circuit, dense)
    return Network(weights, pool, 4), dense


@pytest.mark.parametrize("seed", range(10))
def test_dense_ranks_are_one_thing_to_everyone(seed: int, tmp_path: Path) -> None:
    """Layers, the nodes that obligations are asked of, ReLU units, and the file as onnxruntime computes it."""
    rng = random.Random(seed)
    network, dense = trained(rng)
    form, _, _ = relu_network([network])
    path = tmp_path / "rank.onnx"
    write_onnx([network], str(path))
    session = onnxruntime.InferenceSession(str(path))
    for _ in range(60):
        point = (rng.choice([0, 1023, rng.randrange(1024)]), rng.randrange(2))
        expected = [int(one.values(np.array([point], dtype=object))[0]) for one in dense.values()]
        assert ranks(network, point) == expected
        assert form.values(point) == expected
        assert session.run(None, {"registers": np.array([point], dtype=float)})[0][0].tolist() == expected


@pytest.mark.parametrize("seed", range(10))
def test_shifts_round_as_the_words_of_the_netlist_do(seed: int) -> None:
    """Negative sums, too; an element-wise layer, a clamped one, and the last; with and without one more input."""
    rng = random.Random(seed)
    outer = Builder()
    nodes = (outer.register(10), outer.register(1))
    circuit = Circuit(tuple(outer.nodes), (), nodes, nodes, (None, None))
    more = (rng.randint(0, 900),) * (seed % 2)
    size = 2 + len(more)

    def whole(*shape: int) -> np.ndarray:
        return np.array([rng.randint(-40, 40) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)

    layers = [(whole(size) * np.eye(size, dtype=object), whole(size) * 0, None), (whole(3, size), whole(3), 50 << 4)]
    layers.append((whole(1, 3), whole(1), None))
    rank = Shifted((7, 300), more, tuple(ShiftLayer(*layer) for layer in layers), 4)
    pool, weights = shifted_pool(circuit, {0: rank})
    for _ in range(60):
        point = (rng.choice([0, 1023, rng.randrange(1024)]), rng.randrange(2))
        held = [point[0] * 7, point[1] * 300, *more]
        for matrix, biases, top in layers:  # as appendix A writes it, in floor division
            sums = [sum(w * x for w, x in zip(row, held, strict=True)) // 16 for row in matrix]
            held = [one + bias for one, bias in zip(sums, biases, strict=True)]
            held = held if top is None else [max(0, min(top, one)) for one in held]
        assert int(rank.values(np.array([point], dtype=object))[0]) == held[0]
        assert ranks(Network(weights, pool, 4), point) == held


TOY = """
from venmas.procedures.ranking.learn import rank

asked = []

def learner(goal, budget, figures):
    asked.append(goal)
    return rank(goal, budget, figures)

class Learner:
    pass
"""


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets the learners of one distribution be all that are installed."""

    def install(entries: str) -> None:
        (tmp_path / "toy_learner.py").write_text(TOY)
        folder = tmp_path / "toys-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[{plugins.LEARNERS}]\n{entries}\n")
        (made,) = distributions(path=[str(tmp_path)])
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(plugins, "points", lambda group: tuple(made.entry_points.select(group=group)))
        registry = learners._LEARNERS
        monkeypatch.setattr(
            learners, "_LEARNERS", plugins.Registry(registry.what, registry.group, registry.own, registry._misfit)
        )

    return install


@pytest.mark.parametrize("variant", some_slow(["small", "medium", "large", "extra", "mono", "shifts"], [0, 4]))
def test_architectures_of_the_paper_prove(only: Callable[[str], None], data_dir: Path, variant: str) -> None:
    only(f"variant = venmas_learners.gradient:{variant}")
    circuit, text = published(data_dir, "gray_a", 1)
    answer = verify(circuit, text, timeout=250, tune={"ranking.learner": "variant"})
    assert [one.network.level for one in proved(answer).ranked] == [gradient.LEVEL]


def test_a_learner_of_another_package(only: Callable[[str], None]) -> None:
    only("toy = toy_learner:learner")
    assert learners.learner_names() == (*LEARNERS, "toy")
    circuit = circuit_of(load_machine("delay"), Budget(10))
    assert verify(circuit, "F G !rst -> G F sig", timeout=60, tune={"ranking.learner": "toy"}).satisfied
    assert sys.modules.pop("toy_learner").asked


TOY_FAILS = "def learner(goal, budget, figures):\n    figures.levels.append('toy: nothing learned')\n"


def test_what_decides_in_place_of_a_learner_is_told(
    only: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only("toy = toy_fails:learner")
    (tmp_path / "toy_fails.py").write_text(TOY_FAILS)
    circuit = circuit_of(load_machine("delay", delay=5000), Budget(10))
    answer = verify(circuit, "F G !rst -> G F sig", timeout=60, tune={"ranking.learner": "toy"})
    assert answer.satisfied
    assert any(note.startswith(f"decided by {answer.decided_by}, not by the learner toy: ") for note in answer.notes)
    assert any("toy: nothing learned" in note for note in answer.notes)
    assert not verify(circuit, "F G !rst -> G F sig", timeout=60).notes
    sys.modules.pop("toy_fails")


@pytest.mark.parametrize("name", ["milp", "gradient"])
def test_a_learner_that_is_not_installed_is_refused(only: Callable[[str], None], name: str) -> None:
    """Ours says how to install it; what nobody knows is told from what there is."""
    only("toy = toy_learner:learner")
    circuit = circuit_of(load_machine("delay"), Budget(10))
    with pytest.raises(UsageError, match=rf"'{name}' is a plug-in .*not installed: pip install ./experiments/learners"):
        verify(circuit, "F G !rst -> G F sig", timeout=10, tune={"ranking.learner": name})
    with pytest.raises(UsageError, match="unknown learner 'best': choose one of auto, mined, toy"):
        learners.get_learner("best")


@pytest.mark.parametrize(
    "entry", ["toy = toy_learner:Learner", "toy = toy_learner:asked", "mined = toy_learner:learner"]
)
def test_what_is_no_learner_is_left_out(
    only: Callable[[str], None], entry: str, caplog: pytest.LogCaptureFixture
) -> None:
    only(entry)
    with caplog.at_level("WARNING"):
        assert learners.learner_names() == tuple(LEARNERS)
    assert "is left out: " in caplog.text
    assert learners.get_learner("mined") is learn.rank
    sys.modules.pop("toy_learner", None)
