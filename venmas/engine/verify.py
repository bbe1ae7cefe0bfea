"""Deciding a property of a system: the face of the engine, and the only maker of reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from venmas.budget import Budget, BudgetError, Progress, limited
from venmas.engine import arguments
from venmas.engine.branching import BranchingVerification
from venmas.engine.certificates.establish import Proofs
from venmas.engine.modes import DEFAULT, Mode, modes
from venmas.engine.partial.partial import kept
from venmas.engine.report import Asked, Origin, Report, Verdict
from venmas.engine.tuning import NOTHING, read_tune, shown
from venmas.engine.verification import Verification
from venmas.errors import Reason, UsageError, did_you_mean
from venmas.formats.asked import read_asked
from venmas.logic import Deadlock, Formula, Linear, Property
from venmas.model.circuit.nodes import Circuit
from venmas.model.scenario.source import source_of
from venmas.model.system.given import check_subject
from venmas.model.system.system import System
from venmas.model.witness.noise import folded
from venmas.nn.network import Semantics
from venmas.procedure import Settings, Subject
from venmas.procedures.milp.settings import BOUND_METHOD, ENCODING
from venmas.runtime.blas import on_one_thread
from venmas.runtime.display import showing
from venmas.runtime.memory import seldom_collected
from venmas.solvers import get_solver


@showing
@on_one_thread
@seldom_collected
def verify(
    subject: Subject,
    formula: str | Formula,
    *,
    mode: str | None = None,
    solver: str = "auto",
    workers: int | None = None,
    timeout: float | None = None,
    memory: int | None = None,
    parameters: Mapping[str, str] | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
    trust: str = "auto",
    semantics: Semantics = "real",
    certificate: str | Path | None = None,
    about: Mapping[str, object] | None = None,
    cluster: str | None = None,
    journal: str | Path | None = None,
    invariant: str = "",
    fair: Iterable[str] = (),
    deadlock: Deadlock = "error",
    initial: str = "",
    tune: Mapping[str, object] = NOTHING,
    partial: bool = True,
    earlier: str | Path | None = None,
) -> Report:
    """Decide whether every initial state of a system, or every run of a system or circuit, satisfies `formula`.

    subject: a system (CTL: design S6; LTL: L3 of docs/semantics.md), or a circuit (LTL). formula: text, the name of a
    property of the subject, or a formula. mode: a portfolio of `venmas.engine.modes`:
    ``adaptive`` (the default; see docs/adaptive.md), ``mono`` (paper, Algorithm 1), ``comp-seq`` or ``comp-par``
    (Algorithm 2), or ``exact`` (a search in rationals); the first and the last trust no solver. For formulas without a
    bound: ``invariant`` (then the default) or ``abstraction``. workers: processes of ``comp-par``, threads of
    ``adaptive``; all cores by default. timeout: seconds. memory: MB of all processes together. progress: called a few
    times a second; True shows a line, in notebooks and on terminals. cluster: address of a Dask scheduler whose workers
    decide parts of the initial set, or solve the programs of ``comp-par`` (one at a time, of ``comp-seq``), or
    ``local:N`` to start one with N workers; memory then holds for this process and for each worker by itself.

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

    Of LTL: fair: conditions that hold infinitely often on the runs that are meant. deadlock: of a state without
    successor; ``error``, nothing is satisfied where one is reached; ``stutter``, runs stay there. initial: what holds
    of the registers of a circuit in initial states, besides. trust of circuits: ``auto`` and ``exact`` prove each
    obligation gate by gate, ``two`` asks two SMT solvers, ``solver`` one.

    tune: options of single procedures by name, such as ``{"milp.bounds": "interval", "predicates.refine": "ws"}``;
    `venmas help tune` lists them. One that no procedure of the mode reads is refused. partial: look how far an open
    question came, a quarter of a second or more beyond the limit. earlier: a certificate of the property, of a system
    with other networks or parameters: what it says is tried first, checked as any certificate, and only what fails is
    searched for again.

    Raises `FormulaError`, `ModelError` (also when a reachable state leaves its declared box), `UsageError`,
    `StoreError` (a journal that cannot be used) and `SolverUnavailableError`. Limits, Ctrl-C and solver failures are
    verdicts, not exceptions.
    """
    check_subject(subject, "verify")
    if earlier is not None and cluster is not None:
        raise UsageError("an earlier proof is tried on one machine: leave the cluster out")
    text = arguments.formula_text(formula)
    arguments.check_workers(workers)
    arguments.check_words(trust, semantics, mode, solver, invariant, cluster)
    arguments.check_linear(fair, deadlock, initial)
    tuned = read_tune(tune)
    budget = Budget(timeout, memory, progress if callable(progress) else None)
    budget.deadline -= kept(timeout)
    chosen = _mode(mode, cluster, workers)
    arguments.check_files(certificate, journal, earlier)
    solvers = arguments.usable_solvers(solver, chosen.solver)
    count = (workers or os.cpu_count() or 1) if chosen.workers else 1
    system = subject if isinstance(subject, System) else None
    source = None if system is None else source_of(system)
    trusted = chosen.solver or trust == "solver"
    settings = Settings(count, solvers, trusted, cluster, tune=tuned, earlier=None if earlier is None else str(earlier))
    report = Report(
        Verdict.UNKNOWN,
        text,
        source.name if source else _title(subject),
        chosen.name,
        ENCODING.of(settings),
        BOUND_METHOD.of(settings),
        trust=trust,
        semantics=semantics,
        parameters=dict(parameters if parameters is not None else source.parameters if source else {}),
        workers=count,
        asked=Asked(text, solver, timeout, memory, invariant, {}, tuple(fair), deadlock, initial, shown(tuned)),
        origin=Origin(source.found_by, source.networks, source.folder.digests, source.files) if source else None,
        model=system,
        circuit=subject if isinstance(subject, Circuit) else None,
    )
    header: dict[str, object] = {"parameters": report.parameters}
    header |= {"origin": report.origin.placeless()} if report.origin else {}
    header |= about or {}
    proofs = Proofs(trust, chosen.solver, certificate, header)
    left_open = mode is None and cluster is None

    job: Verification[Any] | None = None
    with limited(budget):
        try:
            of, asked = _read(subject, formula, report, budget)
            given = (chosen, left_open, settings, proofs, budget, report, journal)
            if isinstance(asked, Linear):
                from venmas.engine.linear import LinearVerification

                _check_for_linear(report)
                job = LinearVerification(*given, asked, of)
            else:
                assert isinstance(of, System)
                job = BranchingVerification(*given, asked, of)
            job.run()
        except BudgetError as stop:
            _stopped(report, stop.reason, stop.message)
        except KeyboardInterrupt:
            _stopped(report, Reason.INTERRUPTED, "interrupted before a verdict was reached")
    if job is not None and partial:
        with suppress(KeyboardInterrupt):  # the verdict stands
            job.how_far()
    report.peak_rss_mb = max(report.peak_rss_mb, budget.peak_mb)
    if report.unwritten is not None:  # not before: no journal keeps what was wrong with a file once
        report.notes.append(f"proved, but without a certificate: {report.unwritten}")
    report.solvers = {name: get_solver(name).version() for name in report.solvers}
    report.seconds.total = budget.spent
    if report.witness is not None and system is not None and system.disturbances:
        report.witness = folded(report.witness)
    return report


def _title(subject: Subject) -> str:
    return subject.name if isinstance(subject, System) else subject.title or "the netlist"


def _read(subject: Subject, formula: str | Formula, report: Report, budget: Budget) -> tuple[Subject, Property]:
    """The property; the report says what is asked. Raises `FormulaError`, `ModelError`, `UsageError`."""
    if isinstance(subject, System):
        subject.validate()
        subject.check_nesting()
    given = report.asked
    assert given is not None
    subject, asked = read_asked(subject, formula, given.fair, given.deadlock, given.initial)
    if isinstance(subject, Circuit) and given.initial:
        from venmas.model.circuit.binding import check_started

        check_started(subject, given.initial, budget)
    report.formula = asked.text if isinstance(asked, Linear) else str(asked.formula)
    report.kind = asked.kind
    if isinstance(formula, Formula):
        report.asked = replace(given, formula=report.formula)
    if isinstance(asked, Linear) and isinstance(formula, str):
        text = formula.strip()  # as written: F and G are built from U and R
        report.formula = subject.properties.get(text, text)
    return subject, asked


def _check_for_linear(report: Report) -> None:
    """Raises `UsageError` for what no procedure of LTL reads."""
    if report.asked is not None and report.asked.invariant:
        raise UsageError("an inductive set proves AG p of systems: of LTL leave it out")
    if report.semantics != "real":
        raise UsageError("LTL is decided of real arithmetic: leave the semantics out, or ask CTL with bounds")


def _stopped(report: Report, reason: Reason, message: str) -> None:
    report.verdict, report.reason, report.message, report.basis = Verdict.UNKNOWN, reason.value, message, ""
    report.withdraw("a proof of its answer was owed, and none was found")


def _mode(name: str | None, cluster: str | None, workers: int | None) -> Mode:
    """The mode of that name. Raises `UsageError` for an unknown one, and for options that do not go with a cluster."""
    name = name or DEFAULT
    known = modes()
    if name not in known:
        raise UsageError(f"unknown mode {name!r}: choose one of {', '.join(known)}{did_you_mean(str(name), known)}")
    if cluster is not None:
        from venmas.solvers.cluster.mapper import check_address

        if not known[name].cluster:
            others = ", ".join(n for n, mode in known.items() if mode.cluster)
            choose = "" if known[name].kinds == (Linear.kind,) else f"choose one of {others}, or "
            raise UsageError(f"mode {name} does not work on a cluster: {choose}leave the cluster out")
        if workers is not None:
            raise UsageError(
                "a number of workers is for this machine alone; a cluster has those that are connected to it, and "
                "local:N starts N of them"
            )
        check_address(cluster)
    return known[name]
