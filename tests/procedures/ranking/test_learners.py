"""Learners of ranks by name, with exact proofs; and ranks as ReLU networks, equal to the neurons they come from."""

from __future__ import annotations

from tests.needs import needs

needs("onnxruntime")

import csv
import itertools
import random
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tests.procedures.ranking.proved import proved
from venmas import verify
from venmas.budget import Budget
from venmas.errors import CircuitError, SolverUnavailableError
from venmas.formats.btor2.reader import read_btor2
from venmas.formats.designs import load_machine
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import Op, mask, words
from venmas.procedures.netlist.mining import Neuron, Pool
from venmas.procedures.netlist.ranges import circuit_of
from venmas.procedures.ranking import gradient
from venmas.procedures.ranking.dense import Dense, Layer, pool_of
from venmas.procedures.ranking.learn import Network
from venmas.procedures.ranking.relu import relu_network, write_onnx


def published(data_dir: Path, key: str, index: int) -> tuple[Circuit, str]:
    folder = data_dir / "ltl"
    (row,) = [row for row in csv.DictReader((folder / "properties24.csv").open()) if row["property"] == key]
    return read_btor2(folder / "btor24" / f"{row['family']}_{index}.btor2"), row["ltl"]


@pytest.mark.parametrize("key", ["gray_a", "seven_seg_b", "delay_a", "pwm"])
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


def ranks(network: Network, point: tuple[int, ...]) -> list[int]:
    """By the circuit of the pool."""
    circuit = network.pool.circuit
    state = [words([value], circuit.width(node)) for value, node in zip(point, circuit.registers, strict=True)]
    values = [int(value) for value in network.pool.batch(state)[0]]
    return [sum(w * v for w, v in zip(row, values, strict=True)) for row in network.weights.values()]


def random_neurons(rng: random.Random) -> Network:
    """Neurons of every operator that has a ReLU form, over two registers of few bits."""
    b, outer = Builder(), Builder()
    registers = {outer.register(3): b.register(3), outer.register(2): b.register(2)}
    made = list(registers.values())
    circuit = Circuit(tuple(outer.nodes), (), tuple(registers), tuple(registers), (None, None))
    for _ in range(10):
        one = rng.choice(made)
        width = b.width(one)
        two = rng.choice([node for node in made if b.width(node) == width] + [b.const(rng.randrange(64), width)])
        bit = b.apply(rng.choice([Op.EQ, Op.ULT, Op.SLT]), [one, two])
        candidates = [
            bit,
            b.apply(rng.choice([Op.ADD, Op.SUB, Op.AND, Op.OR, Op.XOR]), [one, two]),
            b.apply(Op.MUL, [one, b.const(rng.randrange(64), width)]),
            b.apply(Op.ITE, [bit, one, two]),
            b.not_(one),
            b.apply(Op.SLICE, [one], [width - 1, width // 2]),
        ]
        if width < 6:
            candidates += [b.apply(rng.choice([Op.UEXT, Op.SEXT]), [one], [1]), b.apply(Op.CONCAT, [one, bit])]
        made.append(rng.choice(candidates))
    neurons = tuple(Neuron(node, f"n{node}", 1.0) for node in dict.fromkeys(made))
    weights = {state: tuple(rng.randint(-9, 9) for _ in neurons) for state in (1, 4)}
    return Network(weights, Pool(circuit, b, registers, neurons), 3)


@pytest.mark.parametrize("seed", range(60))
def test_relu_forms_are_equal_on_all_small_states(seed: int) -> None:
    network = random_neurons(random.Random(seed))
    form, _, states = relu_network([network])
    assert states == (1, 4)
    for point in itertools.product(range(8), range(4)):
        assert form.values(point) == ranks(network, point)


def trained(rng: random.Random) -> tuple[Network, dict[int, Dense]]:
    """A dense network with random weights."""
    outer = Builder()
    nodes = (outer.register(10), outer.register(1))
    circuit = Circuit(tuple(outer.nodes), (), nodes, nodes, (None, None))

    def whole(*shape: int) -> np.ndarray:
        return np.array([rng.randint(-40, 40) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)

    dense = {
        q: Dense((Layer(whole(4, 2), whole(4), 900), Layer(whole(3, 4), whole(3), 7000)), whole(3), rng.randint(-9, 9))
        for q in (0, 2)
    }
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


@pytest.mark.parametrize(("name", "key"), [("blink", "blinks"), ("vga", "shows"), ("i2c", "clocks")])
def test_mined_networks_are_written(name: str, key: str, tmp_path: Path) -> None:
    machine = load_machine(name)
    answer = verify(circuit_of(machine, Budget(20)), machine.properties[key], timeout=30)
    networks = [one.network for one in proved(answer).ranked]
    path, rng = tmp_path / "rank.onnx", random.Random(0)
    write_onnx(networks, str(path))
    session, circuit = onnxruntime.InferenceSession(str(path)), networks[0].pool.circuit
    for _ in range(200):
        point = tuple(rng.randint(0, mask(circuit.width(node))) for node in circuit.registers)
        expected = [value for network in networks for value in ranks(network, point)]
        assert session.run(None, {"registers": np.array([point], dtype=float)})[0][0].tolist() == expected


def test_what_has_no_relu_form_is_said() -> None:
    network = random_neurons(random.Random(0))
    b, one = network.pool.builder, next(iter(network.pool.registers.values()))
    neurons = (Neuron(b.apply(Op.UREM, [b.const(5, 3), one]), "5 mod a", 1.0),)
    odd = Network({1: (1,)}, Pool(network.pool.circuit, b, network.pool.registers, neurons), 3)
    with pytest.raises(CircuitError, match="operator urem"):
        relu_network([odd])
    wide = Network({1: (1 << 60,)}, Pool(network.pool.circuit, b, network.pool.registers, (Neuron(one, "a", 1.0),)), 3)
    with pytest.raises(CircuitError, match="63 bits, a double has 53"):
        relu_network([wide])
