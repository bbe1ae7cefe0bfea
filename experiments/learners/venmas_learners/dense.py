"""Dense networks as neurons: integer layers over the registers, each unit a sum that is clamped to 0 .. top.

    h1 = clamp(W1 x + b1; 0, t1),   h2 = clamp(W2 h1 + b2; 0, t2),   V = sum of weights times h2, and a constant

There is no rounding inside, as there are no shifts: all weights are integers, and a scale is the same for a whole layer
(Giacobbe et al., NeurIPS 2024, section 4.3, shift back after each one). Units of the last layer are neurons as mined
ones are, so that obligations, proofs and certificates know one kind of network only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from venmas.model.circuit.builder import Builder
from venmas.model.circuit.integers import Word, bits, constant, ite
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import Words
from venmas.procedures.netlist.mining import Clamp, Neuron, Pool

Part = tuple[int, int | None, int]
"""A layer (after the hidden ones that of the rank), a unit of it (None: all), and an input: the weights of these."""


@dataclass(frozen=True)
class Layer:
    """Units with integer weights, shape (units, inputs), and biases, shape (units,), clamped to 0 .. tops."""

    weights: Words
    biases: Words
    tops: Words

    def of(self, units: Words) -> Layer:
        """Those of its units, Boolean."""
        return Layer(self.weights[units], self.biases[units], self.tops[units])


@dataclass(frozen=True)
class Dense:
    """A rank: hidden layers, weights of the last one's units, a constant."""

    layers: tuple[Layer, ...]
    weights: Words
    constant: int

    def values(self, states: Words) -> Words:
        """Ranks of states, shape (n, registers), exactly: ints of 64 bits where these hold every sum."""
        most = int(np.abs(states).max(initial=0))
        for layer in self.layers:
            most = max(
                most * int(np.abs(layer.weights).sum()) + int(np.abs(layer.biases).sum()),
                int(max(layer.tops, default=0)),
            )
        most = most * int(np.abs(self.weights).sum()) + abs(self.constant)
        kind = np.int64 if most < 1 << 62 else object
        held = states.astype(kind)
        for layer in self.layers:
            held = np.clip(held @ layer.weights.astype(kind).T + layer.biases.astype(kind), 0, layer.tops.astype(kind))
        return np.asarray(held @ self.weights.astype(kind) + self.constant)

    def parts(self) -> list[Part]:
        """What may be left out: units, the last layer's first, then single weights."""
        found: list[Part] = [(len(self.layers), 0, at) for at in range(len(self.weights))]
        for depth in range(len(self.layers) - 1, 0, -1):
            found += [(depth, None, at) for at in range(self.layers[depth].weights.shape[1])]
        for depth, layer in enumerate(self.layers):
            found += [(depth, unit, at) for unit, at in np.argwhere(layer.weights != 0).tolist()]
        return found

    def without(self, part: Part) -> Dense:
        """The rank with these weights 0."""
        depth, unit, at = part
        if depth == len(self.layers):
            weights = self.weights.copy()
            weights[at] = 0
            return replace(self, weights=weights)
        layers = list(self.layers)
        weights = layers[depth].weights.copy()
        weights[slice(None) if unit is None else unit, at] = 0
        layers[depth] = replace(layers[depth], weights=weights)
        return replace(self, layers=tuple(layers))


def pool_of(circuit: Circuit, ranks: Mapping[int, Dense]) -> tuple[Pool, dict[int, tuple[int, ...]]]:
    """The last hidden units of all ranks as neurons, and of each state of the automaton its weights of these."""
    b = Builder()
    registers = {node: b.register(circuit.width(node)) for node in circuit.registers}
    units = [
        _Held(Word(b, registers[n], 0, (1 << circuit.width(n)) - 1), circuit.name(n), at)
        for at, n in enumerate(circuit.registers)
    ]
    one = Neuron(b.const(1, 1), "1", 0.0)
    neurons: dict[int, Neuron] = {one.node: one}
    weights: dict[int, dict[int, int]] = {}
    for state, rank in ranks.items():
        held = units
        for layer in rank.layers:
            rows = zip(layer.weights, layer.biases, layer.tops, strict=True)
            held = [_unit(b, held, row, bias, int(top)) for row, bias, top in rows]
        found = weights[state] = {one.node: rank.constant}
        for weight, unit in zip(rank.weights, held, strict=True):
            if weight:
                node = unit.word.node
                neurons.setdefault(
                    node, Neuron(node, unit.text, 0.0, None if isinstance(unit.form, int) else unit.form)
                )
                found[node] = found.get(node, 0) + int(weight)
    order = tuple(neurons)
    rows_ = {state: tuple(found.get(node, 0) for node in order) for state, found in weights.items()}
    return Pool(circuit, b, registers, tuple(neurons.values())), rows_


@dataclass(frozen=True)
class _Held:
    """What a layer reads: a word, its text, and the place of the register or the unit that it is."""

    word: Word
    text: str
    form: int | Clamp


def _unit(b: Builder, held: Sequence[_Held], row: Words, bias: int, top: int) -> _Held:
    total, text = constant(b, int(bias)), f"{int(bias):+d}" if bias else ""
    for weight, one in zip(row, held, strict=True):
        if weight:
            total, text = total + one.word * int(weight), f"{text} {int(weight):+d} {one.text}"
    kept = ite(total < 0, 0, ite(total > top, top, total))
    terms = tuple((int(weight), one.form) for weight, one in zip(row, held, strict=True) if weight)
    word = Word(b, kept.fitted(bits(0, top)), 0, top)
    return _Held(word, f"clamp({text.strip() or '0'}; 0, {top})", Clamp(terms, int(bias), top))
