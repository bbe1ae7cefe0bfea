"""A worker process: receives programs over its own pipe, solves them, sends outcomes and log records back.

The main process starts it with `start` as a fresh interpreter that imports this module and nothing of the user's.
"""

from __future__ import annotations

import ctypes
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol, runtime_checkable

from venmas.errors import Reason
from venmas.runtime.helping import helped
from venmas.runtime.memory import peak_mb
from venmas.solvers.milp.outcome import Outcome, Unknown
from venmas.solvers.milp.program import Program
from venmas.solvers.registry import get_solver, solve_in_order

_PR_SET_PDEATHSIG = 1


@runtime_checkable
class Work(Protocol):
    """Work for another process, if it is no program; its result is handed back as it is."""

    def run(self, time_limit: float | None) -> Any:
        """Do it in `time_limit` s."""


@dataclass(frozen=True, eq=False)
class Order:
    """Job of a worker. `time_limit`: s; `level`: of the log records that are handed back; `helped`: whoever sent it may
    do pieces of it."""

    program: Program | Work
    time_limit: float | None
    level: int
    helped: bool = False


@dataclass(frozen=True)
class Ready:
    """Sent once: the worker has imported what it needs."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Result of a job. `peak_mb`: largest resident memory of the worker so far."""

    outcome: Outcome
    solver: str
    seconds: float
    peak_mb: float


def solve(program: Program | Work, solvers: Sequence[str], time_limit: float | None) -> tuple[Outcome, str]:
    """Solve on one thread with the first of the named solvers that answers; what is raised becomes `Unknown`."""
    try:
        if isinstance(program, Work):
            return program.run(time_limit), ""
        return solve_in_order(program, [get_solver(name) for name in solvers], time_limit=time_limit)
    except MemoryError as error:
        return Unknown(Reason.MEMORY, f"out of memory: {error}"), ""
    except Exception as error:
        logging.getLogger(__name__).exception("a subproblem failed")
        return Unknown(Reason.FAILURE, f"{type(error).__name__}: {error}"), ""


def main(descriptor: int, solvers: Sequence[str]) -> None:
    """Serve orders from the socket `descriptor` until its other end is closed."""
    os.set_inheritable(descriptor, False)
    connection: Connection[Any, Any] = Connection(descriptor)
    _die_with_main_process(descriptor)
    logging.getLogger().addHandler(_Sender(connection))
    for name in solvers:
        get_solver(name).available()  # imports the vendor's library while the main process encodes
    try:
        connection.send(Ready())
        while True:
            order = connection.recv()
            if not isinstance(order, Order):
                continue  # help that is offered too late
            logging.getLogger().setLevel(order.level)
            start = time.monotonic()
            with helped(connection if order.helped else None):
                outcome, solver = solve(order.program, solvers, order.time_limit)
            connection.send(Answer(outcome, solver, time.monotonic() - start, peak_mb()))
    except (EOFError, OSError):
        return  # the main process is gone or has closed the pool


def portable(record: logging.LogRecord) -> logging.LogRecord:
    """The record without what may not be pickled: its arguments and traceback become text."""
    record.message = record.msg = record.getMessage()
    if record.exc_info:
        record.exc_text = logging.Formatter().formatException(record.exc_info)
    record.args = record.exc_info = None
    return record


class _Sender(logging.Handler):
    """Sends log records over the pipe, in the order in which they were made, before the answer they belong to."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        super().__init__()
        self._connection = connection

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._connection.send(portable(record))
        except Exception:
            self.handleError(record)


def _die_with_main_process(descriptor: int) -> None:
    """Have the kernel kill this process, even during a solve, when the main process ends.

    If that happened before this call, the first read of the pipe ends the worker. Where the kernel does not offer it, a
    thread waits for the other end of the pipe to close; it needs a solver that releases the interpreter lock.
    """
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0:
        return
    poll = select.poll()
    poll.register(descriptor, 0)  # hang-up is always reported

    def watch() -> None:
        poll.poll()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
