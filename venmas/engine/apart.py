"""A session that goes on in a process of its own, while others have their turns in this one, or nobody has: then this
one does pieces of its work."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any

from venmas.answer import Answer, Figures, Proved, Remaining, Unknown
from venmas.budget import Budget, BudgetError, limited
from venmas.errors import Reason
from venmas.procedure import Run, Session
from venmas.runtime.helping import Helping, Piece
from venmas.runtime.memory import own_resident_mb, seldom_collected
from venmas.solvers.workers.flow import relay
from venmas.solvers.workers.process import WorkerError, WorkerProcess, interrupts_held
from venmas.solvers.workers.worker import Answer as Done
from venmas.solvers.workers.worker import Order, Ready

log = logging.getLogger(__name__)

_HERE = 1.5
"""Seconds in this process before: starting another one, and sending the session, takes up to one."""
_LEAST = 4.0
"""Seconds that have to be left then."""
_EARLY, _PART = 0.4, 0.025
"""Seconds before the end at which it says what it has, and at least this part of its time: it may be busy then."""
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

    @seldom_collected
    def run(self, time_limit: float | None) -> tuple[Answer, Figures, Proved | None]:
        """Its answer, its figures, and what it proved without a proof that is written down."""
        budget = Budget(time_limit)
        session: Session = pickle.loads(self.pickled)
        answer: Answer | None = None
        try:
            with limited(budget):
                while answer is None:
                    answer = session.advance(budget)
        except BudgetError as error:
            answer = Unknown(error.reason, error.message)
        return answer, session.figures, getattr(session, "unwritten", None)


class Apart:
    """A session that is pickled after its first seconds, if it is to leave, and gone on with on another core.

    away: is it? Then `advance` says whether there is an answer; where it is given more than a share of the time, it
    waits for one, and helps. budget: which it ends with.
    """

    def __init__(self, session: Session, run: Run, budget: Budget) -> None:
        self._budget = budget
        self.own, self._run, self._here, self._spent = session, run, _HERE, 0.0
        self.figures: Figures = session.figures
        self._process: WorkerProcess[None] | None = None
        self._said: Answer | None = None
        """Its answer there."""
        self.unwritten: Proved | None = None
        """What it proved, for which no proof was written down so far."""
        self._helping: Helping | None = None
        """Once the session is sent."""
        self._deadline, self._left = inf, 0.0

    @property
    def away(self) -> bool:
        """Is it in another process?"""
        return self._process is not None

    @property
    def helped(self) -> bool:
        """Can it be helped there?"""
        return getattr(self.own, "helped", False)

    @property
    def soon(self) -> float:
        """Seconds here after which it leaves, if it is to."""
        stays = self._here == inf or not self.own.leaves()  # type: ignore[attr-defined]
        return 0.0 if stays else max(0.0, self._here - self._spent)

    def remaining(self) -> Remaining | None:
        """The rest that it left when it was here."""
        remaining: Remaining | None = getattr(self.own, "remaining", lambda: None)()
        return remaining

    @property
    def proved(self) -> float:
        """Part of the work that is done, as far as it is seen from here."""
        return 0.0 if self.away else getattr(self.own, "proved", 0.0)

    def advance(self, budget: Budget) -> Answer | None:
        """Work here at first; later look for an answer. Raises `BudgetError`."""
        if self._said is not None:
            return self._said
        if self.away:
            # also a look while somebody waits here: help stays offered
            return self.waited(budget) if budget is budget.whole else self._received(budget, False)
        begun = monotonic()
        try:
            answer = budget.spend(self._here - self._spent, self.own.advance)
        finally:
            self._spent += monotonic() - begun
            self.figures = self.own.figures
            self.unwritten = getattr(self.own, "unwritten", None)
        if answer is None and self._spent >= self._here:
            self._here = inf
            if self.own.leaves():  # type: ignore[attr-defined]
                self._leave(self._budget)
        return answer

    def end(self) -> str:
        """Stop what goes on elsewhere, and say how it ended. Repeatable."""
        process, self._process = self._process, None
        return "" if process is None else process.end()

    # -- the other process ---------------------------------------------------------------------------------------------

    def _leave(self, budget: Budget) -> None:
        """Start another process; it stays here where time is short, or memory is limited."""
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

    def waited(self, budget: Budget) -> Answer | None:
        """Wait for an answer, and help, until the budget ends. Raises `BudgetError`."""
        try:
            while self.away:
                answer = self._received(budget, True)
                if answer is not None:
                    return answer
                budget()
        except BudgetError:
            with suppress(OSError):  # it has ended
                self._offered(False)
            raise
        return self._said

    def _received(self, budget: Budget, waits: bool) -> Answer | None:
        """An answer that the process gives now, or while nothing else is to be done here."""
        process = self._process
        assert process is not None
        try:
            if waits:
                self._offered(True)
            if not process.connection.poll(_LOOK if waits else 0.0):
                budget.saw(own_resident_mb() + process.resident_mb)
                return None
            message = process.connection.recv()
            if isinstance(message, Ready):
                self._send(process)
            elif isinstance(message, logging.LogRecord):
                relay(message)
            elif isinstance(message, Piece) and self._helping is not None:
                with limited(budget.whole):  # it is brief
                    self._helping.does(message)
            elif isinstance(message, Done):
                self.end()
                self._said = self._answer(message.outcome)
        except (EOFError, OSError):
            self._said = Unknown(Reason.FAILURE, f"its process ended: {self.end()}")
        return self._said

    def _offered(self, yes: bool) -> None:
        """Offer help, or withdraw it, where there is anybody to be helped."""
        if self.away and self._helping is not None:
            self._helping.offered(yes)

    def _send(self, process: WorkerProcess[None]) -> None:
        limit = None if self._deadline == inf else _early(self._deadline - monotonic())
        level = logging.getLogger("venmas").getEffectiveLevel()
        try:
            pickled = pickle.dumps(self.own)
        except Exception as error:  # whatever pickling raises
            log.info("it stays in this process: %s", error)
            self.end()
        else:
            process.connection.send(Order(_Going(pickled), limit, level, helped=True))
            self._helping = Helping(process.connection)

    def _answer(self, outcome: Any) -> Answer:
        if not isinstance(outcome, tuple):  # of a worker that met an error
            return Unknown(Reason.FAILURE, f"its process failed: {outcome.message}")
        answer: Answer
        figures: Figures
        answer, figures, self.unwritten = outcome
        self.figures = Elsewhere(figures, monotonic() - self._left)
        return answer


def _early(left: float) -> float:
    """Seconds after which it says what it has."""
    return max(0.0, left - max(_EARLY, _PART * left))
