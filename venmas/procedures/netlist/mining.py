"""Mining of neurons: integer functions of the registers that are read off the netlist, by levels of richness.

A network is a weighted sum of them (docs/ltl.md). Every one is a node over registers alone, so that
simulation, solver and checker read the same thing; its ReLU form is in `network`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit, needed
from venmas.model.circuit.operators import Op, Words, words
from venmas.model.circuit.simulate import evaluate, step
from venmas.procedures.netlist.step import Goal

LEVELS = (0, 1, 2, 3)
"""0: registers. 1: and values of control registers. 2: and thresholds, and conditions. 3: and pairs of conditions."""
CONTROL_BITS = 2
"""Registers up to this width are control registers, whatever their values."""
CONTROL_VALUES = 4
"""So are those that take at most so many values."""
SAMPLES = 4000
"""Random states by which two neurons are told apart."""
_MOST = 4000  # neurons of one level


@dataclass(frozen=True)
class Clamp:
    """A unit that is a sum of weights times registers (by their place) or other units, and a bias, kept to 0 .. top."""

    terms: tuple[tuple[int, int | Clamp], ...]
    bias: int
    top: int


@dataclass(frozen=True)
class Neuron:
    """A function of the registers: a node of the pool's circuit, its name in the certificate, its cost in the LP.

    clamp: of a neuron that was learned as a unit the unit, which its node computes.
    """

    node: int
    text: str
    cost: float
    clamp: Clamp | None = None


@dataclass(frozen=True)
class Pool:
    """Neurons up to some level. builder: the nodes over the registers of `circuit`, which are its leaves in order."""

    circuit: Circuit
    builder: Builder
    registers: dict[int, int]
    neurons: tuple[Neuron, ...]

    def batch(self, state: Sequence[Words]) -> Words:
        """Values of the neurons, shape (states, neurons), Python ints where a register has over 62 bits."""
        known = {self.registers[n]: column for n, column in zip(self.circuit.registers, state, strict=True)}
        size = len(state[0]) if state else 1
        columns = evaluate(self.builder, known, [neuron.node for neuron in self.neurons])
        columns = [column if len(column) == size else np.repeat(column, size) for column in columns]
        wide = any(column.dtype == object for column in columns)
        return np.stack([column.astype(object) if wide else column for column in columns], axis=1)


def control_registers(circuit: Circuit, seed: int = 0) -> list[int]:
    """Registers that steer: few bits, or few values after some steps from random states."""
    rng = np.random.default_rng(seed)
    state = tuple(random_words(rng, circuit.width(node), 200) for node in circuit.registers)
    for _ in range(20):
        inputs = [random_words(rng, circuit.width(node), 200) for node in circuit.inputs]
        state = step(circuit, state, inputs)
    return [
        node
        for node, column in zip(circuit.registers, state, strict=True)
        if circuit.width(node) <= CONTROL_BITS or len(set(column.tolist())) <= CONTROL_VALUES
    ]


def random_words(rng: np.random.Generator, width: int, count: int) -> Words:
    """Random words, half of them small or large."""
    if width <= 62:
        column = rng.integers(0, 1 << width, count)
        small = rng.integers(0, min(4, 1 << width), count)
        pick = rng.integers(0, 4, count)
        chosen: Words = np.where(pick == 0, small, np.where(pick == 1, (1 << width) - 1 - small, column))
        return chosen
    return words([int.from_bytes(rng.bytes((width + 7) // 8), "big") % (1 << width) for _ in range(count)], width)


def pool(goal: Goal, level: int, control: Sequence[int], states: Sequence[Words]) -> Pool:
    """The neurons of a level. `states`: of each register a batch of values, by which equal neurons are one."""
    circuit, b = goal.circuit, Builder()
    registers = {node: b.register(circuit.width(node)) for node in circuit.registers}
    wide = [node for node in circuit.registers if circuit.width(node) > 1]
    found = [Neuron(b.const(1, 1), "1", 1e-6)]
    found += [Neuron(registers[node], circuit.name(node), 1.0) for node in circuit.registers]
    conditions: list[tuple[int, str]] = []
    if level >= 1:
        for node in control:
            seen = (
                range(1 << circuit.width(node)) if circuit.width(node) <= CONTROL_BITS else _seen(circuit, node, states)
            )
            here = [(value, b.apply(Op.EQ, [registers[node], b.const(value, circuit.width(node))])) for value in seen]
            conditions += [(at, f"[{circuit.name(node)}={value}]") for value, at in here]
    if level >= 2:
        conditions += _thresholds(goal, b, registers, wide)
        conditions += _conditions(goal, b, registers)
    conditions = list({node: (node, text) for node, text in reversed(conditions)}.values())[::-1]
    if level >= 3:
        plain = conditions[: int((2 * _MOST) ** 0.5)]
        for at, (one, first) in enumerate(plain):
            conditions += [(b.apply(Op.AND, [one, two]), f"{first}*{second}") for two, second in plain[at + 1 :]]
    found += [Neuron(node, text, 1e-6) for node, text in conditions]
    for node, text in conditions:
        for register in wide:
            if len(found) < _MOST:
                zero = b.const(0, circuit.width(register))
                both = b.apply(Op.ITE, [node, registers[register], zero])
                found.append(Neuron(both, f"{text}*{circuit.name(register)}", 2.0 + (level >= 3)))
    return _distinct(Pool(circuit, b, registers, tuple(found)), states)


def _seen(circuit: Circuit, node: int, states: Sequence[Words]) -> list[int]:
    return sorted({int(value) for value in states[circuit.registers.index(node)][-200:]})[:CONTROL_VALUES]


def _thresholds(goal: Goal, b: Builder, registers: dict[int, int], wide: Sequence[int]) -> list[tuple[int, str]]:
    """[r > k] for constants of comparators of the netlist, and one below."""
    circuit, constants = goal.circuit, compared(goal.circuit)
    found = []
    for register in wide:
        width = circuit.width(register)
        for k in sorted({c + d for c in constants for d in (-1, 0)}):
            if 0 <= k < (1 << width) - 1:
                node = b.apply(Op.ULT, [b.const(k, width), registers[register]])
                found.append((node, f"[{circuit.name(register)}>{k}]"))
    return found


def compared(circuit: Circuit) -> set[int]:
    """Constants that comparators of the netlist meet."""
    constants: set[int] = set()
    for node in circuit.nodes:
        if node.op in (Op.EQ, Op.ULT, Op.SLT):
            sides = [circuit.nodes[arg] for arg in node.args]
            constants |= {side.params[0] for side in sides if side.op is Op.CONST}
    return constants


def _conditions(goal: Goal, b: Builder, registers: dict[int, int]) -> list[tuple[int, str]]:
    """Single bits of the netlist that depend on registers only, once inputs that all labels fix are fixed."""
    circuit, fixed = goal.circuit, goal.fixed()
    inputs = {n: b.const(fixed[n], 1) if n in fixed else b.input(circuit.width(n)) for n in circuit.inputs}
    order = needed(circuit, [*circuit.next, *goal.letters])
    made = b.copy(circuit, {**registers, **inputs}, order)
    free = {node for n, node in inputs.items() if n not in fixed}
    reads: dict[int, bool] = {}
    for index in range(len(b.nodes)):
        reads[index] = index in free or any(reads[arg] for arg in b.nodes[index].args)
    found = []
    for index, node in zip(order, made, strict=True):
        if b.width(node) == 1 and b.value(node) is None and not reads[node]:
            found.append((node, f"[{circuit.name(index)}]"))
    return found


def _distinct(pool_: Pool, states: Sequence[Words]) -> Pool:
    """Of neurons with the same values the first; the constant comes first."""
    table = pool_.batch(states)
    kept: dict[bytes, Neuron] = {}
    for neuron, column in zip(pool_.neurons, table.T, strict=True):
        key = column.tobytes() if column.dtype != object else repr(column.tolist()).encode()
        if neuron.node != pool_.neurons[0].node and not (column != 0).any():
            continue
        kept.setdefault(key, neuron)
    return Pool(pool_.circuit, pool_.builder, pool_.registers, tuple(kept.values()))


def sampled_states(circuit: Circuit, seed: int = 0, count: int = SAMPLES) -> tuple[Words, ...]:
    """Random states, some that runs from them come to, and some with registers next to constants of comparators."""
    rng = np.random.default_rng(seed)
    state = tuple(random_words(rng, circuit.width(node), count // 2) for node in circuit.registers)
    later = state
    for _ in range(10):
        later = step(circuit, later, [random_words(rng, circuit.width(node), count // 2) for node in circuit.inputs])
    near = sorted({c + d for c in compared(circuit) for d in (-1, 0, 1)})
    columns = []
    for node, one, two in zip(circuit.registers, state, later, strict=True):
        fit = [value for value in near if 0 <= value < 1 << circuit.width(node)]
        other = random_words(rng, circuit.width(node), 2 * len(near))
        for value in fit:
            other[2 * near.index(value) + rng.integers(2)] = value
        columns.append(np.concatenate((one, two, other)))
    return tuple(columns)
