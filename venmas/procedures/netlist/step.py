"""What is to be ranked, and one step of it: an accepting component over the nodes of a circuit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from venmas.logic.automata.automaton import Edge
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.procedures.netlist.clauses import Invariant


@dataclass(frozen=True)
class Goal:
    """No run of the circuit stays in these edges of the automaton and takes the `strict` ones again and again.

    letters: of each atom of the automaton its node, of one bit. edges: those inside a strongly connected component.
    invariant: what may be assumed of the states that an edge is taken from.
    """

    circuit: Circuit
    letters: tuple[int, ...]
    edges: tuple[Edge, ...]
    strict: frozenset[Edge]
    invariant: Invariant = field(default_factory=Invariant)

    @property
    def states(self) -> tuple[int, ...]:
        """States of the automaton."""
        return tuple(sorted({edge.source for edge in self.edges} | {edge.target for edge in self.edges}))

    def fixed(self) -> dict[int, int]:
        """Inputs of one bit that all labels fix, with their values: what reads them is partially evaluated."""
        common = set.intersection(*(set(edge.label.literals()) for edge in self.edges))
        found = {self.letters[atom]: int(value) for atom, value in common}
        return {node: value for node, value in found.items() if node in self.circuit.inputs}


@dataclass(frozen=True)
class Step:
    """One step in one builder, with both its letters.

    before, after: of each register of the circuit its node, now and a step later. now, later: of each atom its node.
    inputs: of each input of the circuit its node now. here: the constraints that the letter now meets; assumed: those
    that both letters meet.
    """

    builder: Builder
    before: dict[int, int]
    after: dict[int, int]
    now: tuple[int, ...]
    later: tuple[int, ...]
    inputs: dict[int, int]
    here: tuple[int, ...]
    assumed: tuple[int, ...]

    def taken(self, edge: Edge) -> int:
        """One bit: the letter now has the label of the edge."""
        return self._label(self.now, edge)

    def leaves(self, edges: Sequence[Edge]) -> int:
        """One bit: the letter a step later has one of these labels (look-ahead: a run that stays takes one of them)."""
        return self.builder.any_of([self._label(self.later, edge) for edge in edges])

    def _label(self, letters: Sequence[int], edge: Edge) -> int:
        b = self.builder
        return b.all_of([letters[atom] if value else b.not_(letters[atom]) for atom, value in edge.label.literals()])


def step_of(circuit: Circuit, letters: Sequence[int]) -> Step:
    """The step relation, with fresh inputs for the letter after it."""
    b = Builder()
    before = {node: b.register(circuit.width(node)) for node in circuit.registers}
    inputs = {node: b.input(circuit.width(node)) for node in circuit.inputs}
    made = b.copy(circuit, {**before, **inputs}, [*circuit.next, *letters, *circuit.constraints])
    size, atoms = len(circuit.next), len(letters)
    after = dict(zip(circuit.registers, made[:size], strict=True))
    fresh = {node: b.input(circuit.width(node)) for node in circuit.inputs}
    there = b.copy(circuit, {**after, **fresh}, [*letters, *circuit.constraints])
    here = tuple(made[size + atoms :])
    assumed = (*here, *there[atoms:])
    return Step(b, before, after, tuple(made[size : size + atoms]), tuple(there[:atoms]), inputs, here, assumed)
