"""Proofs by ranking functions and invariants, as data: what a report says of them, and the lines of a certificate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from venmas.checker.netlists import rules
from venmas.formats.btor2.writer import outputs_to_btor2
from venmas.logic.automata.automaton import Automaton, components
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.procedures.linear.netlist import NetlistProof
from venmas.procedures.netlist.clauses import Invariant
from venmas.procedures.netlist.step import Goal
from venmas.procedures.ranking.learn import Network


@dataclass(frozen=True)
class Ranked:
    """One rank: edges where it rises on none and falls with the `strict` ones, which are then taken away.

    steps: of each edge's obligation the number of steps of its checked proof; empty where the solver's word was taken.
    """

    goal: Goal
    network: Network
    steps: tuple[int, ...]


@dataclass(frozen=True)
class RankingProof(NetlistProof):
    """Ranks, in the order in which they take edges away, under an invariant; kept: steps of the proofs that it is one.

    circuit: the cone that all of this is about.
    """

    circuit: Circuit
    ranked: tuple[Ranked, ...]
    invariant: Invariant
    kept: tuple[int, ...]

    @property
    def initial(self) -> bool:  # noqa: D102
        return self.invariant.initial

    def holds(self, b: Builder, registers: Sequence[int], states: int) -> list[int] | None:  # noqa: D102
        return [self.invariant.node(b, q, registers) for q in range(states)] if self.invariant.clauses else None

    def ranks(self, automaton: Automaton, symbols: Sequence[str]) -> Iterator[rules.Rank]:
        """The ranks that were found; a component that an invariant keeps runs away from has one of no neurons."""
        numbers = {edge: at for at, edge in enumerate(automaton.edges)}
        ranked = {edge for one in self.ranked for edge in one.goal.edges}
        for component in components(automaton):
            if not ranked.intersection(component.edges):
                edges = tuple(sorted(numbers[edge] for edge in component.edges))
                yield rules.Rank(edges, edges, "", ((),) * len(component.states), 1)
        for one in self.ranked:
            edges = tuple(sorted(numbers[edge] for edge in one.goal.edges))
            strict = tuple(sorted(numbers[edge] for edge in one.goal.strict))
            yield _rank(edges, strict, one.goal.states, one.network, symbols)

    def facts(self, automaton: Automaton) -> dict[str, Any]:  # noqa: D102
        texts = [f"V{q} = {text}" for one in self.ranked for q, text in one.network.text().items()]
        texts += [f"J{q} = {text}" for q, text in self.invariant.text(self.circuit).items()]
        if not self.ranked and not self.invariant.clauses:
            texts.append("no run of the automaton is fair: the property holds of every word")
        return {
            "by": "ranking functions",
            "said": self.said,
            "from": "initial" if self.initial else "all",
            "texts": texts,
            "obligations": [
                {
                    "edge": f"V{edge.source} -> V{edge.target}",
                    "rank": "falls" if edge in one.goal.strict else "does not rise",
                    "where": automaton.label_text(edge.label),
                    "clauses": one.steps[at] if one.steps else None,
                }
                for one in self.ranked
                for at, edge in enumerate(one.goal.edges)
            ],
            "clauses_of_invariant": list(self.kept),
            "weights": sum(
                1 for one in self.ranked for row in one.network.weights.values() for weight in row if weight
            ),
            "level": max((one.network.level for one in self.ranked), default=0),
        }


def _rank(
    edges: tuple[int, ...], strict: tuple[int, ...], states: Iterable[int], network: Network, symbols: Sequence[str]
) -> rules.Rank:
    """A rank with the neurons that have a weight."""
    pool = network.pool
    used = [at for at in range(len(pool.neurons)) if any(row[at] for row in network.weights.values())]
    weights = tuple(tuple(network.weights[state][at] for at in used) for state in states)
    most = [(1 << pool.builder.width(pool.neurons[at].node)) - 1 for at in used]
    ends = [sum(max(sign * w, 0) * m for w, m in zip(row, most, strict=True)) for row in weights for sign in (1, -1)]
    places = dict(zip((pool.registers[node] for node in pool.circuit.registers), symbols, strict=True))
    text = outputs_to_btor2(pool.builder, places, [pool.neurons[at].node for at in used])
    return rules.Rank(edges, strict, text, weights, (max(ends[::2]) + max(ends[1::2]) + 1).bit_length())
