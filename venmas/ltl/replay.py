"""Replay of lassos: the run is simulated, the formula evaluated on its letters, and nothing else trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from venmas.circuit.nodes import Circuit
from venmas.circuit.operators import Words, words
from venmas.circuit.signals import shown_as
from venmas.circuit.simulate import first_states, step, values
from venmas.logic.formula import Formula
from venmas.logic.lassos import Lasso, doomed, holds
from venmas.logic.paths import Leaf, Proposition, leaves
from venmas.logic.printing import to_text
from venmas.ltl.binding import bind, signals, word_of


@dataclass(frozen=True)
class Run:
    """A run of a circuit for ever: states and inputs of each step, by name; after the last comes step `back`.

    back: None where the steps break the property whatever comes after them.
    Inputs without a name, bits that the design leaves undefined, are numbered. signals: of each step the other words
    that the formula reads, and what is seen of registers with an asynchronous reset. conditions: of each step those of
    the formula, as written there, with their truth. widths: bits of the registers, inputs and signals.
    """

    states: tuple[dict[str, int], ...]
    inputs: tuple[dict[str, int], ...]
    back: int | None
    conditions: tuple[dict[str, bool], ...]
    widths: dict[str, int]
    signals: tuple[dict[str, int], ...]

    @property
    def rows(self) -> list[dict[str, int]]:
        """Of each step all that people read; what a register holds behind a reset is left out, its signal is there."""
        steps = zip(self.states, self.signals, self.inputs, self.conditions, strict=True)
        rows = [{**state, **signals, **inputs, **truth} for state, signals, inputs, truth in steps]
        return [
            {name: int(value) for name, value in row.items() if (seen := shown_as(name)) == name or seen not in row}
            for row in rows
        ]


class Observed:
    """A formula on a circuit. circuit: the cone of its atoms and of `atoms`; more: the nodes of `atoms` in it.

    goes_on: from every state there is a run, as nothing is assumed of letters.
    """

    def __init__(self, circuit: Circuit, formula: Formula, atoms: Sequence[Leaf] = ()) -> None:
        self.formula, self._leaves = formula, leaves(formula)
        read = dict.fromkeys(filter(None, (word_of(circuit, name) for name in signals(formula))))
        self.circuit, found = bind(circuit, [*atoms, *self._leaves], list(read))
        letters, words_ = found[: len(found) - len(read)], found[len(found) - len(read) :]
        self.goes_on = not circuit.constraints
        self.more, self.letters = letters[: len(atoms)], letters[len(atoms) :]
        self._signals = self._shown(dict(zip(read, words_, strict=True)))

    def letter(self, state: Sequence[Words], inputs: Sequence[Words]) -> list[frozenset[Leaf]]:
        """The letters of a batch of states and inputs."""
        if not self.letters:  # of a formula like G false
            return [frozenset()] * max((len(column) for column in (*state, *inputs)), default=1)
        truth = values(self.circuit, state, inputs, self.letters)
        return [frozenset(leaf for leaf, value in zip(self._leaves, row, strict=True) if value) for row in _rows(truth)]

    def replay(self, first: Sequence[int], inputs: Sequence[Sequence[int]], back: int | None) -> Run | None:
        """The run from this state with these inputs, which then goes on at step `back` for ever, or (None) in any way.

        None where the state is not initial, a constraint is not met, the loop does not close, or the run has the
        property, or may have it.
        """
        circuit = self.circuit
        columns = [[self._one(n, v) for n, v in zip(circuit.inputs, one, strict=True)] for one in inputs]
        state = tuple(self._one(node, value) for node, value in zip(circuit.registers, first, strict=True))
        if any((a != b).any() for a, b in zip(first_states(circuit, state, columns[0]), state, strict=True)):
            return None
        if not all(value[0] for value in values(circuit, state, columns[0], circuit.starts)):
            return None
        states, letters = [], []
        for one in columns:
            if not all(value[0] for value in values(circuit, state, one, circuit.constraints)):
                return None
            states.append([int(column[0]) for column in state])
            letters += self.letter(state, one)
            state = step(circuit, state, one)
        if back is None:
            if not self.goes_on or not doomed(self.formula, letters):
                return None
        else:
            closed = [int(column[0]) for column in state] == states[back]
            if not closed or holds(self.formula, Lasso(tuple(letters[:back]), tuple(letters[back:]))):
                return None
        texts = {leaf: to_text(leaf) for leaf in self._leaves}
        return Run(
            self._named(circuit.registers, states),
            self._named(circuit.inputs, inputs),
            back,
            tuple({text: leaf in letter for leaf, text in texts.items()} for letter in letters),
            {circuit.name(node): circuit.width(node) for node in (*circuit.registers, *circuit.inputs)}
            | {name: circuit.width(node) for name, node in self._signals.items()},
            self._seen(states, inputs),
        )

    def _seen(self, states: Sequence[Sequence[int]], inputs: Sequence[Sequence[int]]) -> tuple[dict[str, int], ...]:
        """The signals of each step."""
        circuit = self.circuit
        state, given = (
            [words([row[at] for row in rows], circuit.width(node)) for at, node in enumerate(nodes)]
            for nodes, rows in ((circuit.registers, states), (circuit.inputs, inputs))
        )
        found = [np.broadcast_to(one, len(states)) for one in values(circuit, state, given, [*self._signals.values()])]
        return tuple(
            {name: int(one[at]) for name, one in zip(self._signals, found, strict=True)} for at in range(len(states))
        )

    def _shown(self, read: Mapping[str, int]) -> dict[str, int]:
        """The words that the formula reads, and those that show registers, unless they have a column anyway."""
        circuit = self.circuit
        columns = [circuit.name(node) for node in (*circuit.registers, *circuit.inputs)]
        seen = {shown_as(name): circuit.names.get(shown_as(name)) for name in columns}
        there = {*columns, *(leaf.name for leaf in self._leaves if isinstance(leaf, Proposition))}
        found = {name: node for name, node in {**read, **seen}.items() if node is not None and name not in there}
        return dict(sorted(found.items(), key=lambda one: one[0] not in read))

    def _one(self, node: int, value: int) -> Words:
        return words([value], self.circuit.width(node))

    def _named(self, nodes: Sequence[int], rows: Sequence[Sequence[int]]) -> tuple[dict[str, int], ...]:
        names = [self.circuit.name(node) for node in nodes]
        return tuple(dict(zip(names, row, strict=True)) for row in rows)


def _rows(columns: Sequence[Words]) -> list[tuple[int, ...]]:
    return [tuple(map(int, row)) for row in zip(*columns, strict=True)]
