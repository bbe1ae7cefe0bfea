"""Base of mappers with workers: the stream of jobs, its back-pressure, and the deadline."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from venmas.solvers.workers.mapper import Closing, Done, Job, known, late

TICK = 0.1
"""Longest time (s) between two items that a mapper yields, None included, while it waits for workers."""


@dataclass(eq=False)
class Task:
    """A job, and how many workers were lost with it."""

    job: Job
    deaths: int = 0


class Flow(Closing, ABC):
    """A mapper whose workers solve several jobs at a time.

    `solvers`, `deadline`, `memory_mb` as for `Serial`. `ahead`: how many jobs may be taken beyond those that are
    solved at a time. Subclasses fill `_results`, in the order in which answers are to be handed out.
    """

    def __init__(self, solvers: Sequence[str], deadline: float | None, memory_mb: int | None, ahead: int) -> None:
        self._solvers, self._ahead = known(solvers), ahead
        self._deadline, self._memory_mb = deadline, memory_mb
        self._first: deque[Task] = deque()
        self._waiting: deque[Task] = deque()
        self._results: list[Done] = []
        self._streams, self._closed = 0, False

    def map(self, jobs: Iterator[Job | None]) -> Iterator[Done | None]:
        """See `Mapper.map`. Closing it early stops what is being solved; the workers serve the next call."""
        if self._closed:
            raise ValueError(f"this {type(self).__name__.lower()} is closed: make a new one")
        self._drop()  # what an unfinished stream left
        self._streams += 1
        stream, end, more, reported = self._streams, object(), True, time.monotonic()
        try:
            self._begin()
            while more or self.in_flight:
                item: object = end
                take = not self._first and self._busy + len(self._waiting) < self._room + self._ahead
                if more and take:
                    item = next(jobs, end)
                    more = item is not end
                    if isinstance(item, Job):
                        self._waiting.append(Task(item))
                self._dispatch()
                idle = not (more and take) and (more or self.in_flight) and not self._results
                self._poll(TICK if idle else 0.0)
                answers = bool(self._results)
                while self._results:
                    yield self._results.pop(0)
                if not answers and (item is None or time.monotonic() - reported >= TICK):
                    yield None
                    answers = True
                reported = time.monotonic() if answers else reported
        finally:
            if stream == self._streams:
                self._drop()

    def put_first(self, job: Job) -> None:
        """See `Mapper.put_first`."""
        self._first.append(Task(job))

    @property
    def in_flight(self) -> int:
        """See `Mapper.in_flight`."""
        return self._busy + len(self._first) + len(self._waiting) + len(self._results)

    def _left(self) -> float | None:
        """Time to the deadline in s."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    def _give_up_late(self, left: float | None) -> None:
        """After the deadline, answer the jobs that wait."""
        if left is not None and left <= 0:
            self._results.extend(late(task.job) for task in (*self._first, *self._waiting))
            self._first.clear()
            self._waiting.clear()

    @property
    @abstractmethod
    def _busy(self) -> int:
        """Jobs that are being solved."""

    @property
    @abstractmethod
    def _room(self) -> int:
        """Jobs that may be solved at a time."""

    @abstractmethod
    def _begin(self) -> None:
        """A stream begins."""

    @abstractmethod
    def _dispatch(self) -> None:
        """Give waiting jobs to workers that are free; after the deadline, answer them."""

    @abstractmethod
    def _poll(self, timeout: float) -> None:
        """Take what workers have sent, wait for it up to `timeout` s, and enforce the limits."""

    @abstractmethod
    def _drop(self) -> None:
        """Stop what is being solved, and forget what waits."""


def relay(record: logging.LogRecord) -> None:
    """Log here what a worker has logged."""
    logger = logging.getLogger(record.name)
    if logger.isEnabledFor(record.levelno):
        logger.handle(record)
