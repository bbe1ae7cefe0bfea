"""Deciding a property of a system: the modes, limits and verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal

import numpy as np

from venmas.budget import limited
from venmas.encoding import ReluEncoding, Strategy, Task
from venmas.engine.adaptive import Wanted, decide
from venmas.engine.beside import programs_beside
from venmas.engine.blas import on_one_thread
from venmas.engine.certify import RationalSearch
from venmas.engine.establish import Clock, establish
from venmas.engine.journal import Journal
from venmas.engine.programs import decide_by_programs, leave_open
from venmas.engine.report import Asked, Report, Verdict
from venmas.engine.search import Progress, Search, StopSearchError
from venmas.errors import FormulaError, Reason, SolverUnavailableError, UsageError
from venmas.files import why_not_writable
from venmas.logic import Atom, Formula, parse, subformulas
from venmas.logic.printing import to_short_text
from venmas.milp.program import NotFiniteError
from venmas.model.limits import MAX_NUMBER
from venmas.model.system import System
from venmas.nn.network import Semantics
from venmas.solvers import get_solver, solver_order
from venmas.solvers.registry import AUTO
from venmas.workers.pool import MemoryLimitError, Pool, Serial, WorkerError

if TYPE_CHECKING:
    from venmas.cluster.mapper import Cluster

Mode = Literal["adaptive", "mono", "comp-seq", "comp-par", "exact"]
MODES: dict[str, Strategy | None] = {
    "adaptive": None,
    "mono": "monolithic",
    "comp-seq": "compositional",
    "comp-par": "compositional",
    "exact": None,
}
TRUSTS = ("auto", "exact", "solver")
SHARE = 2 / 3
"""Part of the timeout that solvers may use where a proof is owed as well; then it is sought without them."""


@on_one_thread
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
    progress: Callable[[Progress], None] | None = None,
    trust: str = "auto",
    semantics: Semantics = "real",
    certificate: str | Path | None = None,
    about: Mapping[str, object] | None = None,
    cluster: str | None = None,
    journal: str | Path | None = None,
) -> Report:
    """Decide whether every initial state of `system` satisfies `formula` (design S6).

    formula: text, the name of a property of the system, or a formula. mode: ``adaptive`` (a reach graph, refined where
    something is open; then as ``exact``), ``mono`` (paper, Algorithm 1), ``comp-seq`` or ``comp-par`` (Algorithm 2), or
    ``exact`` (a search in rationals); the first and the last trust none. The default is ``adaptive``, with a cluster
    ``comp-par``. workers: processes of ``comp-par``, threads of ``adaptive``, all cores by default. timeout: seconds,
    reading the formula and checking the system included. memory: MB of all processes together. isolated: solve in
    worker processes (with False, ``mono`` and ``comp-seq`` solve in this one; a solver that hangs then hangs the
    caller). progress: called a few times a second. cluster: address of a Dask scheduler whose workers solve the
    programs of ``comp-par`` (one at a time, of ``comp-seq``), or ``local:N`` to start one with N workers; memory then
    holds for this process and for each worker by itself.

    trust: what a *satisfied* that rests on a solver's "infeasible" needs. ``exact``: a proof in rationals, else the
    verdict is unknown. ``solver``: nothing more. ``auto``: a proof is tried for a while, and the report says what the
    verdict rests on. semantics: what networks compute, the ``real`` function of their weights, or ``float32``: any
    evaluation in single precision, in any order of summation, fused or not. certificate: file to write a proof to, for
    `venmas check` (where it cannot be, as on a full disk, a note of the report and `Report.unwritten` say why); about:
    what its header says besides. Where a proof is asked for, by any of the three, solvers may use `SHARE` of the
    timeout, and the rest is for a proof, which may also decide what they left open.

    journal: a file that keeps what is found, so that a run that was ended goes on where it was: programs of
    ``comp-seq`` and ``comp-par`` that a solver found infeasible, and the verdict in any mode (docs/journal.md).

    Raises `FormulaError`, `ModelError` (also when a reachable state leaves its declared box), `UsageError`,
    `StoreError` (a journal that cannot be used) and `SolverUnavailableError`. Limits, Ctrl-C and solver failures are
    verdicts, not exceptions.
    """
    mode = mode or ("adaptive" if cluster is None else "comp-par")
    options = (("mode", mode, tuple(MODES)), ("trust", trust, TRUSTS), ("semantics", semantics, ("real", "float32")))
    for which, given, known in options:
        if given not in known:
            raise UsageError(f"unknown {which} {given!r}: choose one of {', '.join(known)}")
    if certificate is not None and (problem := why_not_writable(str(certificate))):
        raise UsageError(f"cannot write the certificate {str(certificate)!r}: {problem}")
    if cluster is not None:
        _check_cluster(cluster, mode, workers)
    strategy = MODES[mode]
    if solver != AUTO:
        get_solver(solver)
    names = tuple(s.name for s in solver_order(solver)) if strategy else ()
    count = (workers or os.cpu_count() or 1) if mode in ("adaptive", "comp-par") else 1
    begun = monotonic()
    owed = (
        mode == "adaptive"
        or trust == "exact"
        or semantics == "float32"
        or (certificate is not None and trust == "auto")
    )
    deadline = None if timeout is None else begun + timeout
    first_deadline = begun + SHARE * timeout if timeout is not None and owed else deadline
    report = Report(
        Verdict.UNKNOWN,
        formula if isinstance(formula, str) else to_short_text(formula),
        system.name,
        mode,
        encoding,
        bounds,
        trust=trust,
        semantics=semantics,
        parameters=dict(parameters or {}),
        workers=count,
    )
    report.asked = Asked(report.formula, solver, timeout, memory)
    header = {"parameters": report.parameters, **(about or {})}
    limit = Clock(deadline, None, report, None, begun)
    try:
        with limited(deadline, limit):
            system.validate()
            system.check_nesting()
            parsed = read_formula(system, formula)
            report.formula = str(parsed)
            if isinstance(formula, Formula):
                report.asked = replace(report.asked, formula=report.formula)
            usable = _usable(solver) if mode == "adaptive" and journal is not None else names
            book = None if journal is None else Journal(journal, system, usable)
    except StopSearchError as stop:
        leave_open(report, stop.reason, stop.message)
        return _finished(report, begun)
    limits = ExitStack()
    limits.enter_context(limited(deadline, limit))
    try:
        if book is not None and book.recall(parsed, report, certificate is not None):
            return _finished(report, begun)
        rational = RationalSearch(system, parsed, report.semantics)
        task = Task(system, rational.target, strategy or "compositional", encoding, bounds)
        if strategy:
            with _mapper(names, first_deadline, memory, count, mode, isolated, cluster) as mapper:
                try:
                    # bounds beyond the largest float are infinite, which says nothing and is no error
                    with np.errstate(over="ignore", invalid="ignore"):
                        remember = None if book is None else book.paths
                        search = Search(mapper, first_deadline, report, progress, remember)
                        decide_by_programs(parsed, search, report, task)
                except StopSearchError as stop:
                    if not owed or stop.reason is not Reason.TIME:
                        raise
                    leave_open(report, stop.reason, stop.message)
                except (OverflowError, NotFiniteError) as error:
                    leave_open(report, Reason.TOLERANCE, f"numbers arise that are too large for floats: {error}")
                finally:
                    report.peak_rss_mb = mapper.peak_rss_mb
                    if cluster is not None:
                        report.workers = mapper.threads
                        report.notes.append(f"programs went to the cluster {cluster}, {report.workers} at a time")
        declined = False
        if mode == "adaptive":
            try:
                wanted = None if certificate is None else Wanted(certificate, header)
                decide(rational, report, Clock(first_deadline, memory, report, progress, begun), wanted)
                declined = report.verdict is Verdict.UNKNOWN
            except StopSearchError as stop:
                if stop.reason is not Reason.TIME and not report.satisfied:
                    raise
                declined = not report.satisfied  # the rest of the time is for a proof, or for a certificate
        clock = Clock(deadline, memory, report, progress, begun)
        told = ""
        if declined and semantics == "real" and (names := _usable(solver)):
            until = Clock(first_deadline, memory, report, progress, begun) if certificate is not None else clock
            programs = replace(task, strategy="monolithic")
            told = programs_beside(programs, rational, report, until, names, certificate is not None)
        try:
            establish(task, parsed, report, clock, certificate, header, rational)
        finally:
            if told and not (report.satisfied or report.violated):
                report.notes.append(told)
    except StopSearchError as stop:
        leave_open(report, stop.reason, stop.message)
    except MemoryLimitError as error:
        leave_open(report, Reason.MEMORY, str(error))
    except WorkerError as error:
        leave_open(report, Reason.FAILURE, str(error))
    except KeyboardInterrupt:
        leave_open(report, Reason.INTERRUPTED, "interrupted before a verdict was reached")
    except BaseException:
        report.verdict = Verdict.UNKNOWN  # what an error has left is no verdict, and none to be kept
        raise
    finally:
        limits.close()
        if book is not None:
            book.close(parsed, report, monotonic() - begun)
    return _finished(report, begun)


def _usable(solver: str) -> tuple[str, ...]:
    """Solvers for a mode that can do without any, in order of preference."""
    try:
        return tuple(s.name for s in solver_order(solver))
    except SolverUnavailableError:
        return ()


def _finished(report: Report, begun: float) -> Report:
    report.solvers = {name: get_solver(name).version() for name in report.solvers}
    report.seconds.total = monotonic() - begun
    if report.unwritten is not None:  # not before: no journal keeps what was wrong with a file once
        report.notes.append(f"proved, but without a certificate: {report.unwritten}")
    return report


def _mapper(
    names: tuple[str, ...],
    deadline: float | None,
    memory: int | None,
    workers: int,
    mode: str,
    isolated: bool,
    cluster: str | None,
) -> Pool | Serial | Cluster:
    if cluster is not None:
        from venmas.cluster.mapper import Cluster

        alone = mode == "comp-seq"
        return Cluster(names, deadline, memory, cluster, ahead=0 if alone else 1, at_once=1 if alone else None)
    if isolated or mode == "comp-par":
        return Pool(names, deadline, memory, workers=workers, ahead=1 if mode == "comp-par" else 0)
    return Serial(names, deadline, memory)


def _check_cluster(cluster: str, mode: str, workers: int | None) -> None:
    """Raises `UsageError` for options that do not go with a cluster."""
    from venmas.cluster.mapper import check_address

    if mode not in ("comp-par", "comp-seq"):
        raise UsageError(
            f"mode {mode} makes no stream of subproblems for a cluster: choose comp-par, the default with one, "
            "or comp-seq, or leave the cluster out"
        )
    if workers is not None:
        raise UsageError(
            "a number of workers is for this machine alone; a cluster has those that are connected to it, and local:N "
            "starts N of them"
        )
    check_address(cluster)


def read_formula(system: System, formula: str | Formula) -> Formula:
    """A formula from its text or from the name of a property of the system. Raises `FormulaError`."""
    parsed = formula if isinstance(formula, Formula) else _parsed(system, formula)
    for node in subformulas(parsed):
        if isinstance(node, Atom):
            for number in (node.comparison.expr.constant, *node.comparison.expr.coefficients.values()):
                if abs(number) > MAX_NUMBER:
                    raise FormulaError(f"a number beyond 1e100 is compared: no variable is so large: {node!r}")
    return parsed


def _parsed(system: System, formula: str) -> Formula:
    name = formula.strip()
    if name in system.properties:
        try:
            return parse(system.properties[name], system.vocabulary)
        except FormulaError as error:
            raise FormulaError(f"property {name!r} of system {system.name!r}: {error}") from error
    return parse(formula, system.vocabulary)
