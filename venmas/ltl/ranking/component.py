"""What is to be ranked: an accepting component of the automaton of the negated property, over the nodes of a circuit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from venmas.circuit.builder import Builder
from venmas.circuit.nodes import Circuit


@dataclass(frozen=True)
class Edge:
    """A transition of the automaton: taken where the letter has these values of one-bit nodes.

    marks: the acceptance sets that it belongs to.
    """

    source: int
    label: tuple[tuple[int, bool], ...]
    target: int
    marks: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Component:
    """A strongly connected part of the automaton with all edges inside it; labels speak of nodes of `circuit`."""

    circuit: Circuit
    edges: tuple[Edge, ...]

    @cached_property
    def states(self) -> tuple[int, ...]:
        """States of the automaton."""
        return tuple(sorted({edge.source for edge in self.edges} | {edge.target for edge in self.edges}))

    @cached_property
    def marks(self) -> tuple[int, ...]:
        """Acceptance sets that edges belong to."""
        return tuple(sorted(frozenset().union(*(edge.marks for edge in self.edges))))

    @cached_property
    def letters(self) -> tuple[int, ...]:
        """Nodes that labels speak of."""
        return tuple(sorted({node for edge in self.edges for node, _ in edge.label}))

    def fixed(self) -> dict[int, int]:
        """Inputs of one bit that all labels fix, with their values; what reads them is partially evaluated by it."""
        common = set(self.edges[0].label).intersection(*(edge.label for edge in self.edges))
        return {node: int(value) for node, value in common if node in self.circuit.inputs}


@dataclass(frozen=True)
class Product:
    """One step of the product in one builder: letters before and after it, registers on both sides.

    before, after: of each register of the circuit its node, now and a step later. now, later: of each letter its node.
    assumed: constraints of both letters.
    """

    builder: Builder
    before: dict[int, int]
    after: dict[int, int]
    now: dict[int, int]
    later: dict[int, int]
    assumed: tuple[int, ...]

    def label(self, edge: Edge, later: bool = False) -> int:
        """One bit: the letter, now or a step later, meets the label."""
        letters = self.later if later else self.now
        b = self.builder
        return b.all_of([letters[node] if value else b.not_(letters[node]) for node, value in edge.label])


def product(circuit: Circuit, letters: Sequence[int]) -> Product:
    """The step relation with fresh inputs for the letter after it (look-ahead, R2 of the specification)."""
    b = Builder()
    before = {node: b.register(circuit.width(node)) for node in circuit.registers}
    inputs = {node: b.input(circuit.width(node)) for node in circuit.inputs}
    roots = [*circuit.next, *letters, *circuit.constraints]
    made = b.copy(circuit, {**before, **inputs}, roots)
    size, more = len(circuit.next), len(letters)
    after = dict(zip(circuit.registers, made[:size], strict=True))
    fresh = {node: b.input(circuit.width(node)) for node in circuit.inputs}
    there = b.copy(circuit, {**after, **fresh}, roots[size:])
    return Product(
        b,
        before,
        after,
        dict(zip(letters, made[size : size + more], strict=True)),
        dict(zip(letters, there[:more], strict=True)),
        (*made[size + more :], *there[more:]),
    )
