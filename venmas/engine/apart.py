"""A session that goes on in a process of its own, while others have their turns in this one."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any

from venmas.answer import Answer, Figures, Unknown
from venmas.budget import Budget, BudgetError, limited
from venmas.errors import Reason
from venmas.procedure import Run, Session
from venmas.runtime.memory import own_resident_mb
from venmas.solvers.workers.flow import relay
from venmas.solvers.workers.process import WorkerError, WorkerProcess, interrupts_held
from venmas.solvers.workers.worker import Answer as Done
from venmas.solvers.workers.worker import Order, Ready

log = logging.getLogger(__name__)

_HERE = 1.5
"""Seconds in this process before: starting another one, and sending the session, takes up to one."""
_LEAST = 4.0
"""Seconds that have to be left then."""
_LOOK = 0.1
"""Seconds between two looks, where there is nothing else to do."""


@dataclass
class Elsewhere:
    """Figures of a session that was in another process for some seconds."""

    own: Figures
    seconds: float

    def facts(self) -> list[tuple[str, str]]:
        """Those of the session, and where it was."""
        return [*self.own.facts(), ("in a process of its own", f"{self.seconds:.1f} s")]


@dataclass(frozen=True, eq=False)
class _Going:
    """A pickled session as work for another process, which reads it where errors are caught."""

    pickled: bytes

    def run(self, time_limit: float | None) -> tuple[Answer, Figures]:
        """Its answer, and its figures."""
        budget = Budget(time_limit)
        session: Session = pickle.loads(self.pickled)
        answer: Answer | None = None
        try:
            with limited(budget):
                while answer is None:
                    answer = session.advance(budget)
        except BudgetError as error:
            answer = Unknown(error.reason, error.message)
        return answer, session.figures


class Apart:
    """A session that is pickled after its first seconds, and gone on with elsewhere, on another core.

    away: is it? Then `advance` says whether there is an answer; it waits for one where it is given all the time.
    """

    def __init__(self, session: Session, run: Run) -> None:
        self.own, self._run, self._here, self._spent = session, run, _HERE, 0.0
        self.figures: Figures = session.figures
        self._process: WorkerProcess[None] | None = None
        self._deadline, self._left = inf, 0.0

    @property
    def away(self) -> bool:
        """Is it in another process?"""
        return self._process is not None

    @property
    def proved(self) -> float:
        """Part of the work that is done, as far as it is seen from here."""
        return 0.0 if self.away else getattr(self.own, "proved", 0.0)

    def advance(self, budget: Budget) -> Answer | None:
        """Work here at first; later look for an answer. Raises `BudgetError`."""
        if self.away:
            return self._awaited(budget)
        begun = monotonic()
        try:
            answer = budget.spend(self._here - self._spent, self.own.advance)
        finally:
            self._spent += monotonic() - begun
            self.figures = self.own.figures
        if answer is None and self._spent >= self._here:
            self._leave(budget.root)
        return answer

    def end(self) -> str:
        """Stop what goes on elsewhere, and say how it ended. Repeatable."""
        process, self._process = self._process, None
        return "" if process is None else process.end()

    # -- the other process ---------------------------------------------------------------------------------------------

    def _leave(self, budget: Budget) -> None:
        """Start another process; it stays here where time is short, or memory is limited."""
        self._here = inf
        if budget.memory_mb is not None or (budget.left is not None and budget.left < _LEAST):
            return
        try:
            self._process = self._run.once(self, self._started)
        except WorkerError as error:
            log.info("%s", error)
        self._deadline, self._left = budget.deadline, monotonic()

    @contextmanager
    def _started(self) -> Iterator[WorkerProcess[None]]:
        with interrupts_held():
            process: WorkerProcess[None] = WorkerProcess(())
        try:
            yield process
        finally:
            process.end()

    def _awaited(self, budget: Budget) -> Answer | None:
        """The answer, if there is one; at all where the time is not only a share."""
        whole = budget is budget.whole
        while self.away:
            answer = self._received(budget, _LOOK if whole else 0.0)
            if answer is not None:
                return answer
            if not whole:
                return None
            budget()
        return None

    def _received(self, budget: Budget, seconds: float) -> Answer | None:
        """An answer that the process gives within so many seconds."""
        process = self._process
        assert process is not None
        try:
            if not process.connection.poll(seconds):
                budget.saw(own_resident_mb() + process.resident_mb)
                return None
            message = process.connection.recv()
            if isinstance(message, Ready):
                self._send(process)
            elif isinstance(message, logging.LogRecord):
                relay(message)
            elif isinstance(message, Done):
                self.end()
                return self._answer(message.outcome)
        except (EOFError, OSError):
            return Unknown(Reason.FAILURE, f"its process ended: {self.end()}")
        return None

    def _send(self, process: WorkerProcess[None]) -> None:
        limit = None if self._deadline == inf else max(0.0, self._deadline - monotonic())
        level = logging.getLogger("venmas").getEffectiveLevel()
        try:
            pickled = pickle.dumps(self.own)
        except Exception as error:  # whatever pickling raises
            log.info("it stays in this process: %s", error)
            self.end()
        else:
            process.connection.send(Order(_Going(pickled), limit, level))

    def _answer(self, outcome: Any) -> Answer:
        if not isinstance(outcome, tuple):  # of a worker that met an error
            return Unknown(Reason.FAILURE, f"its process failed: {outcome.message}")
        answer: Answer = outcome[0]
        figures: Figures = outcome[1]
        self.figures = Elsewhere(figures, monotonic() - self._left)
        return answer
