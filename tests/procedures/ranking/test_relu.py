"""Ranks as ReLU networks, equal to the neurons that they come from."""

from __future__ import annotations

from tests.needs import needs

needs("onnxruntime")

import itertools
import random
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tests.procedures.ranking.proved import proved
from venmas import verify
from venmas.budget import Budget
from venmas.errors import CircuitError
from venmas.formats.designs import load_machine
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import Op, mask, words
from venmas.procedures.netlist.mining import Neuron, Pool
from venmas.procedures.netlist.ranges import circuit_of
from venmas.procedures.ranking.learn import Network
from venmas.procedures.ranking.relu import relu_network, write_onnx


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


@pytest.mark.parametrize(("name", "key"), [("blink", "blinks"), ("vga", "shows"), ("i2c", "clocks")])
def test_mined_networks_are_written(name: str, key: str, tmp_path: Path) -> None:
    machine = load_machine(name)
    report = verify(circuit_of(machine, Budget(20)), machine.properties[key], timeout=30)
    networks = [one.network for one in proved(report).ranked]
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
