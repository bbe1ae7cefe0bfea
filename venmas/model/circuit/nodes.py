"""Circuits as data: nodes in topological order, registers with their updates, what is assumed and what is asked."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

from venmas.model.circuit.operators import Op


class Node(NamedTuple):
    """A word of `width` bits: an operator, its operands as indices of earlier nodes, and its numbers.

    `params`: the value of a constant; high and low bit of a slice; the number of bits that an extension adds; of an
    input or a register its index among them.
    """

    op: Op
    width: int
    args: tuple[int, ...] = ()
    params: tuple[int, ...] = ()


class Nodes(Protocol):
    """Nodes in topological order: a circuit, or one in the making."""

    @property
    def nodes(self) -> Sequence[Node]:
        """Operands before what uses them."""


def needed(source: Nodes, roots: Sequence[int], known: Container[int] = ()) -> list[int]:
    """The nodes that roots are computed from, in topological order; known ones and what is behind them left out."""
    found: set[int] = set()
    stack = [root for root in roots if root not in known]
    while stack:
        index = stack.pop()
        if index not in found:
            found.add(index)
            stack += [arg for arg in source.nodes[index].args if arg not in known]
    return sorted(found)


@dataclass(frozen=True)
class Circuit:
    """A transition system over bit-vectors (docs/semantics.md L1).

    nodes: operands before what uses them.
    inputs, registers: their nodes. An input has any value at every step, a register any value at the first one unless
        `init` says more.
    next: of each register the node that it has the value of one step later.
    init: of each register the node that gives its first value (it may read other registers' first values), or None.
    starts: one-bit nodes over registers that are 1 in initial states.
    constraints: one-bit nodes that are assumed to be 1 at every step.
    bad, fair: one-bit nodes. justice: each a set of one-bit nodes that may all be 1 again and again.
    names: the nodes that have names.
    source: the text that it was read from, word for word, where there is one.
    title: what people call it. properties: texts of formulas of LTL by name.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[int, ...]
    registers: tuple[int, ...]
    next: tuple[int, ...]
    init: tuple[int | None, ...]
    starts: tuple[int, ...] = ()
    constraints: tuple[int, ...] = ()
    bad: tuple[int, ...] = ()
    fair: tuple[int, ...] = ()
    justice: tuple[tuple[int, ...], ...] = ()
    names: Mapping[str, int] = field(default_factory=dict)
    source: str = field(default="", compare=False, repr=False)
    title: str = field(default="", compare=False)
    properties: Mapping[str, str] = field(default_factory=dict, compare=False)

    def width(self, node: int) -> int:
        """Bits of a node."""
        return self.nodes[node].width

    @cached_property
    def named(self) -> dict[int, str]:
        """Of each node that has names the shortest one, of these the first."""
        found: dict[int, str] = {}
        for name, node in self.names.items():
            if node not in found or len(name) < len(found[node]):
                found[node] = name
        return found

    def name(self, node: int) -> str:
        """A name of a node, else its number."""
        return self.named.get(node, f"#{node}")

    @property
    def register_bits(self) -> int:
        """Bits of all registers together."""
        return sum(self.width(node) for node in self.registers)

    @property
    def input_bits(self) -> int:
        """Bits of all inputs together."""
        return sum(self.width(node) for node in self.inputs)
