"""Programs beside the search in rationals, where mode adaptive found nothing: a solver may show a violation.

No solver is trusted: a point is a violation once its run was replayed, and what a solver calls infeasible stays open
for the search in rationals, unless the caller takes its word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic

import numpy as np

from venmas.encoding import Task
from venmas.engine.certify import RationalSearch
from venmas.engine.establish import PATIENCE as FOR_A_PROOF
from venmas.engine.establish import Clock
from venmas.engine.programs import decide_by_programs
from venmas.engine.report import Report, Verdict
from venmas.engine.search import Search, StopSearchError
from venmas.errors import Reason
from venmas.milp.program import NotFiniteError
from venmas.workers.mapper import Done, Job, MemoryLimitError
from venmas.workers.pool import Pool, WorkerError

PATIENCE = 1.0
"""Seconds that the search in rationals has by itself, at least; it has as long as everything before took, up to
`FOR_A_PROOF`."""
_SLICE = 0.4
"""Seconds of it between two looks at the worker, which wait up to 0.1 s."""


class _ProvedError(Exception):
    """The search in rationals has decided."""


class _Beside(Pool):
    """A pool of one worker that has something else done while it waits for that."""

    def __init__(self, solvers: Sequence[str], clock: Clock, work: Callable[[], None]) -> None:
        super().__init__(solvers, clock.deadline, clock.memory_mb, workers=1, ahead=0)
        self._work = work

    def map(self, jobs: Iterator[Job | None]) -> Iterator[Done | None]:
        """See `Mapper.map`."""
        for done in super().map(jobs):
            if done is None:
                self._work()
            yield done


def programs_beside(
    task: Task, rational: RationalSearch, report: Report, clock: Clock, solvers: Sequence[str], certificate: bool
) -> str:
    """Decide the formula of `rational` into `report` by programs, while its search in rationals goes on.

    task: how the programs are made. solvers: names in order of preference. certificate: one is asked for, which is
    written by a search of its own: then programs are alone, for a limited time. The verdict stays unknown where nothing
    decides, and where the search in rationals does, for `establish` to write it down. Returns a note on what a solver
    says that was not believed.

    Raises `ModelError` when a run leaves the declared box, and `StopSearchError` at a limit that is not time: whoever
    goes on has the rest of that.
    """

    def slice_of_proof(seconds: float = _SLICE) -> None:
        if certificate or rational.proof is not None:
            return
        limited, begun = clock.within(seconds), monotonic()
        try:
            proof = rational.run(limited)
        except StopSearchError as stop:
            if stop.reason is not Reason.TIME or limited.deadline == clock.deadline:
                raise
            return
        finally:
            report.seconds.prove += monotonic() - begun
        if proof.complete or proof.witness is not None:
            raise _ProvedError

    try:
        patience = max(PATIENCE, min(FOR_A_PROOF, monotonic() - clock.started))
        slice_of_proof(patience if clock.left is None else min(patience, clock.left / 4))
        if certificate:
            clock = clock.within(max(FOR_A_PROOF, 3 * (monotonic() - clock.started)))
        with (
            _Beside(solvers, clock, slice_of_proof) as pool,
            np.errstate(over="ignore", invalid="ignore"),
        ):
            try:
                decide_by_programs(rational.formula, Search(pool, clock.deadline, report, clock.progress), report, task)
            finally:
                report.peak_rss_mb = max(report.peak_rss_mb, pool.peak_rss_mb)
    except _ProvedError:
        return ""
    except StopSearchError as stop:
        if stop.reason is not Reason.TIME:
            raise
        return ""
    except (OverflowError, RecursionError, NotFiniteError, MemoryLimitError, WorkerError) as error:
        return f"no programs: {error}"
    if report.verdict is Verdict.UNKNOWN:
        report.reason = report.message = ""  # whoever goes on says what is left open
    if not report.satisfied or report.basis == "bounds" or report.trust == "solver":
        return ""
    report.verdict, report.basis = Verdict.UNKNOWN, ""
    names = " and ".join(report.solvers)
    return f"{names} found no violation, up to tolerances, which is no proof: `--trust solver` would take its word"
