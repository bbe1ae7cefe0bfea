"""A worker process seen from the main process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, Pipe
from typing import Any, Generic, TypeVar

from venmas.errors import VenmasError
from venmas.runtime.memory import resident_mb
from venmas.solvers.workers import worker

T = TypeVar("T")

_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerError(VenmasError):
    """Worker processes cannot be started, or die again and again before they are ready."""


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold SIGINT back, and SIGALRM, by which it may be repeated.

    A process started inside keeps them blocked from its first instruction to its last.

    So an interrupt from the terminal never reaches a worker, whatever handlers a solver installs: what it means is
    decided in the main process.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        # what comes just before is handled here, after they were blocked: it may raise
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGALRM})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class WorkerProcess(Generic[T]):
    """A process that runs `worker.main`, and the task (of the caller's type) that it has; start with `interrupts_held`.

    One duplex pipe each, for orders, answers and log records alike: a death at any moment, even in the middle of a
    message, is an end of file here and concerns nobody else.
    """

    def __init__(self, solvers: tuple[str, ...], task: T | None = None, extra: bool = False) -> None:
        """extra: it replaces one that was killed for its memory, and there may be no room for it."""
        self.task, self.extra = task, extra
        self.ready = self.used = False
        self.peak_mb = 0.0
        self.connection: Connection[Any, Any]
        self.connection, theirs = Pipe(duplex=True)
        number, path = theirs.fileno(), [entry for entry in sys.path if isinstance(entry, str)]
        code = f"import sys; sys.path[:] = {path!r}; from {worker.__name__} import main; main({number}, {solvers!r})"
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # ours may be JSON
                pass_fds=[number],
                env=os.environ | _THREADS,
            )
        except (OSError, ValueError) as error:
            self.connection.close()
            where = sys.executable or "sys.executable is empty"
            raise WorkerError(f"cannot start a worker process ({where}): {error}; see `ulimit -u`") from error
        finally:
            theirs.close()

    def end(self) -> str:
        """Kill the process unless it ended by itself, free what belongs to it, and say how it ended. Repeatable."""
        self.process.kill()
        return self.wait()

    def wait(self) -> str:
        """The same for a process that has closed its pipe: it gets a moment to end by itself."""
        try:
            code = self.process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.connection.close()
        if code >= 0:
            return f"exit code {code}"
        return f"signal {-code} ({signal.strsignal(-code) or 'unknown'})"

    @property
    def resident_mb(self) -> float:
        """Resident memory now; the largest that it reported where the system does not tell."""
        now = resident_mb(self.process.pid)
        return self.peak_mb if now is None else now
