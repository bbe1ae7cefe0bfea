"""Cells of a map as work for this process or others: questions to `venmas.verify` about a part of the box."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import monotonic, sleep

from venmas.budget import Budget, BudgetError, Progress
from venmas.engine.map.start import starting_in
from venmas.engine.map.tree import Axis, Point, Sides, Status, cut_of, holds_in
from venmas.engine.report import Report, Verdict
from venmas.engine.verify import verify
from venmas.errors import FormulaError, InputError, Reason, UsageError
from venmas.logic import Formula
from venmas.model.system.system import System
from venmas.solvers.milp.outcome import Unknown
from venmas.solvers.workers.mapper import Done, Job, MemoryLimitError
from venmas.solvers.workers.pool import Pool
from venmas.solvers.workers.process import WorkerError

log = logging.getLogger(__name__)

_PAUSE = 0.01
"""Seconds between two looks at workers, where no cell waits."""


@dataclass
class Decided:
    """The outcome of a cell: its status, or states of it that satisfy the formula and violate it, where they are known.

    certificate: sha256 of the one that was written. full: was all of its time there? late: did a question run out of
    time? note: why the negation is not decided. reason, message: of a question that was stopped by Ctrl-C or for want
    of memory. fault: what is wrong with the model or the formula.
    """

    status: Status = "open"
    by: str = ""
    basis: str = ""
    certificate: str = ""
    holds: Point | None = None
    breaks: Point | None = None
    full: bool = True
    late: bool = False
    questions: int = 0
    note: str = ""
    reason: str = ""
    message: str = ""
    fault: InputError | None = None


class _StopError(Exception):
    """Raised where the rest of a cell is not asked."""


@dataclass(frozen=True, eq=False)
class CellWork:
    """A cell of the map of `system`. negation: None where it is not decided. holds, breaks: states that are known.

    seconds: for each question. memory: MB of this process. tick: called a few times a second, in this process only.
    certificate: the file that a certificate is written to.
    """

    system: System
    formula: Formula
    negation: Formula | None
    axes: tuple[Axis, ...]
    box: Sides
    holds: Point | None
    breaks: Point | None
    seconds: float
    memory: int | None = None
    tick: Callable[[Progress], None] | None = None
    certificate: Path | None = None

    def run(self, time_limit: float | None) -> Decided:
        """Decide it; time_limit: seconds for the whole, None for none."""
        made = Decided(holds=self.holds, breaks=self.breaks)
        end = inf if time_limit is None else monotonic() + time_limit
        try:
            if made.holds is None and made.breaks is None and any(low < high for low, high in self.box):
                self._look(made, end)
            if made.breaks is None:
                self._ask(made, end, self.formula, "proved")
            if made.holds is None and made.status == "open" and self.negation is not None:
                self._ask(made, end, self.negation, "violated")
        except _StopError:
            made.full = False
        except InputError as error:
            made.fault = error
        return made

    def _look(self, made: Decided, end: float) -> None:
        """Decide a state in the middle."""
        middle = tuple(
            (low if low == high else cut_of((low, high), axis.integral)) or low
            for axis, (low, high) in zip(self.axes, self.box, strict=True)
        )
        report = self._verify(made, tuple((value, value) for value in middle), self.formula, end)
        if report.verdict is Verdict.SATISFIED:
            made.holds = middle
        elif report.verdict is Verdict.VIOLATED:
            made.breaks = middle

    def _ask(self, made: Decided, end: float, formula: Formula, status: Status) -> None:
        """Ask whether all of the cell is so."""
        try:
            report = self._verify(made, self.box, formula, end, self.certificate)
        except (FormulaError, UsageError) as error:
            if status == "proved":
                raise
            made.note = f"nothing can be proved violated everywhere: {error}"
            return
        if report.verdict is Verdict.SATISFIED:
            made.status, made.by, made.basis = status, report.decided_by, report.basis
            made.certificate = report.certificate.sha256 if report.certificate else ""
        elif report.verdict is Verdict.VIOLATED and status == "proved":
            made.breaks = self._state(report)
        elif report.verdict is Verdict.VIOLATED:
            made.holds = self._state(report)

    def _verify(
        self, made: Decided, box: Sides, formula: Formula, end: float, certificate: Path | None = None
    ) -> Report:
        """One question. Raises what `verify` raises, and `_StopError`."""
        left = end - monotonic()
        if left <= 0:
            raise _StopError
        limit, part = min(self.seconds, left), starting_in(self.system, self.axes, box)
        report = verify(
            part,
            formula,
            timeout=limit,
            memory=self.memory,
            progress=self.tick,
            certificate=certificate,
            partial=False,
        )
        made.questions += 1
        if report.reason in (Reason.INTERRUPTED, Reason.MEMORY):
            made.reason, made.message = report.reason, report.message
            raise _StopError
        if report.reason == Reason.TIME:
            made.late = True
            if limit < self.seconds:
                raise _StopError
        return report

    def _state(self, report: Report) -> Point | None:
        """The initial state of a witness, where it is rational."""
        if report.witness is None:
            return None
        values = {value.name: value.exact for value in report.witness.nodes[0].state if not value.radius}
        if not all(axis.name in values for axis in self.axes):
            return None
        point = tuple(values[axis.name] for axis in self.axes)
        return point if holds_in(self.box, point) else None


class Workers:
    """Who decides cells: this process, or so many others within the limits of a budget."""

    def __init__(self, count: int, budget: Budget) -> None:
        self._budget, self._pool = budget, None
        if count > 1:
            deadline = None if budget.left is None else budget.deadline
            self._pool = Pool((), deadline, budget.memory_mb, count, ahead=0)

    @property
    def here(self) -> bool:
        """Is it this process, one cell at a time?"""
        return self._pool is None

    def close(self) -> None:
        """Stop the other processes."""
        if self._pool is not None:
            self._pool.close()

    def answers(self, jobs: Iterator[Job | None]) -> Iterator[tuple[int, Decided]]:
        """Outcomes of cells by number, as they come. Raises `BudgetError`."""
        if self._pool is None:
            for job in jobs:
                assert job is not None and isinstance(job.program, CellWork)  # nothing is pending
                yield job.number, job.program.run(self._budget.left)
            return
        try:
            for done in self._pool.map(jobs):
                if done is None:
                    self._budget()
                    sleep(_PAUSE)
                else:
                    yield done.job.number, _outcome(done)
        except MemoryLimitError as error:
            raise BudgetError(self._budget, Reason.MEMORY, str(error)) from error
        except WorkerError as error:
            raise BudgetError(self._budget, Reason.FAILURE, str(error)) from error


def _outcome(done: Done) -> Decided:
    """The outcome of a cell; where a worker was stopped or failed, the cell stays open as it was."""
    work, outcome = done.job.program, done.outcome
    if isinstance(outcome, Decided):
        return outcome
    assert isinstance(work, CellWork) and isinstance(outcome, Unknown)
    if outcome.reason is Reason.FAILURE:
        log.warning("a box could not be decided: %s", outcome.message)
    return Decided(holds=work.holds, breaks=work.breaks, full=outcome.reason is not Reason.TIME)
