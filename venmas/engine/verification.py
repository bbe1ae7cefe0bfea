"""One verification at work: what deciding CTL (`branching`) and LTL (`linear`) have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from venmas.answer import Answer, Broken, Proved, Unknown, Violated
from venmas.budget import Budget, BudgetError
from venmas.engine.certificates.establish import Established, Proofs
from venmas.engine.modes import Mode
from venmas.engine.portfolio import Portfolio
from venmas.engine.report import Report, Tried, Verdict
from venmas.errors import Reason
from venmas.procedure import LinearQuestion, Settings
from venmas.procedures.predicate_abstraction.refinement.figures import Refined
from venmas.procedures.reachability.graph.figures import Regions
from venmas.question import Question
from venmas.solvers.programs import Programs

if TYPE_CHECKING:
    from venmas.engine.journal import Journal
    from venmas.engine.parts.divided import Divided

AskedT = TypeVar("AskedT", Question, LinearQuestion)


@dataclass
class Verification(ABC, Generic[AskedT]):
    """One verification: from what was asked to what its report says."""

    mode: Mode
    left_open: bool
    """Is the mode for the kind of the property to decide?"""
    settings: Settings
    proofs: Proofs
    budget: Budget
    report: Report
    journal: str | Path | None
    programs: Programs = field(default_factory=Programs, init=False)

    @abstractmethod
    def question(self) -> AskedT:
        """The question; the report says what is asked. Raises `UsageError`, `FormulaError`, `ModelError`."""

    @abstractmethod
    def book(self, question: AskedT, path: str | Path) -> Journal:
        """The journal of the question."""

    @abstractmethod
    def decide(self, question: AskedT, book: Journal | None) -> Established:
        """The answer, and what it rests on. Raises `BudgetError`."""

    @abstractmethod
    def shown(self, answer: Violated | Broken) -> None:
        """Put the witness of a violation into the report, replayed. Raises `AssertionError` where it shows nothing."""

    def run(self) -> None:
        """Fill the report. Raises `BudgetError`, `KeyboardInterrupt`."""
        question = self.question()
        book = None if self.journal is None else self.book(question, self.journal)
        try:
            if book is None or not book.recall(self.report, question.certified):
                found = self.decide(question, book)
                self.report.notes += found.notes
                self.write(found.answer, found)
        except (BudgetError, KeyboardInterrupt):
            raise
        except BaseException:
            self.report.verdict = Verdict.UNKNOWN  # what an error has left is no verdict, and none to be kept
            raise
        finally:
            if book is not None:
                book.close(self.report, self.budget.spent)

    def how_far(self) -> None:
        """Note how far an open question came; where nothing is known of it, nothing."""

    def settled(self, portfolio: Portfolio | Divided, question: Any) -> Answer:
        """The answer of the portfolio; what it did not find in its share of the time is open."""
        try:
            return portfolio.settle(question)
        except BudgetError as error:
            if error.reason is not Reason.TIME or error.budget is not portfolio.main:
                self.report.notes += portfolio.told
                raise
            return Unknown(Reason.TIME, error.message)
        finally:
            self._count(portfolio)

    def write(self, answer: Answer, found: Established | None) -> None:
        """The verdict of an answer; a witness is replayed before anybody hears of it."""
        report = self.report
        report.peak_rss_mb = max(report.peak_rss_mb, self.programs.peak_mb)
        report.basis = ""
        match answer:
            case Proved(basis):
                report.verdict, report.basis = Verdict.SATISFIED, basis
                if found is not None and found.certificate is not None:
                    report.certify(found.certificate)
            case Violated() | Broken():
                self.shown(answer)
                report.verdict = Verdict.VIOLATED
            case Unknown(reason, message):
                report.verdict, report.reason, report.message = Verdict.UNKNOWN, reason.value, message
                report.withdraw("a proof of its answer was owed, and none was found")

    def _count(self, portfolio: Portfolio | Divided) -> None:
        """What the procedures counted, also where they were stopped."""
        report: Report = self.report
        programs: Programs = self.programs
        report.notes += [*programs.notes, *portfolio.notes]
        report.decided_by = portfolio.decided
        for tried in portfolio.tried.values():
            facts = {} if tried.figures is None else dict(tried.figures.facts())
            decided = tried.name == portfolio.decided
            why = "" if decided else tried.why or "it decided a side condition, not the property"
            report.procedures.append(Tried(tried.name, tried.seconds, why, facts))
            if isinstance(tried.figures, Refined) and tried.figures.iterations:
                report.invariant = tried.figures.to_json()
            if isinstance(tried.figures, Regions):
                report.graph = tried.figures
            if tried.name == "exact":
                report.seconds.prove += tried.seconds
        report.subproblems, report.largest_program = programs.subproblems, programs.largest
        report.depth, report.solvers = programs.depth, dict.fromkeys(programs.solvers, "")
        report.seconds.encode, report.seconds.solve = programs.encode, programs.solve
        report.seconds.replay += programs.confirm
        if not isinstance(portfolio, Portfolio):
            report.workers, report.peak_rss_mb = portfolio.threads, portfolio.peak_mb
        elif self.settings.cluster is not None:
            report.workers = programs.workers
            report.notes.append(f"programs went to the cluster {self.settings.cluster}, {report.workers} at a time")
