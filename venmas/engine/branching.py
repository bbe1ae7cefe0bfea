"""Deciding a property of CTL of a system: noise, programs, clusters, and proofs that are owed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from venmas.answer import Broken, Remaining, Unknown, Violated
from venmas.budget import BudgetError
from venmas.checker.forever.stays import stays
from venmas.engine.certificates.establish import Established, establish
from venmas.engine.modes import DEFAULT, DEFAULTS, modes
from venmas.engine.partial.partial import UNTOLD
from venmas.engine.portfolio import Portfolio, bounded_answer, here, limits
from venmas.engine.report import Verdict
from venmas.engine.smooth import check_smooth
from venmas.engine.tuning import check_read
from venmas.engine.verification import Verification
from venmas.errors import UsageError
from venmas.logic import Bounded, Branching, Formula, Linear, bounded
from venmas.logic.printing import to_short_text
from venmas.model.system.disturbances import Noise
from venmas.model.system.system import System
from venmas.model.witness.build import replay
from venmas.procedure import Run
from venmas.question import Question, chosen_for, posed, read_inductive

if TYPE_CHECKING:
    from venmas.engine.journal import Journal
    from venmas.engine.parts.divided import Divided


@dataclass
class BranchingVerification(Verification[Question]):
    """CTL. asked: the property. system: with noise in its initial states, once there is a question."""

    asked: Branching
    system: System
    target: Formula | None = field(default=None, init=False)
    """What a witness has to show."""
    chosen: Noise = field(default_factory=dict, init=False)
    read: tuple[System, Branching, Question] | None = field(default=None, init=False)
    """The system and the property as they were given, and the question."""
    remaining: list[Remaining] = field(default_factory=list, init=False)

    def how_far(self) -> None:
        """Note how far an open question came."""
        report = self.report
        if self.read is not None and report.verdict is Verdict.UNKNOWN and report.reason not in UNTOLD:
            from venmas.engine.partial import find

            system, asked, question = self.read
            limit = report.asked.timeout if report.asked else None
            report.partial = find.how_far(system, asked, question, self.remaining, limit)

    def question(self) -> Question:  # noqa: D102
        system, report, asked = self.system, self.report, self.asked
        if self.proofs.trust == "two":
            raise UsageError("trust two asks a second SMT solver about a netlist: of systems choose auto or exact")
        self._fit(asked)
        check_smooth(system, asked, self.mode, report.semantics)
        given = report.asked.invariant if report.asked else ""
        inductive = self._by(given, asked) if given else None
        certified = self.proofs.certificate is not None
        asked = posed(system, asked)
        self.system, chosen = chosen_for(system, asked) if isinstance(asked, Bounded) else (system, {})
        if chosen and self.settings.cluster is not None:
            raise UsageError("what noise can bring about is decided on one machine: leave the cluster out")
        undrawn = None if self.system is system else system
        question = Question(
            self.system, asked, report.semantics, certified, inductive=inductive, chosen=chosen, undrawn=undrawn
        )
        self.target, self.chosen = question.shown, chosen
        self.read = system, self.asked, question
        return question

    def _by(self, given: str, asked: Branching) -> Formula:
        """The set that was given. Raises `FormulaError`, and `UsageError` where the property takes none."""
        if isinstance(asked, Bounded):
            raise UsageError(
                "a set (--invariant) proves what has no bound, and this formula has bounds: leave the set out"
            )
        return read_inductive(self.system, given)

    def _fit(self, asked: Branching) -> None:
        """Take a mode that takes the property. Raises `FormulaError` and `UsageError` where the named one does not."""
        if self.left_open and asked.kind not in self.mode.kinds:
            self.mode = modes()[DEFAULTS[asked.kind]]
            self.report.mode = self.mode.name
        if self.mode.kinds == (Linear.kind,):
            raise UsageError(
                f"mode {self.mode.name} is for formulas of LTL, such as G F p, and "
                f"{to_short_text(asked.formula)} is of "
                "CTL: leave the mode out"
            )
        if asked.kind not in self.mode.kinds:
            bounded(asked)  # says what has no bound
            others = ", ".join(name for name, mode in modes().items() if asked.kind in mode.kinds)
            raise UsageError(
                f"mode {self.mode.name} is for formulas without a bound, such as AG p, and "
                f"{to_short_text(asked.formula)} has bounds: leave the mode out, or name another one ({others})"
            )
        check_read(self.settings.tune, [self.mode], bool(self.report.asked and self.report.asked.invariant))

    def book(self, question: Question, path: str | Path) -> Journal:  # noqa: D102
        from venmas.engine.journal import Journal

        uses = self.mode.solver or self.mode.resort
        return Journal(path, self.system, question.asked.formula, self.settings.solvers() if uses else (), self.chosen)

    def decide(self, question: Question, book: Journal | None) -> Established:  # noqa: D102
        proofs, settings = self.proofs, self.settings
        if self.mode.solver:
            from venmas.procedures.milp.procedure import strategy_of, task_of

            strategy = strategy_of(self.mode.name)
            if strategy is not None:
                proofs.programs, proofs.task = self.programs, task_of(question, strategy, settings)
        if book is not None:
            settings.remember = book.paths
        owed = proofs.asked(question) or (question.certified and proofs.trust == "auto")
        owed = owed and (question.certified or isinstance(question.asked, Bounded))
        decide = partial(bounded_answer, modes()[DEFAULT], self.programs)
        with Run(settings, self.programs, partial(decide, settings), partial(decide, here(settings))) as run:
            portfolio = self._portfolio(run, limits(self.budget.left, owed, question.unrolled), book)
            try:
                answer = self.settled(portfolio, question)
            finally:
                self.remaining = portfolio.remaining() if isinstance(portfolio, Portfolio) else []
        begun = self.budget.spent
        try:
            found = establish(question, answer, proofs, self.budget)
        except BudgetError:
            self.report.notes += portfolio.told
            raise
        finally:
            self.report.seconds.prove += self.budget.spent - begun
        if found.proved:
            self.report.credit("exact", self.budget.spent - begun)
        return replace(found, notes=[*found.notes, *(portfolio.told if isinstance(found.answer, Unknown) else ())])

    def _portfolio(self, run: Run, seconds: float | None, book: Journal | None) -> Portfolio | Divided:
        if self.settings.cluster is None or self.mode.solver:
            return Portfolio(self.mode.after(self.settings.earlier), run, self.budget, seconds)
        from venmas.engine.parts.divided import Divided

        return Divided(self.mode, self.settings, self.proofs.trust, self.budget, book)

    def shown(self, answer: Violated | Broken) -> None:  # noqa: D102
        begun, report = self.budget.spent, self.report
        assert self.target is not None
        assert isinstance(answer, Violated)
        checked = replay(self.system, self.target, answer.witness, noise=self.chosen, staying=stays)
        report.seconds.replay += self.budget.spent - begun
        if not checked.confirmed:
            raise AssertionError(f"a witness did not replay: {checked.reason}")
        report.witness, report.replay = answer.witness, checked
