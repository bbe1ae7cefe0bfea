"""Invariants as data: of each automaton state a conjunction of clauses, their literals ranges of slices of registers.

    J_q(s) = for each clause of q: for one of its literals: least <= r[high:low] <= most

A bit is a slice of one bit, a comparison with a constant a slice of the whole register. The empty clause says that no
run from where the invariant begins comes to q.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import Op, mask


class Literal(NamedTuple):
    """``least <= r[high:low] <= most`` of the register r with this index among the registers; unsigned, ends count."""

    register: int
    high: int
    low: int
    least: int
    most: int

    def node(self, b: Builder, registers: Sequence[int]) -> int:
        """One bit, where `registers` are the nodes of the registers' values."""
        word = b.apply(Op.SLICE, [registers[self.register]], [self.high, self.low])
        width = self.high - self.low + 1
        if self.least == self.most:
            return b.apply(Op.EQ, [word, b.const(self.least, width)])
        below = b.apply(Op.ULT, [word, b.const(self.least, width)]) if self.least else b.const(0, 1)
        above = b.apply(Op.ULT, [b.const(self.most, width), word]) if self.most < mask(width) else b.const(0, 1)
        return b.all_of([b.not_(below), b.not_(above)])

    def text(self, circuit: Circuit) -> str:
        """As people write it."""
        node = circuit.registers[self.register]
        name, width = circuit.name(node), self.high - self.low + 1
        if width == 1:
            bit = name if circuit.width(node) == 1 else f"{name}[{self.low}]"
            return bit if self.least else f"!{bit}"
        name = name if width == circuit.width(node) else f"{name}[{self.high}:{self.low}]"
        if self.least == self.most:
            return f"{name} == {self.least}"
        if not self.least:
            return f"{name} <= {self.most}"
        return f"{name} >= {self.least}" if self.most == mask(width) else f"{self.least} <= {name} <= {self.most}"


Clause = tuple[Literal, ...]
Clauses = Mapping[int, tuple[Clause, ...]]
"""Of each automaton state its clauses; a state that is not named has none."""


@dataclass(frozen=True)
class Invariant:
    """What holds of the registers in each automaton state, on runs from the initial states or from every state."""

    clauses: Clauses = field(default_factory=dict)
    initial: bool = False

    def node(self, b: Builder, state: int, registers: Sequence[int]) -> int:
        """One bit: all clauses of an automaton state hold of these values of the registers."""
        clauses = self.clauses.get(state, ())
        return b.all_of([b.any_of([literal.node(b, registers) for literal in clause]) for clause in clauses])

    def excludes(self, state: int) -> bool:
        """Does no run come to an automaton state?"""
        return () in self.clauses.get(state, ())

    def text(self, circuit: Circuit) -> dict[int, str]:
        """Of each automaton state that it says something of what it says."""
        found = {}
        for state, clauses in sorted(self.clauses.items()):
            parts = [" | ".join(one.text(circuit) for one in clause) for clause in clauses]
            if self.excludes(state):
                found[state] = "false"
            elif parts:
                found[state] = " & ".join(f"({part})" if " | " in part and len(parts) > 1 else part for part in parts)
        return found
