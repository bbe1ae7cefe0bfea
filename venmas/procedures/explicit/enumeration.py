"""Proof of LTL of a circuit all states of which were enumerated, as a certificate without states has it.

    invariant of automaton state q: the registers are those of a state that is reached with q
    ranks: while there is an accepting component of the automaton, over what is reached of it:
        its strict edges: those that no cycle of the product takes
        level of a pair: the greatest number of strict edges on a path that begins there
        the strict edges are taken away, and what is left of the component is ranked anew

Both are functions of the registers, written as decision diagrams (Bryant 1986), so that the checker sees a proof as
any other: an invariant, ranks, and obligations about one step (`checker.netlists`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.answer import IncompleteError
from venmas.budget import ask
from venmas.checker.format.rule import Rule
from venmas.checker.netlists import rules
from venmas.formats.btor2.writer import outputs_to_btor2
from venmas.logic.automata.automaton import Automaton, Edge, components, parts_of, strongly_connected
from venmas.logic.automata.degeneralise import degeneralised
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.operators import Op
from venmas.procedure import LinearQuestion
from venmas.procedures.explicit.product import Product
from venmas.procedures.linear.claim import NetlistClaim
from venmas.procedures.linear.netlist import NetlistProof

_MOST_BITS, _MOST_CHOICES = 16, 20_000
"""Bits of registers, and choices of all diagrams together, of a proof that is written."""

Ints = NDArray[np.int64]


class _UnrankedError(IncompleteError):
    """No edge of a component can be taken away."""


@dataclass(frozen=True)
class EnumerationProof(NetlistProof):
    """No pair of a state and an automaton state that is reached lies on an accepting cycle.

    build: the product with an automaton of the part of the circuit that it reads, made when a certificate is written,
    and the widths of the registers. states: how many pairs are reached after a step.
    """

    build: Callable[[Automaton], tuple[Product, tuple[int, ...]]]
    automaton: Automaton
    states: int
    initial: bool = field(default=True, init=False)

    @cached_property
    def _made(self) -> tuple[Product, tuple[int, ...]]:
        return self.build(self.automaton)

    @property
    def product(self) -> Product:
        """Of all states with the automaton. Raises `IncompleteError`, `BudgetError`."""
        return self._made[0]

    @property
    def widths(self) -> tuple[int, ...]:
        """Of the registers, the first of which has the highest bits of a state."""
        return self._made[1]

    def read(self, question: LinearQuestion) -> Automaton:  # noqa: D102
        return self.automaton

    def lines(self, claim: NetlistClaim, tick: Callable[[], None]) -> Iterator[Rule]:
        """As of every proof; of an automaton with one acceptance set where those of several have no rank.

        With one set there always is a rank: its edges in a component lie on no cycle of the product.
        """
        try:
            yield from list(super().lines(claim, tick))
        except _UnrankedError:
            yield from replace(self, automaton=degeneralised(self.automaton)).lines(claim, tick)

    def holds(self, b: Builder, registers: Sequence[int], states: int) -> list[int]:
        """Is the pair reached? Raises `IncompleteError` where that takes too many choices."""
        reached = self._pairs(self.product.reached, np.ones(self.product.nodes, np.int64), states, fill=0)
        diagrams = _Diagrams(b, registers, self.widths)
        return [diagrams.node(reached[:, q], 1) for q in range(states)]

    def ranks(self, automaton: Automaton, symbols: Sequence[str]) -> Iterator[rules.Rank]:
        """Ranks of each accepting component. Raises `IncompleteError` where no edge can be taken away."""
        numbers = {edge: at for at, edge in enumerate(automaton.edges)}
        waiting = [component.edges for component in components(automaton)]
        while waiting:
            edges = waiting.pop(0)
            strict, nodes, levels = self._levels(automaton, edges)
            if not strict:
                raise _UnrankedError("some cycles meet one condition of fairness, others another: no rank is written")
            touched = sorted({edge.source for edge in edges} | {edge.target for edge in edges})
            table = self._pairs(nodes, levels, automaton.states, fill=-1)
            width = max(1, int(levels.max(initial=0)).bit_length())
            b = Builder()
            registers = [b.register(one) for one in self.widths]
            diagrams = _Diagrams(b, registers, self.widths)
            outputs = [diagrams.node(table[:, q], width) for q in touched]
            yield rules.Rank(
                tuple(sorted(numbers[edge] for edge in edges)),
                tuple(sorted(numbers[edge] for edge in strict)),
                outputs_to_btor2(b, dict(zip(registers, symbols, strict=True)), outputs),
                tuple(tuple(int(i == j) for j in range(len(touched))) for i in range(len(touched))),
                width + 1,
            )
            parts = parts_of(automaton.states, [edge for edge in edges if edge not in strict])
            waiting += [inside for _, inside in parts if automaton.accepts(inside)]

    def facts(self, automaton: Automaton) -> dict[str, Any]:  # noqa: D102
        return {"by": "enumeration", "from": "initial", "states": self.states, "texts": []}

    def _pairs(self, nodes: Ints, values: Ints, states: int, fill: int) -> Ints:
        """Values of pairs as a table (words of registers, automaton states)."""
        if sum(self.widths) > _MOST_BITS:
            raise IncompleteError(f"all states were enumerated, of more than the {_MOST_BITS} bits that are written")
        table = np.full((1 << sum(self.widths)) * states, fill, np.int64)
        table[nodes] = values
        return table.reshape(-1, states)

    def _levels(self, automaton: Automaton, edges: Sequence[Edge]) -> tuple[frozenset[Edge], Ints, Ints]:
        """Edges that no cycle takes, the reached pairs of these edges, and their levels."""
        numbers = {edge: at for at, edge in enumerate(automaton.edges)}
        taken = np.isin(self.product.edges[2], [numbers[edge] for edge in edges])
        source, target, label = (column[taken] for column in self.product.edges)
        nodes, ends = np.unique(np.concatenate([source, target]), return_inverse=True)
        source, target = ends[: len(source)], ends[len(source) :]
        order = np.argsort(source, kind="stable")
        source, target, label = source[order], target[order], label[order]
        cuts = np.searchsorted(source, np.arange(1, len(nodes)))
        groups = strongly_connected([part.tolist() for part in np.split(target, cuts)] if len(nodes) else [])
        home = np.zeros(len(nodes), np.int64)
        for number, group in enumerate(groups):
            home[group] = number
        cyclic = set(label[home[source] == home[target]].tolist())
        strict = frozenset(edge for edge in edges if numbers[edge] not in cyclic)
        falls = ~np.isin(label, list(cyclic))
        first = np.searchsorted(source, np.arange(len(nodes) + 1))
        levels = np.zeros(len(nodes), np.int64)
        for group in groups:  # each before those that lead to it
            ask()
            rows = np.concatenate([np.arange(first[node], first[node + 1]) for node in group])
            rows = rows[home[target[rows]] != home[group[0]]]
            levels[group] = (levels[target[rows]] + falls[rows]).max(initial=0)
        return strict, nodes, levels


class _Diagrams:
    """Functions of all words of the registers as choices by one bit after the other, equal parts shared."""

    def __init__(self, b: Builder, registers: Sequence[int], widths: Sequence[int]) -> None:
        self.b = b
        self.bits = [
            b.apply(Op.SLICE, [node], [bit, bit])
            for node, width in zip(registers, widths, strict=True)
            for bit in reversed(range(width))
        ]
        self.made: dict[tuple[int, bytes], int] = {}

    def node(self, table: Ints, width: int, at: int = 0) -> int:
        """A word of this width; -1 in the table: any value will do."""
        known = np.unique(table)
        known = known[known >= 0]
        if len(known) < 2:
            return self.b.const(int(known[0]) if len(known) else 0, width)
        key = width, table.tobytes()
        if key not in self.made:
            ask()
            half = len(table) // 2
            low, high = table[:half], table[half:]
            if ((low < 0) | (high < 0) | (low == high)).all():  # the bit does not matter
                self.made[key] = self.node(np.maximum(low, high), width, at + 1)
            else:
                if len(self.made) > _MOST_CHOICES:
                    raise IncompleteError(f"a proof by enumeration takes more than {_MOST_CHOICES} choices to write")
                parts = [self.node(high, width, at + 1), self.node(low, width, at + 1)]
                self.made[key] = self.b.apply(Op.ITE, [self.bits[at], *parts])
        return self.made[key]
