"""Lines of a proof about a circuit, written so that the checker needs none of the search.

The obligations are made by the checker's own code, of the text of the file (`checker.netlists.problem`), so that what
is proved is what will be checked. Each is looked at for all values where its leaves have few bits, else refuted by a
SAT solver whose proof is written down.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from venmas.budget import Budget
from venmas.checker.format.rule import Rule
from venmas.checker.netlists import rules
from venmas.checker.netlists.netlist import read
from venmas.checker.netlists.problem import Problem
from venmas.checker.netlists.refutation import Question
from venmas.errors import InputError
from venmas.formats.btor2.writer import outputs_to_btor2
from venmas.logic.automata.automaton import Automaton
from venmas.model.circuit.binding import kept
from venmas.model.circuit.builder import Builder
from venmas.procedure import LinearQuestion
from venmas.procedures.linear.claim import NetlistClaim, stated
from venmas.procedures.netlist.proofs import refutation, solution

Opinion: TypeAlias = Callable[[Question, Budget], bool]
"""Of a second solver: does it call an obligation met?"""

ENUMERATED_BITS = 16
"""Obligations over so many bits are proved by looking at all values: cheaper than a proof, and no clauses to store."""


class UnprovedError(InputError):
    """An obligation has no proof: what the solver said of it is wrong, or it was not asked."""


@dataclass(frozen=True)
class NetlistProof(ABC):
    """Ranks, an invariant, and a proof of each obligation: by all values of its leaves where few, else by clauses.

    said: solvers whose word is written where an obligation is too large to be looked at for all values; that is no
    proof. None: each is proved. second: a solver that must say so, too. counts: of proofs by kind, and of all their
    clauses, once they are written.
    """

    said: str | None = field(default=None, kw_only=True)
    second: Opinion | None = field(default=None, kw_only=True)
    counts: Counter[str] = field(default_factory=Counter, kw_only=True)
    kind: ClassVar[str] = "netlist"
    within: ClassVar[int | None] = None

    @property
    @abstractmethod
    def initial(self) -> bool:
        """Is it a proof of the runs from initial states? Else of those from every state."""

    def read(self, question: LinearQuestion) -> Automaton:
        """The automaton that it is about, which accepts at least the runs that break the property."""
        return question.automaton

    @abstractmethod
    def holds(self, b: Builder, registers: Sequence[int], states: int) -> list[int] | None:
        """The invariant of each state of the automaton, a node of one bit; None where there is none."""

    @abstractmethod
    def ranks(self, automaton: Automaton, symbols: Sequence[str]) -> Iterator[rules.Rank]:
        """The ranks. symbols: of the registers of the cone in netlists over them."""

    @abstractmethod
    def facts(self, automaton: Automaton) -> Mapping[str, Any]:
        """Sentence of a report."""

    def lines(self, claim: NetlistClaim, tick: Callable[[], None]) -> Iterator[Rule]:
        """The automaton, the invariant, and ranks. Raises `UnprovedError`, `SolverUnavailableError`."""
        self.counts.clear()
        return _Writer(self, claim, tick if isinstance(tick, Budget) else Budget()).lines()


class _Writer:
    def __init__(self, proof: NetlistProof, claim: NetlistClaim, tick: Budget) -> None:
        self.proof, self.claim, self.tick = proof, claim.claim, tick
        self.automaton, self.netlist = proof.read(claim.question), str(claim.subject["netlist"])
        states = read(self.netlist, "the netlist")
        registers = [number for number in states.states if number in states.next or number in states.init]
        self.symbols = [str(registers[place]) for place in kept(claim.circuit, self.automaton.atoms)]
        self.widths = [states.width(int(symbol)) for symbol in self.symbols]

    def lines(self) -> Iterator[Rule]:
        """All lines after the header."""
        line, holds = stated(self.automaton), None
        problem = Problem(self.claim, self.netlist, line)
        yield line
        text = self.holds()
        if text is not None:
            told = rules.Invariant(text)
            holds = problem.invariant(told)
            yield told
            yield self.proved(problem.begins(holds), "the beginning of the invariant")
            for at in range(len(self.automaton.edges)):
                yield self.proved(problem.keeps(at, holds), f"the invariant along edge {at}")
        for rank in self.proof.ranks(self.automaton, self.symbols):
            neurons = problem.over(rank.neurons, "the neurons")
            yield rank
            for at in rank.edges:
                yield self.proved(problem.rises(at, rank.edges, rank, neurons, holds), f"edge {at}")

    def holds(self) -> str | None:
        """The invariant of each state of the automaton as a netlist."""
        b = Builder()
        registers = [b.register(width) for width in self.widths]
        nodes = self.proof.holds(b, registers, self.automaton.states)
        return None if nodes is None else outputs_to_btor2(b, dict(zip(registers, self.symbols, strict=True)), nodes)

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
            if proof.second is not None and not proof.second(question, self.tick):
                raise UnprovedError(f"{what}: a second solver does not confirm it")
            line = rules.Solver(taken, proof.said)
        else:
            steps = refutation(question.clauses(), self.tick)
            if steps is None:
                raise UnprovedError(f"{what}: the solver's word is not confirmed")
            line = rules.Rup(taken, tuple(map(tuple, steps)))
            proof.counts["clauses"] += len(steps)
        proof.counts[line.name] += 1
        return line
