"""The interface of mappers, and the one that solves in this process."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from venmas.errors import Reason, VenmasError
from venmas.runtime.memory import own_resident_mb, peak_mb
from venmas.solvers.milp.outcome import Outcome, Unknown
from venmas.solvers.milp.program import Program
from venmas.solvers.registry import get_solver
from venmas.solvers.workers.worker import Work, solve


class MemoryLimitError(VenmasError):
    """The memory limit leaves no room for the main process, or for one worker beside it."""


@dataclass(frozen=True, eq=False)
class Job:
    """A subproblem to solve; `attempt` is the caller's own and comes back untouched."""

    number: int
    program: Program | Work
    attempt: str = ""


@dataclass(frozen=True, eq=False)
class Done:
    """An answer. `solver`: name of the one that gave it, empty if none; `seconds`: time it took there."""

    job: Job
    outcome: Outcome
    solver: str
    seconds: float


class Mapper(Protocol):
    """Solves a stream of jobs. Every job gets one answer unless the stream of answers is closed before."""

    def map(self, jobs: Iterator[Job | None]) -> Iterator[Done | None]:
        """Solve `jobs`, answers as they come. None in `jobs` is a heartbeat; None comes back when none is there.

        After the deadline the remaining jobs are taken and answered `Unknown` (time), not dropped: an end of the stream
        always means that each of its jobs was answered. Raises `MemoryLimitError` and `WorkerError`.
        """
        ...

    def put_first(self, job: Job) -> None:
        """Have `job` solved before anything more is taken from the stream; to be called between two answers."""
        ...

    @property
    def in_flight(self) -> int:
        """Jobs that were taken and whose answers were not handed out yet."""
        ...

    @property
    def threads(self) -> int:
        """Jobs that are solved at a time, at most."""
        ...

    @property
    def peak_rss_mb(self) -> float:
        """Largest resident memory seen, this process and its workers added up; pages they share count for each."""
        ...

    def close(self) -> None:
        """Stop everything at once; no process is left. May be called again."""
        ...


class Closing:
    """Context manager that closes."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop everything."""


class Serial(Closing):
    """Solves in this process, one job at a time: for the Python API and tests.

    `solvers`: names in order of preference; `deadline`: of `time.monotonic()`; `memory_mb`: looked at between jobs.
    """

    def __init__(self, solvers: Sequence[str], deadline: float | None = None, memory_mb: int | None = None) -> None:
        self._solvers, self._deadline, self._memory_mb = known(solvers), deadline, memory_mb
        self._first: deque[Job] = deque()

    def map(self, jobs: Iterator[Job | None]) -> Iterator[Done | None]:
        """See `Mapper.map`."""
        self._first.clear()
        end = object()
        while (job := self._first.popleft() if self._first else next(jobs, end)) is not end:
            if self._memory_mb is not None and (used := own_resident_mb()) > self._memory_mb:
                raise main_too_large(used, self._memory_mb)
            if not isinstance(job, Job):
                yield None
                continue
            left = None if self._deadline is None else self._deadline - time.monotonic()
            if left is not None and left <= 0:
                yield late(job)
                continue
            start = time.monotonic()
            outcome, solver = solve(job.program, self._solvers, left)
            yield Done(job, outcome, solver, time.monotonic() - start)

    def put_first(self, job: Job) -> None:
        """See `Mapper.put_first`."""
        self._first.append(job)

    @property
    def in_flight(self) -> int:
        """Jobs put first that were not solved yet."""
        return len(self._first)

    threads = 1
    """See `Mapper.threads`."""

    @property
    def peak_rss_mb(self) -> float:
        """Largest resident memory of this process so far."""
        return peak_mb()


def known(solvers: Sequence[str]) -> tuple[str, ...]:
    """The names of solvers as a tuple. Raises `UsageError` for one that does not exist."""
    return tuple(get_solver(name).name for name in solvers)


def late(job: Job) -> Done:
    """The answer to a job that was not started before the deadline."""
    return Done(job, Unknown(Reason.TIME, "the time limit was reached"), "", 0.0)


def main_too_large(used: float, limit: int) -> MemoryLimitError:
    """The main process takes `used` MB and `limit` MB are allowed."""
    return MemoryLimitError(
        f"the main process alone takes {used:.0f} MB and the limit is {limit} MB: allow more memory"
    )
