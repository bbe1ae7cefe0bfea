"""Certificates of satisfied properties: what was found, written so that the checker needs none of the search.

The obligations are made by the checker's own code, of the text of the file (`checker.netlists.problem`), so that what
is proved is what will be checked. Each is looked at for all values where its leaves have few bits, else refuted by a
SAT solver whose proof is written down.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Protocol

from venmas._version import __version__
from venmas.budget import Budget, limited
from venmas.checker.netlists import lines
from venmas.checker.netlists.netlist import read
from venmas.checker.netlists.problem import Problem
from venmas.checker.netlists.refutation import Question
from venmas.engine.ltl_decide import Satisfied, Work
from venmas.errors import InputError
from venmas.formats.btor2.reader import parse_btor2
from venmas.formats.btor2.writer import outputs_to_btor2, to_btor2
from venmas.logic.automata.automaton import Automaton, Edge, components
from venmas.logic.formula import Formula
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.printing import to_text
from venmas.model.circuit.binding import kept
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.procedures.netlist.proofs import refutation, solution
from venmas.procedures.ranking.learn import Network
from venmas.procedures.ranking.second import Opinion

ENUMERATED_BITS = 16
"""Obligations over so many bits are proved by looking at all values: cheaper than a proof, and no clauses to store."""


class Invariant(Protocol):
    """What holds in each state of the automaton, on runs from initial states or from every state."""

    @property
    def initial(self) -> bool: ...  # noqa: D102
    def node(self, b: Builder, state: int, registers: list[int]) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class Stored:
    """A certificate that was written: its lines, bytes, obligations by kind of proof, clauses, CPU seconds, sha256."""

    lines: int
    size: int
    enumerated: int
    refuted: int
    said: int
    clauses: int
    seconds: float
    sha256: str


class UnprovedError(InputError):
    """An obligation has no proof: what the solver said of it is wrong, or it was not asked."""


def certify(
    circuit: Circuit,
    formula: Formula,
    fair: Iterable[Formula],
    answer: Satisfied,
    work: Work,
    path: str | Path | None,
    budget: Budget,
    said: str | None = None,
    second: Opinion | None = None,
    invariant: Invariant | None = None,
) -> Stored:
    """Write the certificate of an answer about a circuit. invariant: what the ranks assume.

    said: solvers whose word is written where an obligation is too large to be looked at for all values; that is no
    proof. None: each is proved. second: a solver that must say so, too. path: None where nothing is to be written.

    Raises `InputError` where the file can not be written or the checker would not follow, `UnprovedError`,
    `BudgetError`, `SolverUnavailableError`.
    """
    begun = process_time()
    writer = _Writer(circuit, work.automaton, formula, list(fair), answer, said, second, invariant, budget)
    with limited(budget):
        rows = list(writer.rows())
    data = b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)
    packed = gzip.compress(data, mtime=0)
    try:
        if path is not None:
            Path(path).write_bytes(packed)
    except OSError as error:
        raise InputError(f"cannot write the certificate {str(path)[:200]!r}: {error.strerror or error}") from error
    kinds = [next(iter(row["proof"])) for row in rows if isinstance(row.get("proof"), dict)]  # type: ignore[call-overload]
    return Stored(
        len(rows),
        len(packed),
        kinds.count("enumerate"),
        kinds.count("rup"),
        kinds.count("solver"),
        writer.clauses,
        process_time() - begun,
        hashlib.sha256(packed).hexdigest(),
    )


class _Writer:
    def __init__(
        self,
        circuit: Circuit,
        automaton: Automaton,
        formula: Formula,
        fair: list[Formula],
        answer: Satisfied,
        said: str | None,
        second: Opinion | None,
        invariant: Invariant | None,
        budget: Budget,
    ) -> None:
        self.automaton, self.answer, self.budget = automaton, answer, budget
        self.said, self.second, self.clauses = said, second, 0
        texts = [_text(one) for one in (formula, *fair)]
        netlist, initial = _netlist(circuit)
        states = read(netlist, "the netlist")
        registers = [number for number in states.states if number in states.next or number in states.init]
        self.symbols = [str(registers[place]) for place in kept(circuit, automaton.atoms)]
        self.widths = [states.width(int(symbol)) for symbol in self.symbols]
        self.invariant = invariant
        begun = initial if invariant is not None and invariant.initial else None
        self.header = lines.Header(texts[0], tuple(texts[1:]), begun, netlist)

    def rows(self) -> Iterator[dict[str, object]]:
        """All lines of the file."""
        automaton = self.automaton
        numbers = {edge: at for at, edge in enumerate(automaton.edges)}
        line = stated(automaton)
        problem = Problem(self.header, line)
        count = 2
        yield {**lines.header_json(self.header), "venmas": __version__}
        yield lines.to_json(line)
        if self.invariant is not None:
            holds_line = lines.Invariant(self.holds(self.invariant))
            holds = problem.invariant(holds_line)
            yield lines.to_json(holds_line)
            yield self.proved(problem.begins(holds), "the beginning of the invariant")
            for at in range(len(automaton.edges)):
                yield self.proved(problem.keeps(at, holds), f"the invariant along edge {at}")
            count += 2 + len(automaton.edges)
        else:
            holds = None
        for rank in self.ranks(numbers):
            neurons = problem.over(rank.neurons, "the neurons")
            yield lines.to_json(rank)
            for at in rank.edges:
                yield self.proved(problem.rises(at, rank.edges, rank, neurons, holds), f"edge {at}")
            count += 1 + len(rank.edges)
        yield lines.to_json(lines.End(count))

    def ranks(self, numbers: dict[Edge, int]) -> Iterator[lines.Rank]:
        """The ranks that were found; a component that an invariant keeps runs away from has one of no neurons."""
        ranked = {edge for one in self.answer.ranked for edge in one.goal.edges}
        for component in components(self.automaton):
            if not ranked.intersection(component.edges):
                edges = tuple(sorted(numbers[edge] for edge in component.edges))
                yield lines.Rank(edges, edges, "", ((),) * len(component.states), 1)
        for one in self.answer.ranked:
            edges = tuple(sorted(numbers[edge] for edge in one.goal.edges))
            strict = tuple(sorted(numbers[edge] for edge in one.goal.strict))
            yield self.rank(edges, strict, one.goal.states, one.network)

    def rank(
        self, edges: tuple[int, ...], strict: tuple[int, ...], states: Iterable[int], network: Network
    ) -> lines.Rank:
        """A rank with the neurons that have a weight."""
        pool = network.pool
        used = [at for at in range(len(pool.neurons)) if any(row[at] for row in network.weights.values())]
        weights = tuple(tuple(network.weights[state][at] for at in used) for state in states)
        most = [(1 << pool.builder.width(pool.neurons[at].node)) - 1 for at in used]
        ends = [
            sum(max(sign * w, 0) * m for w, m in zip(row, most, strict=True)) for row in weights for sign in (1, -1)
        ]
        places = dict(zip((pool.registers[node] for node in pool.circuit.registers), self.symbols, strict=True))
        text = outputs_to_btor2(pool.builder, places, [pool.neurons[at].node for at in used])
        return lines.Rank(edges, strict, text, weights, (max(ends[::2]) + max(ends[1::2]) + 1).bit_length())

    def holds(self, invariant: Invariant) -> str:
        """The invariant of each state of the automaton as a netlist."""
        b = Builder()
        registers = [b.register(width) for width in self.widths]
        nodes = [invariant.node(b, state, registers) for state in range(self.automaton.states)]
        return outputs_to_btor2(b, dict(zip(registers, self.symbols, strict=True)), nodes)

    def proved(self, question: Question, what: str) -> dict[str, object]:
        """The line of an obligation."""
        self.budget()
        leaves, _ = question.cone()
        proof: lines.Proof
        if len(leaves) <= ENUMERATED_BITS:
            met, _ = question.enumerated()
            if not met:
                raise UnprovedError(f"{what}: the solver's word is not confirmed")
            proof = lines.Enumerated(len(leaves))
        elif self.said is not None:
            if self.second is not None and not self.second(question, self.budget):
                raise UnprovedError(f"{what}: a second solver does not confirm it")
            proof = lines.Solver(self.said)
        else:
            steps = refutation(question.clauses(), self.budget)
            if steps is None:
                raise UnprovedError(f"{what}: the solver's word is not confirmed")
            proof = lines.Rup(tuple(map(tuple, steps)))
            self.clauses += len(steps)
        found = solution(question.guarded().clauses())
        taken = None if found is None else tuple(sorted(set(leaves).intersection(found)))
        return lines.to_json(lines.Obligation(proof, taken))


def stated(automaton: Automaton) -> lines.Automaton:
    """An automaton as the line of a certificate."""
    return lines.Automaton(
        tuple(to_text(atom) for atom in automaton.atoms),
        automaton.states,
        automaton.marks,
        tuple((e.source, e.label.care, e.label.value, e.target, e.marks) for e in automaton.edges),
    )


def _text(formula: Formula) -> str:
    text = to_text(formula)
    if parse_ltl(text) is not formula:
        raise InputError(f"the formula does not read back from its text and has no certificate: {formula!r}")
    return text


def _netlist(circuit: Circuit) -> tuple[str, str]:
    """The text that the circuit was read from, else one that is written, and the condition of its initial states."""
    if circuit.source and not circuit.starts and parse_btor2(circuit.source) == circuit:
        return circuit.source, "true"
    names = dict(circuit.names)
    starts = []
    for node in circuit.starts:
        starts.append(next(name for at in range(len(names) + 1) if (name := f"start_{at}") not in names))
        names[starts[-1]] = node
    return to_btor2(replace(circuit, names=names)), " & ".join(starts) or "true"
