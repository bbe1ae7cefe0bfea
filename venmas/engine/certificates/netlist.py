"""Certificates of satisfied properties: what was found, written so that the checker needs none of the search.

The obligations are made by the checker's own code, of the text of the file (`checker.netlists.problem`), so that what
is proved is what will be checked. Each is looked at for all values where its leaves have few bits, else refuted by a
SAT solver whose proof is written down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import ClassVar, Protocol

from venmas.budget import Budget, limited
from venmas.checker.format.header import Claim
from venmas.checker.format.rule import Rule
from venmas.checker.netlists import rules
from venmas.checker.netlists.netlist import read
from venmas.checker.netlists.problem import Problem
from venmas.checker.netlists.refutation import Question
from venmas.engine.certificates.file import Unwritten, write
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
    """Write the certificate of an answer about a circuit. path: None where its obligations are to be proved alone.

    invariant, said, second: see `Obligations`. Raises `InputError` where the file can not be written or the checker
    would not follow, `UnprovedError`, `BudgetError`, `SolverUnavailableError`.
    """
    begun = process_time()
    initial = invariant is not None and invariant.initial
    question = OfNetlist(circuit, formula, tuple(fair), work.automaton, initial)
    proof = Obligations(answer, budget, said, second, invariant)
    size, digest, count = 0, "", 2
    with limited(budget):
        if path is None:
            count += sum(1 for _ in proof.lines(question, budget))
        else:
            written = write(path, question, proof, budget)
            if isinstance(written, Unwritten):
                raise InputError(f"cannot write the certificate {str(path)[:200]!r}: {written.problem}")
            size, digest, count = written.size, written.sha256, written.lines
    enumerated, refuted, told = (proof.counts[kind] for kind in (rules.Enumerated, rules.Rup, rules.Solver))
    return Stored(count, size, enumerated, refuted, told, proof.clauses, process_time() - begun, digest)


@dataclass(frozen=True)
class OfNetlist:
    """That every run of a circuit that is meant has a formula, as its certificate has it (`Claim`).

    automaton: of the runs that break it. initial: runs begin in initial states, else anywhere. Raises `InputError`
    where the formula cannot be written down.
    """

    circuit: Circuit
    formula: Formula
    fair: tuple[Formula, ...]
    automaton: Automaton
    initial: bool

    @cached_property
    def _netlist(self) -> tuple[str, str]:
        return _netlist(self.circuit)

    @cached_property
    def claim(self) -> Claim:
        """What is claimed."""
        formula, *fair = (_text(one) for one in (self.formula, *self.fair))
        return Claim(formula, "linear", fair=tuple(fair), initial=self._netlist[1] if self.initial else None)

    @property
    def subject(self) -> dict[str, object]:
        """The netlist."""
        return {"netlist": self._netlist[0]}


class Obligations:
    """Ranks, and a proof of each obligation: by all values of its leaves where these are few, else by clauses.

    said: solvers whose word is written where an obligation is too large to be looked at for all values; that is no
    proof. None: each is proved. second: a solver that must say so, too. invariant: what the ranks assume. counts: of
    proofs by kind, once they are written; clauses: of all of them.
    """

    kind: ClassVar[str] = "netlist"

    def __init__(
        self,
        answer: Satisfied,
        budget: Budget,
        said: str | None = None,
        second: Opinion | None = None,
        invariant: Invariant | None = None,
    ) -> None:
        self.answer, self.budget, self.said, self.second, self.invariant = answer, budget, said, second, invariant
        self.counts, self.clauses = Counter[type[rules.Obligation]](), 0

    def lines(self, question: OfNetlist, tick: Callable[[], None]) -> Iterator[Rule]:
        """The automaton, the invariant, and ranks. Raises `UnprovedError`, `SolverUnavailableError`."""
        return _Writer(self, question, tick).lines()


class _Writer:
    def __init__(self, proof: Obligations, question: OfNetlist, tick: Callable[[], None]) -> None:
        self.proof, self.claim, self.tick = proof, question.claim, tick
        self.automaton, self.netlist = question.automaton, str(question.subject["netlist"])
        states = read(self.netlist, "the netlist")
        registers = [number for number in states.states if number in states.next or number in states.init]
        self.symbols = [str(registers[place]) for place in kept(question.circuit, self.automaton.atoms)]
        self.widths = [states.width(int(symbol)) for symbol in self.symbols]

    def lines(self) -> Iterator[Rule]:
        """All lines after the header."""
        automaton, holds = self.automaton, None
        numbers = {edge: at for at, edge in enumerate(automaton.edges)}
        line = stated(automaton)
        problem = Problem(self.claim, self.netlist, line)
        yield line
        if self.proof.invariant is not None:
            told = rules.Invariant(self.holds(self.proof.invariant))
            holds = problem.invariant(told)
            yield told
            yield self.proved(problem.begins(holds), "the beginning of the invariant")
            for at in range(len(automaton.edges)):
                yield self.proved(problem.keeps(at, holds), f"the invariant along edge {at}")
        for rank in self.ranks(numbers):
            neurons = problem.over(rank.neurons, "the neurons")
            yield rank
            for at in rank.edges:
                yield self.proved(problem.rises(at, rank.edges, rank, neurons, holds), f"edge {at}")

    def ranks(self, numbers: dict[Edge, int]) -> Iterator[rules.Rank]:
        """The ranks that were found; a component that an invariant keeps runs away from has one of no neurons."""
        ranked = {edge for one in self.proof.answer.ranked for edge in one.goal.edges}
        for component in components(self.automaton):
            if not ranked.intersection(component.edges):
                edges = tuple(sorted(numbers[edge] for edge in component.edges))
                yield rules.Rank(edges, edges, "", ((),) * len(component.states), 1)
        for one in self.proof.answer.ranked:
            edges = tuple(sorted(numbers[edge] for edge in one.goal.edges))
            strict = tuple(sorted(numbers[edge] for edge in one.goal.strict))
            yield self.rank(edges, strict, one.goal.states, one.network)

    def rank(
        self, edges: tuple[int, ...], strict: tuple[int, ...], states: Iterable[int], network: Network
    ) -> rules.Rank:
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
        return rules.Rank(edges, strict, text, weights, (max(ends[::2]) + max(ends[1::2]) + 1).bit_length())

    def holds(self, invariant: Invariant) -> str:
        """The invariant of each state of the automaton as a netlist."""
        b = Builder()
        registers = [b.register(width) for width in self.widths]
        nodes = [invariant.node(b, state, registers) for state in range(self.automaton.states)]
        return outputs_to_btor2(b, dict(zip(registers, self.symbols, strict=True)), nodes)

    def proved(self, question: Question, what: str) -> rules.Obligation:
        """The line of an obligation."""
        self.tick()
        leaves, _ = question.cone()
        found, proof = solution(question.guarded().clauses()), self.proof
        taken = None if found is None else tuple(sorted(set(leaves).intersection(found)))
        line: rules.Obligation
        if len(leaves) <= ENUMERATED_BITS:
            met, _ = question.enumerated()
            if not met:
                raise UnprovedError(f"{what}: the solver's word is not confirmed")
            line = rules.Enumerated(taken, len(leaves))
        elif proof.said is not None:
            if proof.second is not None and not proof.second(question, proof.budget):
                raise UnprovedError(f"{what}: a second solver does not confirm it")
            line = rules.Solver(taken, proof.said)
        else:
            steps = refutation(question.clauses(), proof.budget)
            if steps is None:
                raise UnprovedError(f"{what}: the solver's word is not confirmed")
            line = rules.Rup(taken, tuple(map(tuple, steps)))
            proof.clauses += len(steps)
        proof.counts[type(line)] += 1
        return line


def stated(automaton: Automaton) -> rules.Automaton:
    """An automaton as the line of a certificate."""
    return rules.Automaton(
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
