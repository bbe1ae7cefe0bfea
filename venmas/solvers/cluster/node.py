"""Code of the workers of a Dask cluster: each solves one program at a time on a worker process of its own.

A solver in a thread of the Dask worker could be neither stopped nor limited, and its fault would be that of the worker
with all that it holds. So a thread keeps a `Pool` of one process, which already knows limits, deaths and log records,
and gives the program up as soon as nobody wants its answer: the client has found a witness, was stopped, or is lost.

Everything here is found by name on the other machines; imports are few, as the scheduler loads this module, too.
"""

from __future__ import annotations

import logging
import pickle
import platform
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, cast
from uuid import uuid4

from venmas._version import __version__
from venmas.errors import Reason
from venmas.runtime.identity import code_digest

if TYPE_CHECKING:
    from venmas.solvers.milp.outcome import Outcome
    from venmas.solvers.milp.program import Program
    from venmas.solvers.workers.mapper import Done
    from venmas.solvers.workers.pool import Pool
    from venmas.solvers.workers.worker import Work

INSTANCE = uuid4().hex
"""Tells this process from one that takes its address after it."""

IDLE = 15.0
"""Seconds that a solver process without work is kept."""

_RECORDS = 100  # log records that go back with one answer, at most


@dataclass(frozen=True, eq=False)
class Order:
    """A program to solve. `time_limit`: s; `memory_mb`: for the Dask worker and the solver process of this order."""

    program: Program | Work
    solvers: tuple[str, ...]
    time_limit: float | None
    memory_mb: int | None
    level: int


@dataclass(frozen=True, eq=False)
class Reply:
    """Outcome, as in `worker.Answer`, and the log records made on the way."""

    outcome: Outcome
    solver: str
    seconds: float
    peak_mb: float
    records: tuple[logging.LogRecord, ...]


def versions(solvers: Sequence[str] = ()) -> dict[str, str]:
    """Versions that have to agree: VenMAS down to its source text, Python up to its minor version, and the solvers."""
    parts = {
        "venmas": f"{__version__} (source {code_digest()[:12]})",
        "python": ".".join(platform.python_version_tuple()[:2]),
    }
    if solvers:
        from venmas.solvers.registry import get_solver

        parts |= {name: get_solver(name).version() or "not installed" for name in solvers}
    return parts


def introduce(solvers: Sequence[str]) -> tuple[str, dict[str, str]]:
    """`INSTANCE` and `versions`; a solver process is started as well, to be ready when the first order comes."""
    mine = versions(solvers)
    if not _idle:
        _put_back(_new_pool(tuple(solvers)))
    return INSTANCE, mine


def differences(here: dict[str, str], there: dict[str, str]) -> list[str]:
    """Differences between two answers of `versions`, as text."""
    return [
        f"{name} is {there.get(name)} there and {value} here"
        for name, value in here.items()
        if there.get(name) != value
    ]


def solve_order(instance: str, order: bytes) -> Reply | None:
    """The task of Dask: solve a pickled `Order`. None if it was meant for another process or is not wanted any more."""
    if instance != INSTANCE:
        return None
    try:
        return _solve(pickle.loads(order), _still_wanted())
    except Exception as error:  # such as no more open files: no fault of the cluster's, which would be tried again
        text = f"the worker cannot solve it: {type(error).__name__}: {error}"
        return Reply(_unknown(Reason.FAILURE, text), "", 0.0, 0.0, ())


def _unknown(reason: Reason, text: str) -> Outcome:
    from venmas.solvers.milp.outcome import Unknown

    return Unknown(reason, text)


def _solve(order: Order, wanted: Callable[[], bool]) -> Reply | None:
    from venmas.solvers.workers.mapper import Job, MemoryLimitError
    from venmas.solvers.workers.process import WorkerError

    pool, begun = _take(order.solvers), monotonic()
    pool.limit(None if order.time_limit is None else begun + order.time_limit, order.memory_mb)
    # a generator, which kills the solver process when it is closed before its end
    answers = cast("Generator[Done | None, None, None]", pool.map(iter([Job(0, order.program)])))
    with _recorded(order.level) as records:
        try:
            for done in answers:
                if done is not None:
                    return Reply(done.outcome, done.solver, done.seconds, pool.peak_rss_mb, tuple(records))
                if not wanted():
                    break
            return None
        except (MemoryLimitError, WorkerError) as error:
            reason = Reason.MEMORY if isinstance(error, MemoryLimitError) else Reason.FAILURE
            outcome = _unknown(reason, str(error))
            pool.close()  # it may have given up its process
        finally:
            answers.close()
            _put_back(pool)
        return Reply(outcome, "", monotonic() - begun, pool.peak_rss_mb, tuple(records))


def _still_wanted() -> Callable[[], bool]:
    """Asks whether the running task is still wanted; the scheduler tells its worker when no client is left for it."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        if worker.status.name in ("closing", "closed", "failed"):
            return False  # the scheduler is gone
        return task is not None and task.state in ("executing", "long-running")

    return wanted


@contextmanager
def _recorded(level: int) -> Iterator[list[logging.LogRecord]]:
    """Log records of VenMAS from this thread, from `level` on."""
    from venmas.solvers.workers.worker import portable

    records: list[logging.LogRecord] = []
    thread, logger = threading.get_ident(), logging.getLogger("venmas")

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if threading.get_ident() == thread and len(records) < _RECORDS:
                records.append(portable(record))

    handler = Keep()
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield records
    finally:
        logger.removeHandler(handler)


_lock = threading.Lock()
_idle: dict[Pool, threading.Timer] = {}
"""Pools that wait for work, each with the timer that closes it."""

_solvers_of: dict[Pool, tuple[str, ...]] = {}


def _new_pool(solvers: tuple[str, ...]) -> Pool:
    from venmas.solvers.workers.pool import Pool

    pool = Pool(solvers, workers=1, ahead=0)
    _solvers_of[pool] = solvers
    return pool


def _take(solvers: tuple[str, ...]) -> Pool:
    """A pool of one process for this thread alone."""
    with _lock:
        for pool, timer in _idle.items():
            if _solvers_of[pool] == solvers:
                timer.cancel()
                del _idle[pool]
                return pool
    return _new_pool(solvers)


def _put_back(pool: Pool) -> None:
    if pool.closed:
        _solvers_of.pop(pool, None)
        return
    timer = threading.Timer(IDLE, _close_idle, (pool,))
    timer.daemon = True
    with _lock:
        _idle[pool] = timer
    timer.start()


def _close_idle(pool: Pool) -> None:
    with _lock:
        if _idle.pop(pool, None) is None:
            return  # taken in the last moment
        del _solvers_of[pool]
    pool.close()
