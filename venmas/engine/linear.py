"""Deciding a property of LTL of a system or a circuit, for ever (L1 to L5 of docs/semantics.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from venmas.answer import Broken, Proved, Violated
from venmas.checker.forever.linear import replayed_stay
from venmas.engine.certificates.establish import Established
from venmas.engine.certificates.linear import establish_linear
from venmas.engine.journal import Journal
from venmas.engine.modes import DEFAULT, DEFAULTS, modes
from venmas.engine.portfolio import Portfolio, bounded_answer, here
from venmas.engine.report import AutomatonSize
from venmas.engine.tuning import check_read
from venmas.engine.verification import Verification
from venmas.errors import CircuitError, UsageError
from venmas.logic import Linear
from venmas.logic.automata.hoa import to_hoa
from venmas.model.circuit.binding import bind
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.smt import solver_name
from venmas.model.system.system import System
from venmas.procedure import LinearQuestion, Run, Subject
from venmas.procedures.ranking.learners import MINED
from venmas.procedures.ranking.second import second_solver
from venmas.procedures.ranking.settings import FROM, LEARNER

_WIDEST = 8192
"""Bits of a register or input. A number of more digits than that has is neither printed nor compared."""


@dataclass
class LinearVerification(Verification[LinearQuestion]):
    """LTL. subject: with names for the lines of a netlist that the property is about."""

    asked: Linear
    subject: Subject

    def question(self) -> LinearQuestion:  # noqa: D102
        if self.left_open:
            self.mode = modes()[DEFAULTS[self.asked.kind]]
            self.report.mode = self.mode.name
        if self.settings.cluster is not None:
            raise UsageError(f"{self.asked.text[:200]} is of LTL, which one machine decides: leave the cluster out")
        if self.asked.kind not in self.mode.kinds:
            raise UsageError(
                f"mode {self.mode.name} is for formulas of CTL, and {self.asked.text[:200]} is one of LTL: leave the "
                f"mode out, or name {DEFAULTS[self.asked.kind]}"
            )
        check_read(self.settings.tune, [self.mode], inductive=False)
        learner, anywhere = LEARNER.of(self.settings), FROM.of(self.settings) == "all"
        exact, certified = self.proofs.trust in ("auto", "exact"), self.proofs.certificate is not None
        if isinstance(self.subject, Circuit):
            believed = certified or not exact
        else:
            believed = False
            if not exact:
                raise UsageError(
                    f"trust {self.proofs.trust} takes the word of an SMT solver about a netlist: of LTL of systems all "
                    "is decided exactly; leave it out"
                )
            if anywhere:
                raise UsageError("proofs of the runs from every state are for netlists: leave ranking.from out")
            _check_system(self.subject)
        question = LinearQuestion(self.subject, self.asked, certified, believed, learner, anywhere)
        automaton, report = question.automaton, self.report
        report.workers = 1
        report.automaton = AutomatonSize(automaton.states, len(automaton.edges), automaton.marks, to_hoa(automaton))
        if isinstance(self.subject, Circuit):
            self._look(self.subject, question)
        return question

    def _look(self, circuit: Circuit, question: LinearQuestion) -> None:
        """Note what the property depends on. Raises `CircuitError` where a word is too wide."""
        part, _ = bind(circuit, question.automaton.atoms)
        wide = max(map(part.width, (*part.registers, *part.inputs)), default=0)
        if wide > _WIDEST:
            raise CircuitError(f"the property depends on a word of {wide} bits; words of up to {_WIDEST} are decided")
        self.report.cone = {"registers": len(part.registers), "bits": part.register_bits}

    def book(self, question: LinearQuestion, path: str | Path) -> Journal:  # noqa: D102
        asked, trust = self.asked, self.proofs.trust
        more: list[object] = [[str(one) for one in asked.fair], asked.deadlock, question.learner, question.anywhere]
        if isinstance(self.subject, Circuit) and trust in ("solver", "two"):
            more += [solver_name(), *([second_solver()[0]] if trust == "two" else [])]
        return Journal(path, self.subject, question.formula, more=more, linear=asked)

    def decide(self, question: LinearQuestion, book: Journal | None) -> Established:  # noqa: D102
        second = second_solver() if self.proofs.trust == "two" else None
        settings = replace(self.settings, trusted=question.believed)
        decide = partial(bounded_answer, modes()[DEFAULT], self.programs, here(settings))
        with Run(settings, self.programs, derive=decide) as run:
            answer = self.settled(Portfolio(self.mode.after(self.settings.earlier), run, self.budget, None), question)
        begun = self.budget.spent
        try:
            again = partial(self._again, question)
            found = establish_linear(question, answer, self.proofs, second, self.budget, again)
        finally:
            self.report.seconds.prove += self.budget.spent - begun
        if isinstance(found.answer, Proved) and found.answer.proof is not None:
            proof: Any = found.answer.proof
            self.report.proof = {"kind": proof.kind, **proof.facts(question.automaton)}
            self.report.proved = found.answer
        ranking = next((tried for tried in self.report.procedures if tried.name == "ranking"), None)
        if ranking is not None and ranking.why and self.report.decided_by and question.learner not in MINED:
            decider = f"by {self.report.decided_by}, not by the learner {question.learner}: {ranking.why}"
            self.report.notes.append(f"decided {decider}")
        return found

    def _again(self, question: LinearQuestion) -> Established:
        """Decided anew, each obligation proved by the procedure, where no certificate could be written."""
        self.report.procedures.clear()
        with Run(replace(self.settings, trusted=False), self.programs) as run:
            portfolio = Portfolio(self.mode, run, self.budget, None)
            return Established(self.settled(portfolio, replace(question, believed=False)), None, [])

    def shown(self, answer: Violated | Broken) -> None:
        """The procedures replay lassos when they make them. Stays are checked here."""
        if isinstance(answer, Broken):
            self.report.lasso = answer.run
            return
        begun, report, subject = self.budget.spent, self.report, self.subject
        assert isinstance(subject, System)
        checked = replayed_stay(subject, self.asked, answer.witness)
        report.seconds.replay += self.budget.spent - begun
        if not checked.confirmed:
            raise AssertionError(f"a witness did not replay: {checked.reason}")
        report.witness, report.replay = answer.witness, checked


def _check_system(system: System) -> None:
    """Raises `UsageError` for systems that have no procedure for LTL."""
    if system.quantities:
        raise UsageError(
            "LTL is decided for systems without quantities, which the first step measures: ask CTL, such as AG p"
        )
