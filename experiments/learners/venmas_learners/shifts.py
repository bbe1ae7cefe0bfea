"""Quantised networks with arithmetic shifts, as published: every number is an integer that stands for it times 2^f.

    input:        scale of the register, truncated, times its value
    each layer:   ashr(sum of weight * input; f) + bias, clamped to 0 .. 2^f u where the layer is a hidden one

Giacobbe, Kroening, Pal, Tautschnig, *Neural Model Checking*, NeurIPS 2024, appendix A. Element-wise layers are layers
whose weights are a diagonal. The clamps keep all sums within bounds that are known, so that words never wrap around.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from venmas.model.circuit.builder import Builder
from venmas.model.circuit.integers import Word, constant, ite
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import Words
from venmas.procedures.netlist.mining import Neuron, Pool


@dataclass(frozen=True)
class ShiftLayer:
    """Integer weights, shape (units, inputs), and biases; top: the units are kept to 0 .. top, None: they are not."""

    weights: Words
    biases: Words
    top: int | None


@dataclass(frozen=True)
class Shifted:
    """A rank. scales: of each register; more: inputs besides that are the same in all states; places: f."""

    scales: tuple[int, ...]
    more: tuple[int, ...]
    layers: tuple[ShiftLayer, ...]
    places: int

    def values(self, states: Words) -> Words:
        """Ranks of states, shape (n, registers), exactly."""
        held = states.astype(object) * np.array(self.scales, dtype=object)
        held = np.concatenate((held, np.tile(np.array(self.more, dtype=object), (len(states), 1))), axis=1)
        for layer in self.layers:
            held = (held @ layer.weights.T >> self.places) + layer.biases
            if layer.top is not None:
                held = np.clip(held, 0, layer.top)
        return np.asarray(held[:, 0])

    def word(self, b: Builder, registers: Sequence[Word]) -> Word:
        """The same over nodes."""
        held = [one * scale for one, scale in zip(registers, self.scales, strict=True)]
        held += [constant(b, one) for one in self.more]
        for layer in self.layers:
            rows = zip(layer.weights, layer.biases, strict=True)
            held = [self._unit(b, held, row, int(bias), layer.top) for row, bias in rows]
        return held[0]

    def _unit(self, b: Builder, held: Sequence[Word], row: Words, bias: int, top: int | None) -> Word:
        """One unit; positive and negative weights are summed apart, and subtracted once (equation 8)."""
        sides = [constant(b, 0), constant(b, 0)]
        for weight, one in zip(row, held, strict=True):
            if weight:
                sides[weight < 0] = sides[weight < 0] + one * abs(int(weight))
        total = sides[0] - sides[1]
        lift = -(total.low >> self.places)  # a shift of what is not negative rounds down, as ashr does
        kept = (total + (lift << self.places) >> self.places) + (bias - lift)
        if top is None:
            return kept
        kept = ite(kept < 0, 0, ite(kept > top, top, kept))
        return Word(b, kept.fitted(top.bit_length()), 0, top)


def shifted_pool(circuit: Circuit, ranks: Mapping[int, Shifted]) -> tuple[Pool, dict[int, tuple[int, ...]]]:
    """Each rank, less its least value, as a neuron; of each state of the automaton its weights of these."""
    b = Builder()
    registers = {node: b.register(circuit.width(node)) for node in circuit.registers}
    read = [Word(b, node, 0, (1 << b.width(node)) - 1) for node in registers.values()]
    one = b.const(1, 1)
    neurons, weights = {one: Neuron(one, "1", 0.0)}, {}
    for state, rank in ranks.items():
        word = rank.word(b, read)
        node = (word - word.low).fitted(max(1, (word.high - word.low).bit_length()))
        neurons.setdefault(node, Neuron(node, f"network{state}", 0.0))
        weights[state] = {node: 1, one: word.low} if node != one else {one: 1 + word.low}
    rows = {state: tuple(found.get(node, 0) for node in neurons) for state, found in weights.items()}
    return Pool(circuit, b, registers, tuple(neurons.values())), rows
