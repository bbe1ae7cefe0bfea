"""What a verdict rests on: proofs in exact rationals for what solvers and floats left open or only believe."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path
from time import monotonic

from venmas.budget import limited
from venmas.encoding import Task
from venmas.engine.certify import RationalSearch, certify
from venmas.engine.contradiction import save_contradicted
from venmas.engine.enclosed import Enclosure
from venmas.engine.report import Report, Verdict
from venmas.engine.search import Progress, StopSearchError
from venmas.errors import Reason
from venmas.logic import Formula
from venmas.model.witness.build import replay
from venmas.model.witness.tree import Witness
from venmas.workers.memory import own_resident_mb

PATIENCE = 10.0
"""Seconds that ``trust="auto"`` gives to a proof at least; it also gives as long again as the verdict took, thrice."""

_NO_ANSWER = (Reason.TOLERANCE, Reason.FAILURE, Reason.UNBOUNDED, Reason.LICENCE)
"""Why a solver leaves a question open that a proof, which needs no solver, may still answer."""


HASTE, LITTLE_PATIENCE = 1.0, 0.5
"""Seconds that a search in rationals has before bounds alone are tried, and seconds that these have."""


class Clock:
    """Deadline, memory limit and progress of a proof search; call it between two steps."""

    def __init__(
        self,
        deadline: float | None,
        memory_mb: int | None,
        report: Report,
        progress: Callable[[Progress], None] | None,
        started: float,
    ) -> None:
        self.deadline, self.memory_mb, self.report, self.progress = deadline, memory_mb, report, progress
        self.started, self.steps, self._shown = started, 0, 0.0

    @property
    def left(self) -> float | None:
        """Seconds to the deadline, None without one."""
        return None if self.deadline is None else self.deadline - monotonic()

    def within(self, seconds: float) -> Clock:
        """The same, with a deadline in `seconds` at the latest."""
        until = monotonic() + seconds
        deadline = until if self.deadline is None else min(until, self.deadline)
        return Clock(deadline, self.memory_mb, self.report, self.progress, self.started)

    def __call__(self) -> None:
        """Raise `StopSearchError` when a limit is met."""
        self.steps += 1
        now = monotonic()
        if self.deadline is not None and now > self.deadline:
            raise StopSearchError(Reason.TIME, "the time limit was reached")
        if now - self._shown < 0.1:
            return
        self._shown = now
        used = own_resident_mb()
        self.report.peak_rss_mb = max(self.report.peak_rss_mb, used)
        if self.memory_mb is not None and used > self.memory_mb:
            raise StopSearchError(Reason.MEMORY, f"the memory limit of {self.memory_mb} MB was reached")
        if self.progress is not None:
            counts = self.report.subproblems
            seconds = now - self.started
            self.progress(Progress(counts.created, counts.discarded, counts.solved, 0, self.steps, seconds))


def establish(
    task: Task,
    formula: Formula,
    report: Report,
    clock: Clock,
    certificate: str | Path | None,
    about: dict[str, object],
    rational: RationalSearch,
) -> None:
    """Prove what the report only believes, where its `trust` asks for it, and write the certificate.

    task: how the programs of the report were made; its system is the one that `formula` is about. rational: for a proof
    without a certificate; it may have begun.
    Raises `StopSearchError` when a limit is met and the proof was asked for.
    """
    system, single = task.system, report.semantics == "float32"
    believed = report.mode == "adaptive" and report.basis == "solver"  # as its `trust` says
    alone = report.mode in ("adaptive", "exact") and not believed  # without a solver
    proved = report.satisfied and report.basis == "bounds" and (alone or not single)
    asked = alone or report.trust == "exact" or single
    late = report.reason == Reason.TIME and (asked or certificate is not None)  # a share of the time was kept for this
    doubtful = report.reason in _NO_ANSWER or late or (report.satisfied and not proved)
    if (
        report.violated
        or report.certificate is not None
        or report.unwritten is not None
        or not (
            (alone and not proved)
            or (doubtful and (report.trust != "solver" or single))
            or (report.satisfied and certificate)
        )
    ):
        return
    if not asked and certificate is None:
        clock = clock.within(max(PATIENCE, 3 * (monotonic() - clock.started)))
    if alone and not proved:  # mode adaptive has asked bounds before, of the real function
        refuted = (single or report.mode == "exact") and _refuted_by_bounds(rational, report, clock, certificate)
    else:
        refuted = report.basis == "bounds"
    if refuted and prove_by_enclosures(rational, report, clock, certificate, about):
        return
    begun = monotonic()
    try:
        with limited(clock.deadline, clock):
            if certificate is None:
                proof, stored = rational.run(clock), None
            else:
                proof, stored = certify(system, formula, certificate, about, clock, report.semantics)
    except StopSearchError as stop:
        if asked and not proved:
            raise
        report.notes.append(f"not certified: {stop.message}")
        return
    finally:
        report.seconds.prove += monotonic() - begun
    if proof.witness is not None:
        if report.satisfied:
            report.notes += _contradiction(task, report, proof.witness, clock)
        report.verdict, report.reason, report.message, report.basis = Verdict.VIOLATED, "", "", ""
        report.witness = proof.witness
        report.replay = replay(system, rational.target, proof.witness)
    elif proof.complete:
        report.verdict, report.reason, report.message = Verdict.SATISFIED, "", ""
        report.certify(stored)
    elif proved or not asked:
        report.notes.append(f"not certified: {proof.gaps[0]}")
    else:
        report.verdict, report.basis = Verdict.UNKNOWN, ""
        where = "it holds for the real function of the weights, but is not shown for float32: " if single else ""
        report.reason, report.message = Reason.TOLERANCE.value, where + proof.gaps[0]


def prove_by_enclosures(
    rational: RationalSearch, report: Report, clock: Clock, certificate: str | Path | None, about: dict[str, object]
) -> bool:
    """Prove in rationals, for a limited time, what bounds have refuted: as they do, with nothing split.

    Then `report` has the verdict, and the certificate if one is asked for. Raises `StopSearchError` at a limit other
    than time.
    """
    system, formula = rational.system, rational.formula
    begun = monotonic()
    limited = clock.within(
        min(PATIENCE, max(HASTE, 3 * (begun - clock.started)), inf if clock.left is None else clock.left / 4)
    )
    try:
        if certificate is None:
            proof, stored = RationalSearch(system, formula, report.semantics, whole=True).run(limited), None
        else:
            proof, stored = certify(system, formula, certificate, about, limited, report.semantics, whole=True)
    except StopSearchError as stop:
        if stop.reason is not Reason.TIME:
            raise
        return False
    except (OverflowError, RecursionError):
        return False
    finally:
        report.seconds.prove += monotonic() - begun
    if proof.complete:
        report.verdict, report.reason, report.message = Verdict.SATISFIED, "", ""
        report.certify(stored)
    return proof.complete


def _refuted_by_bounds(rational: RationalSearch, report: Report, clock: Clock, certificate: str | Path | None) -> bool:
    """Do bounds of the real function refute, in a limited time, what rationals do not decide at once?"""
    begun = monotonic()
    try:
        if certificate is None:
            rational.run(clock.within(HASTE))
            return False
    except StopSearchError as stop:
        if stop.reason is not Reason.TIME:
            raise
    finally:
        report.seconds.prove += monotonic() - begun
    try:
        return Enclosure(rational.system, rational.target).run(clock.within(LITTLE_PATIENCE))
    except StopSearchError as stop:
        if stop.reason is not Reason.TIME:
            raise
        return False


def _contradiction(task: Task, report: Report, witness: Witness, clock: Clock) -> list[str]:
    """What to tell of a *satisfied* that a witness refutes, the program saved where a solver was wrong."""
    names = ", ".join(report.solvers) or "the bounds"
    notes = [f"{names} called this satisfied, wrongly: please report it with the whole command"]
    if report.basis == "solver":
        patience = max(PATIENCE, 3 * (report.seconds.encode + report.seconds.solve))
        notes.append(save_contradicted(task, witness.initial, tuple(report.solvers), patience, clock))
    return notes
