"""Replay of lassos: the run is simulated, the formula evaluated on its letters, and nothing else trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from venmas.logic.formula import Formula
from venmas.logic.lassos import Lasso, doomed, holds
from venmas.logic.paths import Leaf, Proposition, leaves
from venmas.logic.printing import to_text
from venmas.model.circuit.binding import bind, signals, word_of
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import Words, words
from venmas.model.circuit.signals import shown_as
from venmas.model.circuit.simulate import first_states, step, values
from venmas.model.witness.lasso import Run


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
            back,
            tuple({text: leaf in letter for leaf, text in texts.items()} for letter in letters),
            (),
            self._named(circuit.inputs, inputs),
            self._seen(states, inputs),
            {circuit.name(node): circuit.width(node) for node in (*circuit.registers, *circuit.inputs)}
            | {name: circuit.width(node) for name, node in self._signals.items()},
        )

    def again(self, run: Run) -> Run | None:
        """The run of a stored result, replayed. None where it shows nothing, or is of another circuit."""
        names = [[self.circuit.name(n) for n in nodes] for nodes in (self.circuit.registers, self.circuit.inputs)]
        if run.branches or any(set(row) != set(names[1]) for row in run.inputs) or set(run.states[0]) != set(names[0]):
            return None
        first = [int(run.states[0][name]) for name in names[0]]
        inputs = [[row[name] for name in names[1]] for row in run.inputs]
        for nodes, rows in ((self.circuit.registers, [first]), (self.circuit.inputs, inputs)):
            widths = [self.circuit.width(node) for node in nodes]
            if any(not 0 <= value < 1 << width for row in rows for value, width in zip(row, widths, strict=True)):
                return None
        return self.replay(first, inputs, run.back)

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
