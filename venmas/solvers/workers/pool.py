"""The mappers: solve a lazy stream of programs, in this process or on a pool of worker processes.

Workers are started as fresh interpreters (fork and exec in one C call), not by `multiprocessing`: a plain fork is
unsafe once the main process has threads (a live display, a notebook), and its children inherit each other's pipe ends;
`spawn` and `forkserver` import the user's `__main__` again, so that a script without a guard would start itself over.
A fresh interpreter takes as long as `spawn` (two workers ready in 0.7 s, with fork 0.1 s, with forkserver 0.5 s, on two
busy cores), and it does so while the main process encodes.

Log records travel over the worker's own pipe. multiprocessing-logging 0.4.0 was tried for it and does not hold: it
works with plain fork only, and all processes share one queue whose write lock dies with its holder. With `kill -9` of a
worker that logs as fast as it can, every later record of the other worker and of the main process was lost, and the
main process hung at its exit (joining the queue's feeder thread), in 94 of 110 runs; with one record every 2 ms, in
1 of 110. With a pipe each, 150 such kills lost nothing of the others and hung nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import TypeAlias

from venmas.errors import Reason
from venmas.runtime.memory import own_resident_mb
from venmas.solvers.milp.outcome import Outcome, Unknown
from venmas.solvers.workers.flow import Flow, Task, relay
from venmas.solvers.workers.mapper import Done, Job, Mapper, MemoryLimitError, Serial, main_too_large
from venmas.solvers.workers.process import WorkerError, WorkerProcess, interrupts_held
from venmas.solvers.workers.worker import Answer, Order, Ready

__all__ = ["Done", "Job", "Mapper", "MemoryLimitError", "Pool", "Serial", "WorkerError"]

log = logging.getLogger(__name__)


GRACE = 0.3
"""Time (s) after the deadline that a worker gets to answer."""

_LOOK = 0.05  # least time (s) between two looks at the memory
_FAILED_STARTS = 2  # deaths at start-up in a row, beyond one for each worker, that end the run


_Worker: TypeAlias = WorkerProcess[Task]


class Pool(Flow):
    """Solves on `workers` processes.

    `solvers`, `deadline`, `memory_mb` as for `Serial`, the memory being that of this process and all workers. `ahead`:
    how many jobs may be taken beyond one for each worker; with one worker and 0 the producer runs only while no worker
    does (sequential mode).

    A worker that dies is replaced; its job is tried once more on the fresh worker, and after a second death it is
    `Unknown` (failure). Above the memory limit the largest worker is killed and its job is `Unknown` (memory); where
    there is no room for its replacement, the pool does with one less, and no worker gets a first job unless there is
    room for it. Workers that do not answer `GRACE` s after the deadline are killed, their jobs are `Unknown` (time).
    """

    def __init__(
        self,
        solvers: Sequence[str],
        deadline: float | None = None,
        memory_mb: int | None = None,
        workers: int = 1,
        ahead: int = 1,
    ) -> None:
        if workers < 1 or ahead < 0:
            raise ValueError(f"a pool needs workers >= 1 and ahead >= 0, got {workers} and {ahead}")
        super().__init__(solvers, deadline, memory_mb, ahead)
        self._size, self._failed_starts = workers, 0
        self._workers: list[_Worker] = []
        self._peak = self._looked = 0.0
        self._fill()  # they import while the caller makes the first job

    def limit(self, deadline: float | None, memory_mb: int | None) -> None:
        """Set other limits, for a pool that outlives a run; to be called between two streams."""
        self._deadline, self._memory_mb = deadline, memory_mb

    @property
    def threads(self) -> int:
        """See `Mapper.threads`."""
        return self._size

    @property
    def peak_rss_mb(self) -> float:
        """See `Mapper.peak_rss_mb`: the sum over the processes alive at a time of the largest that each one reached."""
        self._measure()
        return self._peak

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """Kill all workers and wait for their end."""
        self._closed = True
        for worker in self._workers:
            worker.process.kill()
        for worker in list(self._workers):
            self._end(worker)
        self._drop()

    @property
    def _busy(self) -> int:
        return sum(worker.task is not None for worker in self._workers)

    def _drop(self) -> None:
        for worker in [worker for worker in self._workers if worker.task is not None]:
            self._end(worker)
        self._first.clear()
        self._waiting.clear()
        self._results.clear()

    @property
    def _room(self) -> int:
        return self._size

    def _begin(self) -> None:
        self._fill()

    def _fill(self) -> None:
        while len(self._workers) < self._size:
            self._start(None)

    def _start(self, task: Task | None, extra: bool = False) -> None:
        with interrupts_held():  # also: no process that is in no list
            self._workers.append(WorkerProcess(self._solvers, task, extra))

    def _end(self, worker: _Worker) -> str:
        how = worker.end()
        self._workers.remove(worker)
        return how

    def _dispatch(self) -> None:
        self._give_up_late(self._left())
        for worker in [worker for worker in self._workers if worker.ready and worker.task is None]:
            queue = self._first or self._waiting
            if queue and (worker.used or self._fits()):
                worker.task = queue.popleft()
                self._send(worker)

    def _fits(self) -> bool:
        """Do all processes fit below the memory limit? Where not, the next look at the memory ends one.

        Asked before a worker gets its first job, which would be lost together with a worker for which there is no room.
        """
        if self._memory_mb is None:
            return True
        own, sizes = self._measure()
        return own + sum(sizes.values()) <= self._memory_mb

    def _take_back(self, worker: _Worker) -> None:
        """Have the task of a worker that was not given it solved elsewhere."""
        if worker.task is not None:
            self._first.appendleft(worker.task)
            worker.task = None

    def _send(self, worker: _Worker) -> None:
        assert worker.task is not None
        job, level = worker.task.job, logging.getLogger("venmas").getEffectiveLevel()
        left = self._left()
        worker.used = True
        try:
            worker.connection.send(Order(job.program, None if left is None else max(left, 0.0), level))
        except OSError:
            self._bury(worker)

    def _poll(self, timeout: float) -> None:
        readable = wait([worker.connection for worker in self._workers], timeout)
        for worker in list(self._workers):
            if worker.connection in readable:
                self._receive(worker)
            elif worker.process.poll() is not None and not worker.connection.poll():
                self._bury(worker)  # somebody else keeps its end of the pipe open
        left = self._left()
        if left is not None and left < -GRACE:
            for worker in [worker for worker in self._workers if worker.task is not None]:
                self._end(worker)
                self._answer(worker, Unknown(Reason.TIME, "the solver did not stop at the time limit"))
        self._look_at_memory()

    def _receive(self, worker: _Worker) -> None:
        """Take messages, a bounded number so that no worker holds up the others."""
        try:
            for _ in range(100):
                message = worker.connection.recv()
                if isinstance(message, logging.LogRecord):
                    relay(message)
                elif isinstance(message, Ready):
                    worker.ready, self._failed_starts = True, 0
                    if not self._fits():
                        self._take_back(worker)
                    if worker.task is not None:
                        self._send(worker)
                        return
                elif isinstance(message, Answer):
                    worker.peak_mb = message.peak_mb
                    self._answer(worker, message.outcome, message.solver, message.seconds)
                if not worker.connection.poll():
                    return
        except (EOFError, OSError):
            self._bury(worker)

    def _answer(self, worker: _Worker, outcome: Outcome, solver: str = "", seconds: float = 0.0) -> None:
        assert worker.task is not None
        self._results.append(Done(worker.task.job, outcome, solver, seconds))
        worker.task = None

    def _bury(self, worker: _Worker) -> None:
        """Replace a worker that has died."""
        how = worker.wait()
        self._workers.remove(worker)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= self._size + _FAILED_STARTS:
                raise WorkerError(
                    f"{self._failed_starts} worker processes in a row died before they were ready, the last one with "
                    f"{how}: see what `python -c 'import {Order.__module__}'` says"
                )
        elif worker.task is not None:
            worker.task.deaths += 1
            log.warning("a worker died of subproblem %d (%s)", worker.task.job.number, how)
            if worker.task.deaths > 1:
                text = f"two workers died of this subproblem, the last with {how}"
                self._answer(worker, Unknown(Reason.FAILURE, text))
        self._start(worker.task)

    def _measure(self) -> tuple[float, dict[_Worker, float]]:
        """Resident memory of this process and of each worker; the peak is kept."""
        own, sizes = own_resident_mb(), {worker: worker.resident_mb for worker in self._workers}
        self._peak = max(self._peak, own + sum(max(size, worker.peak_mb) for worker, size in sizes.items()))
        return own, sizes

    def _look_at_memory(self) -> None:
        """Above the limit kill the largest worker, or give up where that cannot help."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        own, sizes = self._measure()
        total = own + sum(sizes.values())
        if self._memory_mb is None or total <= self._memory_mb:
            return
        if own > self._memory_mb or not sizes:
            raise main_too_large(own, self._memory_mb)
        # the replacement of a worker that was killed for its memory goes first: while it starts it is smaller than
        # those that have jobs, which would be killed one after another
        victim = max(sizes, key=lambda worker: (worker.extra and not worker.used, sizes[worker]))
        text = f"{total:.0f} MB in use, {self._memory_mb} MB are allowed"
        log.info("killed a worker of %.0f MB: %s", sizes[victim], text)
        self._end(victim)
        if not victim.used:  # even a fresh worker is too much: do with one less, lest this goes on for ever
            self._take_back(victim)
            self._size -= 1
            if self._size == 0:
                raise MemoryLimitError(f"no room for a worker beside the main process ({own:.0f} MB): {text}")
            return
        if victim.task is not None:
            self._answer(victim, Unknown(Reason.MEMORY, text))
        self._start(None, extra=True)
