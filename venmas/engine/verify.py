"""Deciding a property of a system: the face of the engine, and the only maker of reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from venmas.answer import Answer, Proved, Unknown, Violated
from venmas.budget import Budget, BudgetError, Progress, limited
from venmas.checker.forever.check import stays
from venmas.engine import arguments
from venmas.engine.certificates.establish import Established, Proofs, establish
from venmas.engine.journal import Journal
from venmas.engine.modes import DEFAULT, DEFAULT_UNBOUNDED, Mode, modes
from venmas.engine.portfolio import Portfolio, bounded_answer, here, limits
from venmas.engine.report import Asked, Origin, Report, Tried, Verdict
from venmas.engine.smooth import check_smooth
from venmas.errors import Reason, SolverUnavailableError, UsageError, did_you_mean
from venmas.logic import Bounded, Formula, Property, bounded
from venmas.logic.printing import to_short_text
from venmas.model.scenario.source import source_of
from venmas.model.system.disturbances import Noise
from venmas.model.system.given import check_system
from venmas.model.system.system import System
from venmas.model.witness.build import replay
from venmas.model.witness.noise import folded
from venmas.nn.network import Semantics
from venmas.procedure import Run, Settings
from venmas.procedures.milp.encoding import ReluEncoding, Task
from venmas.procedures.predicate_abstraction.refinement.figures import Refined
from venmas.procedures.predicate_abstraction.settings import Choices
from venmas.procedures.reachability.graph.figures import Regions
from venmas.question import Question, chosen_for, posed, read_formula, read_inductive, read_property
from venmas.runtime.blas import on_one_thread
from venmas.runtime.display import showing
from venmas.runtime.memory import seldom_collected
from venmas.solvers import get_solver, solver_order
from venmas.solvers.programs import Programs
from venmas.solvers.registry import AUTO

if TYPE_CHECKING:
    from venmas.engine.parts.divided import Divided


@showing
@on_one_thread
@seldom_collected
def verify(
    system: System,
    formula: str | Formula,
    *,
    mode: str | None = None,
    solver: str = "auto",
    workers: int | None = None,
    timeout: float | None = None,
    memory: int | None = None,
    encoding: ReluEncoding = "big-m",
    bounds: str = "symbolic",
    isolated: bool = True,
    parameters: Mapping[str, str] | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
    trust: str = "auto",
    semantics: Semantics = "real",
    certificate: str | Path | None = None,
    about: Mapping[str, object] | None = None,
    cluster: str | None = None,
    journal: str | Path | None = None,
    invariant: str = "",
    **refinement: Any,
) -> Report:
    """Decide whether every initial state of `system` satisfies `formula` (design S6).

    formula: text, the name of a property of the system, or a formula. mode: a portfolio of `venmas.engine.modes`:
    ``adaptive`` (the default; see docs/adaptive.md), ``mono`` (paper, Algorithm 1), ``comp-seq`` or ``comp-par``
    (Algorithm 2), or ``exact`` (a search in rationals); the first and the last trust no solver. For formulas without a
    bound: ``invariant`` (then the default) or ``abstraction``. workers: processes of ``comp-par``, threads of
    ``adaptive``; all cores by default. timeout: seconds. memory: MB of all processes together. isolated: solve in
    worker processes (with False, ``mono`` and ``comp-seq`` solve in this one; a solver that hangs then hangs the
    caller). progress: called a few times a second; True shows a line, in notebooks and on terminals. cluster: address
    of a Dask scheduler whose workers decide parts of the initial set, or solve the programs of ``comp-par`` (one at a
    time, of ``comp-seq``), or ``local:N`` to start one with N workers; memory then holds for this process and for each
    worker by itself.

    trust: what a *satisfied* that rests on a solver's "infeasible" needs. ``exact``: a proof in rationals, else the
    verdict is unknown. ``solver``: nothing more. ``auto``: a proof if one is found soon; the report says what the
    verdict rests on. semantics: what networks compute, the ``real`` function of their weights, or ``float32``: any
    evaluation in single precision, in any order of summation, fused or not. certificate: file to write a proof to, for
    `venmas check`; about: `origin` and `parameters` of its header. Where a proof is required (trust ``exact``,
    semantics ``float32``, or a certificate), a third of the timeout is kept for the search for it, which may also
    decide what the rest of the portfolio left open.

    invariant: for ``AG p`` without a bound, a set of states that is to prove it: a formula about one state, such as the
    name of a proposition. It must contain the initial states and imply p, and no step may lead out of it. Apart from a
    search for violations nothing else is tried then. journal: a file that keeps results, from which a run that was
    ended continues: programs of ``comp-seq`` and ``comp-par`` that a solver found infeasible, and the verdict in any
    mode (docs/journal.md).

    refinement: options of predicate abstraction, by the names of `OPTIONS` of its settings, such as
    ``predicates="guards"`` or ``refine="shrink"``, for modes ``invariant`` and ``abstraction``.

    Raises `FormulaError`, `ModelError` (also when a reachable state leaves its declared box), `UsageError`,
    `StoreError` (a journal that cannot be used) and `SolverUnavailableError`. Limits, Ctrl-C and solver failures are
    verdicts, not exceptions.
    """
    check_system(system, "verify")
    text = arguments.formula_text(formula)
    arguments.check_workers(workers)
    arguments.check_words(trust, semantics, encoding, bounds, mode, solver, invariant, cluster)
    budget = Budget(timeout, memory, progress if callable(progress) else None)
    chosen = _mode(mode, cluster, workers)
    arguments.check_files(certificate, journal)
    solvers = _solvers(solver, chosen.solver)
    count = (workers or os.cpu_count() or 1) if chosen.workers else 1
    source = source_of(system)
    report = Report(
        Verdict.UNKNOWN,
        text,
        source.name if source else system.name,
        chosen.name,
        encoding,
        bounds,
        trust=trust,
        semantics=semantics,
        parameters=dict(parameters if parameters is not None else source.parameters if source else {}),
        workers=count,
        asked=Asked(text, solver, timeout, memory, invariant),
        origin=Origin(source.found_by, source.networks, source.folder.digests, source.files) if source else None,
        model=system,
    )
    header: dict[str, object] = {"parameters": report.parameters}
    header |= {"origin": report.origin.placeless()} if report.origin else {}
    header |= about or {}
    trusted = chosen.solver or trust == "solver"
    settings = Settings(count, solvers, trusted, encoding, bounds, isolated, cluster)
    settings.refinement = Choices.of(**refinement) if refinement else None
    proofs = Proofs(trust, chosen.solver, certificate, header)
    with limited(budget):
        left_open = mode is None and cluster is None
        _Verification(system, formula, chosen, left_open, settings, proofs, budget, report, journal).run()
    if report.witness is not None and system.disturbances:
        report.witness = folded(report.witness)
    return report


def _solvers(preference: str, needed: bool) -> Callable[[], tuple[str, ...]]:
    """The solvers that can be used, in order of preference, looked for once and when they are asked for.

    needed: raises `SolverUnavailableError` where there is none. Raises `UsageError` for an unknown name.
    """

    @cache
    def names() -> tuple[str, ...]:
        try:
            return tuple(s.name for s in solver_order(preference))
        except SolverUnavailableError:
            if needed:
                raise
            return ()

    if preference != AUTO:
        get_solver(preference)
    if needed:
        names()
    return names


def _mode(name: str | None, cluster: str | None, workers: int | None) -> Mode:
    """The mode of that name. Raises `UsageError` for an unknown one, and for options that do not go with a cluster."""
    name = name or DEFAULT
    known = modes()
    if name not in known:
        raise UsageError(f"unknown mode {name!r}: choose one of {', '.join(known)}{did_you_mean(str(name), known)}")
    if cluster is not None:
        from venmas.solvers.cluster.mapper import check_address

        if not known[name].cluster:
            raise UsageError(
                f"mode {name} does not work on a cluster: choose one of "
                f"{', '.join(n for n, mode in known.items() if mode.cluster)}, or leave the cluster out"
            )
        if workers is not None:
            raise UsageError(
                "a number of workers is for this machine alone; a cluster has those that are connected to it, and "
                "local:N starts N of them"
            )
        check_address(cluster)
    return known[name]


@dataclass
class _Verification:
    """One verification: from what was asked to what its report says."""

    system: System
    formula: str | Formula
    mode: Mode
    left_open: bool
    """Is the mode for the kind of the property to decide?"""
    settings: Settings
    proofs: Proofs
    budget: Budget
    report: Report
    journal: str | Path | None
    programs: Programs = field(default_factory=Programs)
    target: Formula | None = None
    """What a witness has to show."""
    chosen: Noise = field(default_factory=dict)

    def run(self) -> None:
        """Fill the report."""
        report = self.report
        try:
            question = self._question()
            book = None
            if self.journal is not None:
                uses = self.mode.solver or self.mode.resort
                book = Journal(self.journal, self.system, self.settings.solvers() if uses else (), self.chosen)
            self._recall(question, book)
        except BudgetError as stop:
            self._write(Unknown(stop.reason, stop.message), None)
        except KeyboardInterrupt:
            self._write(Unknown(Reason.INTERRUPTED, "interrupted before a verdict was reached"), None)
        if report.unwritten is not None:  # not before: no journal keeps what was wrong with a file once
            report.notes.append(f"proved, but without a certificate: {report.unwritten}")
        report.solvers = {name: get_solver(name).version() for name in report.solvers}
        report.seconds.total = self.budget.spent

    def _question(self) -> Question:
        system, report = self.system, self.report
        system.validate()
        system.check_nesting()
        asked = read_property(system, self.formula)
        self._fit(asked)
        check_smooth(system, asked, self.mode, report.semantics)
        report.formula, report.kind = str(asked.formula), asked.kind
        if isinstance(self.formula, Formula) and report.asked is not None:
            report.asked = replace(report.asked, formula=report.formula)
        given = report.asked.invariant if report.asked else ""
        inductive = self._by(given, asked) if given else None
        asked = posed(system, asked)
        self.system, chosen = chosen_for(system, asked) if isinstance(asked, Bounded) else (system, {})
        if chosen and self.settings.cluster is not None:
            raise UsageError("what noise can bring about is decided on one machine: leave the cluster out")
        certified = self.proofs.certificate is not None
        question = Question(self.system, asked, report.semantics, certified, inductive=inductive, chosen=chosen)
        self.target, self.chosen = question.shown, chosen
        return question

    def _by(self, given: str, asked: Property) -> Formula:
        """The set that was given. Raises `FormulaError`, and `UsageError` where the property takes none."""
        if isinstance(asked, Bounded):
            raise UsageError(
                "a set (--invariant) proves what has no bound, and this formula has bounds: leave the set out"
            )
        return read_inductive(self.system, given)

    def _fit(self, asked: Property) -> None:
        """Take a mode that takes the property. Raises `FormulaError` and `UsageError` where the named one does not."""
        if self.left_open and asked.kind not in self.mode.kinds:
            self.mode = modes()[DEFAULT_UNBOUNDED]
            self.report.mode = self.mode.name
        if asked.kind not in self.mode.kinds:
            bounded(asked)  # says what has no bound
            others = ", ".join(name for name, mode in modes().items() if asked.kind in mode.kinds)
            raise UsageError(
                f"mode {self.mode.name} is for formulas without a bound, such as AG p, and "
                f"{to_short_text(asked.formula)} has bounds: leave the mode out, or name another one ({others})"
            )
        turns = {turn.procedure for stage in self.mode.stages for turn in stage}
        if self.settings.refinement is not None and "predicate-abstraction" not in turns:
            raise UsageError(
                f"options of predicate abstraction are given, and mode {self.mode.name} has none of it: leave them "
                "out, or ask for a formula without a bound, such as AG p"
            )

    def _recall(self, question: Question, book: Journal | None) -> None:
        """Decide the question, unless the journal knows its verdict."""
        report, formula = self.report, question.asked.formula
        try:
            if book is None or not book.recall(formula, report, question.certified):
                self._decide(question, book)
        except (BudgetError, KeyboardInterrupt):
            raise
        except BaseException:
            report.verdict = Verdict.UNKNOWN  # what an error has left is no verdict, and none to be kept
            raise
        finally:
            if book is not None:
                book.close(formula, report, self.budget.spent)

    def _decide(self, question: Question, book: Journal | None) -> None:
        proofs, settings = self.proofs, self.settings
        if self.mode.solver:
            from venmas.procedures.milp.procedure import strategy_of

            strategy = strategy_of(self.mode.name)
            if strategy is not None:
                task = Task(question.system, question.target, strategy, settings.encoding, settings.bounds)
                proofs.programs, proofs.task = self.programs, task
        if book is not None:
            settings.remember = book.paths
        owed = proofs.asked(question) or (question.certified and proofs.trust == "auto")
        owed = owed and (question.certified or isinstance(question.asked, Bounded))
        decide = partial(bounded_answer, modes()[DEFAULT], self.programs)
        with Run(settings, self.programs, partial(decide, settings), partial(decide, here(settings))) as run:
            portfolio = self._portfolio(run, owed, book)
            try:
                answer = self._settled(portfolio, question)
            except BudgetError:
                self.report.notes += portfolio.told
                raise
            finally:
                self._count(portfolio)
        begun = self.budget.spent
        try:
            found = establish(question, answer, proofs, self.budget)
        except BudgetError:
            self.report.notes += portfolio.told
            raise
        finally:
            self.report.seconds.prove += self.budget.spent - begun
        self.report.notes += [*found.notes, *(portfolio.told if isinstance(found.answer, Unknown) else ())]
        if found.proved:
            self.report.credit("exact", self.budget.spent - begun)
        self._write(found.answer, found)

    def _portfolio(self, run: Run, owed: bool, book: Journal | None) -> Portfolio | Divided:
        if self.settings.cluster is None or self.mode.solver:
            return Portfolio(self.mode, run, self.budget, limits(self.budget.left, owed))
        from venmas.engine.parts.divided import Divided

        return Divided(self.mode, self.settings, self.proofs.trust, self.budget, book)

    def _settled(self, portfolio: Portfolio | Divided, question: Question) -> Answer:
        """The answer of the portfolio; what it did not find in its share of the time is open."""
        try:
            return portfolio.settle(question)
        except BudgetError as error:
            if error.reason is not Reason.TIME or error.budget is not portfolio.main:
                raise
            return Unknown(Reason.TIME, error.message)

    def _count(self, portfolio: Portfolio | Divided) -> None:
        """What the procedures counted, also where they were stopped."""
        report, programs = self.report, self.programs
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

    def _write(self, answer: Answer, found: Established | None) -> None:
        """The verdict of an answer; a witness is replayed before anybody hears of it."""
        report = self.report
        report.peak_rss_mb = max(report.peak_rss_mb, self.budget.peak_mb, self.programs.peak_mb)
        report.basis = ""
        match answer:
            case Proved(basis):
                report.verdict, report.basis = Verdict.SATISFIED, basis
                if found is not None and found.certificate is not None:
                    report.certify(found.certificate)
            case Violated(witness):
                begun = self.budget.spent
                assert self.target is not None
                checked = replay(self.system, self.target, witness, noise=self.chosen, staying=stays)
                report.seconds.replay += self.budget.spent - begun
                if not checked.confirmed:
                    raise AssertionError(f"a witness did not replay: {checked.reason}")
                report.verdict, report.witness, report.replay = Verdict.VIOLATED, witness, checked
            case Unknown(reason, message):
                report.verdict, report.reason, report.message = Verdict.UNKNOWN, reason.value, message
                report.withdraw("a proof of its answer was owed, and none was found")


__all__ = ["read_formula", "verify"]
