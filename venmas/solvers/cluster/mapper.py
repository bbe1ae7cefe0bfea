"""The mapper that solves on a Dask cluster: the same stream, limits and answers as the pool, on other machines.

This side decides which worker gets what, one order for each thread, so that a death concerns the orders of that worker
and nobody else's, and that no more is sent than is worked at; the scheduler carries orders and answers, and tells who
is there. `cluster_link` is the connection, `node` what the workers run.
"""

from __future__ import annotations

import logging
import pickle
import queue
import time
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec

from venmas.errors import Reason, UsageError, install
from venmas.runtime.memory import own_resident_mb
from venmas.solvers.cluster.link import Attempt, Ended, Event, Gone, Link, Misfit, Offline, Worker, Workers
from venmas.solvers.cluster.local import LocalCluster
from venmas.solvers.cluster.node import Order, Reply
from venmas.solvers.milp.outcome import Outcome, Unknown
from venmas.solvers.workers.flow import Flow, Task, relay
from venmas.solvers.workers.mapper import Done, main_too_large
from venmas.solvers.workers.pool import GRACE
from venmas.solvers.workers.process import WorkerError

log = logging.getLogger(__name__)

PATIENCE = 30.0
"""Seconds without any worker after which a run ends."""

_HINT = 2.0  # s without any worker after which that is told
_LOOK = 0.05  # least time (s) between two looks at memory and local processes
_TRAVEL = 1.0  # s that an answer may take beyond the deadline and `GRACE`
LOCAL = "local:"


class Cluster(Flow):
    """Solves on the Dask cluster at `address`, or on one of N workers of its own for ``local:N``.

    `solvers`, `deadline` as for `Serial`. `memory_mb`: of this process, and on the cluster of each Dask worker with one
    solver process. `ahead`: how many jobs may be taken beyond one for each thread of the cluster. `at_once`: how many
    are solved at a time, at most.

    A job whose worker is lost is tried again on another one, and after a second loss it is `Unknown` (failure).
    Workers may come and go; those that run another version of VenMAS, Python or a solver get no jobs, which is logged.
    Raises `UsageError` where the address is wrong, nobody answers there, or Dask is not installed; `map` raises
    `WorkerError` when the scheduler goes away, or when there has been no worker for `PATIENCE` seconds.
    """

    def __init__(
        self,
        solvers: Sequence[str],
        deadline: float | None = None,
        memory_mb: int | None = None,
        address: str = "local:2",
        ahead: int = 1,
        at_once: int | None = None,
    ) -> None:
        count = check_address(address)
        super().__init__(solvers, deadline, memory_mb, ahead)
        self._at_once = at_once
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._running: dict[Attempt, Task] = {}
        self._workers: tuple[Worker, ...] = ()
        self._resting: frozenset[Worker] = frozenset()
        self._misfits: dict[str, str] = {}
        self._peaks: dict[str, float] = {}
        self._own_peak = self._looked = 0.0
        self._threads = 0
        self._local = LocalCluster(count) if count else None
        try:
            self.address = self._local.address if self._local is not None else address
            self._link = Link(self.address, self._solvers, self._events.put)
        except BaseException:
            if self._local is not None:
                self._local.close()
            raise
        self._alone_since, self._hinted = time.monotonic(), False

    @property
    def peak_rss_mb(self) -> float:
        """Largest resident memory of this process, plus that of each worker with its largest solver process."""
        self._own_peak = max(self._own_peak, own_resident_mb())
        return self._own_peak + sum(self._peaks.values())

    def close(self) -> None:
        """Stop everything on the cluster, disconnect, and end a cluster of our own."""
        if self._closed:
            return
        self._closed = True
        self._drop()
        self._link.close()
        if self._local is not None:
            self._local.close()

    def _begin(self) -> None:
        self._alone_since = time.monotonic()

    @property
    def _busy(self) -> int:
        return len(self._running)

    @property
    def _room(self) -> int:
        threads = sum(worker.threads for worker in self._workers if worker not in self._resting)
        threads += sum(attempt.worker in self._resting for attempt in self._running)
        return threads if self._at_once is None else min(threads, self._at_once)

    @property
    def threads(self) -> int:
        """See `Mapper.threads`: the most that there have been."""
        return self._threads

    def _drop(self) -> None:
        for attempt in self._running:
            self._link.cancel(attempt)
        for waiting in (self._running, self._first, self._waiting, self._results):
            waiting.clear()

    def _dispatch(self) -> None:
        left = self._left()
        self._give_up_late(left)
        busy = Counter(attempt.worker for attempt in self._running)
        while (self._first or self._waiting) and len(self._running) < self._room:
            awake = [worker for worker in self._workers if worker not in self._resting]
            worker = min(awake, key=lambda worker: busy[worker] / worker.threads)
            busy[worker] += 1
            self._send((self._first or self._waiting).popleft(), worker, left)

    def _send(self, task: Task, worker: Worker, left: float | None) -> None:
        level = logging.getLogger("venmas").getEffectiveLevel()
        order = Order(task.job.program, self._solvers, left, self._memory_mb, level)
        attempt = Attempt(worker, pickle.dumps(order, pickle.HIGHEST_PROTOCOL))
        self._running[attempt] = task
        self._link.start(attempt)

    def _poll(self, timeout: float) -> None:
        try:
            self._take(self._events.get(timeout=timeout) if timeout else self._events.get_nowait())
            while True:
                self._take(self._events.get_nowait())
        except queue.Empty:
            pass
        now = time.monotonic()
        if now - self._looked >= _LOOK:
            self._looked = now
            self._look(now)
        self._results.sort(key=lambda done: done.job.number)  # of what came together the lowest number goes first

    def _look(self, now: float) -> None:
        """Enforce the limits."""
        left = self._left()
        if left is not None and left < -GRACE - _TRAVEL:
            for attempt in list(self._running):
                self._link.cancel(attempt)
                self._answer(attempt, Unknown(Reason.TIME, "the cluster did not answer at the time limit"))
        if self._memory_mb is not None and (used := own_resident_mb()) > self._memory_mb:
            raise main_too_large(used, self._memory_mb)
        if self._local is not None:
            self._local.heal()
        self._look_for_workers(now)

    def _take(self, event: Event) -> None:
        match event:
            case Workers(fit, resting):
                lost = set(self._workers) - set(fit)
                self._meet(fit, resting)
                for attempt in [attempt for attempt in self._running if attempt.worker in lost]:
                    self._lose(attempt, "it is gone")
            case Offline():
                log.warning("the connection to the scheduler at %s is broken", self.address)
                self._meet((), frozenset())
                for attempt in self._running:
                    self._link.cancel(attempt)
                self._first.extendleft(reversed(self._running.values()))
                self._running.clear()
            case Misfit(address, why):
                self._misfits[address] = why
                log.warning("worker %s gets no subproblems: %s", address, why)
            case Ended(attempt, reply, why, lost) if attempt in self._running:
                if reply is not None:
                    self._reply(attempt, reply)
                elif lost:
                    self._lose(attempt, why)
                else:
                    self._answer(attempt, Unknown(Reason.FAILURE, f"the cluster could not solve it: {why}"))
            case Gone(why):
                raise WorkerError(why)

    def _meet(self, fit: tuple[Worker, ...], resting: frozenset[Worker]) -> None:
        """These are the workers from now on."""
        if self._workers and not fit:
            self._alone_since, self._hinted = time.monotonic(), False
        if fit:
            self._misfits.clear()
        self._workers, self._resting = fit, resting
        self._threads = max(self._threads, self._room)

    def _reply(self, attempt: Attempt, reply: Reply) -> None:
        for record in reply.records:
            relay(record)
        instance = attempt.worker.instance
        self._peaks[instance] = max(self._peaks.get(instance, 0.0), reply.peak_mb)
        self._answer(attempt, reply.outcome, reply.solver, reply.seconds)

    def _answer(self, attempt: Attempt, outcome: Outcome, solver: str = "", seconds: float = 0.0) -> None:
        self._results.append(Done(self._running.pop(attempt).job, outcome, solver, seconds))

    def _lose(self, attempt: Attempt, how: str) -> None:
        """Its worker is lost: put the job first again, or give it up."""
        self._link.cancel(attempt)
        task = self._running[attempt]
        task.deaths += 1
        log.warning("worker %s was lost with subproblem %d (%s)", attempt.worker.address, task.job.number, how)
        if task.deaths > 1:
            self._answer(attempt, Unknown(Reason.FAILURE, f"two workers were lost with this subproblem ({how})"))
            return
        del self._running[attempt]
        self._first.appendleft(task)

    def _look_for_workers(self, now: float) -> None:
        if self._workers:
            return
        why = "; ".join(f"{address}: {why}" for address, why in self._misfits.items())
        if now - self._alone_since > PATIENCE:
            raise WorkerError(
                f"no worker has been at {self.address!r} for {PATIENCE:g} s"
                + (f" but these, which do not fit ({why}): install the same versions there as here" if why else "")
                + ("" if why else f": start some with `dask worker {self.address}`")
            )
        if now - self._alone_since > _HINT and not self._hinted and self._local is None:
            self._hinted = True
            log.warning("waiting for workers at %s", self.address)


def check_address(address: str) -> int:
    """The N of ``local:N``, 0 for the address of a scheduler. Raises `UsageError` where it is neither, or no Dask."""
    if address.startswith(LOCAL):
        number = address.removeprefix(LOCAL)
        if not (number.isascii() and number.isdigit() and 1 <= int(number) <= 4096):
            raise UsageError(f"cluster {address!r}: expected local:N with N workers, 1 to 4096, as in local:2")
        count = int(number)
    elif ":" not in address.removeprefix("tcp://").removeprefix("tls://"):
        raise UsageError(
            f"cluster {address!r}: expected the address of a Dask scheduler, such as tcp://host:8786, or local:N"
        )
    else:
        count = 0
    if find_spec("distributed") is None:
        raise UsageError(f"a cluster needs the package distributed: {install('cluster')}")
    return count
