"""A stage of a portfolio at work: procedures take turns beside a main one, each within its part of the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from venmas.answer import Answer, Unknown
from venmas.budget import Budget, BudgetError, Shares, limited
from venmas.engine.modes import Turn
from venmas.errors import Reason
from venmas.procedure import Asked, Session
from venmas.procedures.registry import get_procedure

if TYPE_CHECKING:
    from venmas.engine.portfolio import Portfolio

_MOSTLY = 0.8
"""Part of the time for a procedure that is seen to end in it, or that is helped in another process."""
_LOOK = 1.0
"""Seconds within which it is seen whether another process has an answer: more than it ever takes."""


def away(session: Session) -> bool:
    """Does it go on in another process?"""
    return bool(getattr(session, "away", False))


def helped(session: Session) -> bool:
    """Does it go on in another process, where it can be helped?"""
    return away(session) and bool(getattr(session, "helped", False))


class Stage:
    """One stage at work; later: the stages after it; sessions: those that were begun, by procedure."""

    def __init__(
        self,
        portfolio: Portfolio,
        question: Asked,
        stage: Sequence[Turn],
        later: Sequence[Sequence[Turn]],
        sessions: dict[str, Session],
        budget: Budget,
    ) -> None:
        self.portfolio, self.question, self.sessions, self.budget = portfolio, question, sessions, budget
        self.later = later
        *self.others, self.main = stage
        left = budget.left
        part = _MOSTLY if self._helped(self.main) else self.main.left * self._beside(self.main)
        self.own = budget if part == 1 or left is None else budget.within(part * left)
        """The budget of the main procedure."""
        self.shares = Shares({turn.procedure: turn.share for turn in self.others}, least=0.0)
        self.begun, self.pause = monotonic(), self.main.pause
        self._before: Callable[[], None] | None = None
        self._arrived: Answer | None = None
        self._all = self.own
        """The same while nobody is to be helped."""

    def run(self) -> Answer | None:
        """Turns until one decides or the main one is at its end, whose answer is returned."""
        root, self._before = self.budget.root, self.budget.root.watch
        root.watch = self._watch
        try:
            answer = self._run()
            if self._arrived is not None and (answer is None or isinstance(answer, Unknown)):
                return self._arrived
            return answer
        except BudgetError as error:
            if self._arrived is not None:
                return self._arrived
            if self.own is self.budget or error.budget is not self.own:
                raise
            return Unknown(Reason.TIME, error.message)
        finally:
            root.watch = self._before

    def _watch(self) -> None:
        """End what is done here when one that goes on in another process has the answer."""
        if self._before is not None:
            self._before()
        if self._arrived is None:  # else whoever was told before went on all the same
            self._arrived = self._elsewhere()
        if self._arrived is not None:
            raise BudgetError(self.budget, Reason.TIME, "another procedure had the answer")

    def _elsewhere(self) -> Answer | None:
        """An answer of those that go on in other processes, if there is one by now."""
        for name in [name for name, session in self.sessions.items() if away(session)]:
            session = self.sessions[name]
            answer = self.budget.spend(_LOOK, lambda part: self.portfolio.advance(name, session, part))  # noqa: B023
            if isinstance(answer, Unknown):
                self.portfolio.stuck = answer
            elif answer is not None:
                return answer
        return None

    def _run(self) -> Answer | None:
        for turn in (*self.others, self.main):
            if turn.procedure not in self.sessions and not turn.begun:
                budget = self.own if turn is self.main else self.budget
                session = self.portfolio.start(turn.procedure, self.question, budget)
                if session is not None:
                    self.sessions[turn.procedure] = session
        begun = list(self.others)
        self.others = [turn for turn in self.others if self._on(turn)]
        if not self._here(self.main):
            return self._step() if self._helped(self.main) and not self.others else self._without()
        eager = {t.procedure for t in self.others if self._eager(t)}
        for turn in self.others:
            self.shares.grant(turn.procedure, turn.first)
        any_helped = False
        for number in range(10**9):
            self._limit(begun)
            if not any_helped and (any_helped := any(map(self._helped, self.others))):
                self._help()
            answer = self._elsewhere() or self._others(number, eager) or self._step()
            if answer is not None:
                return answer
            if not self._here(self.main):
                return self._without()
        raise AssertionError("the main procedure ends")

    def _limit(self, others: Sequence[Turn]) -> None:
        """Let the main one end sooner, as soon as one of the others is in another process, where it can be helped."""
        if not any(map(self._helped, others)):  # nor any more
            self.own = self._all
        elif self.own is self._all and (left := self.own.left) is not None:
            part = min((turn.helping for turn in others if turn.procedure in self.sessions), default=1.0)
            self.own = self.own.within(part * left) if part < 1 else self.own

    def _here(self, turn: Turn) -> bool:
        """Is there a session of a procedure that works in this process?"""
        return turn.procedure in self.sessions and not away(self.sessions[turn.procedure])

    def _on(self, turn: Turn) -> bool:
        """Does it work here, or was it begun before and is helped from here?"""
        return self._here(turn) or (turn.begun and self._helped(turn))

    def _helped(self, turn: Turn) -> bool:
        """Does it go on in another process, where it can be helped?"""
        session = self.sessions.get(turn.procedure)
        return session is not None and helped(session)

    def _help(self) -> None:
        """Leave most of the time to what goes on in another process, where it is helped."""
        for turn in self.others:
            if self._helped(turn):
                self.shares.double(turn.procedure, _MOSTLY)
            else:
                self.shares.lessen(turn.procedure, self._beside(turn))

    def _beside(self, turn: Turn) -> float:
        """The part of its time that the help for another one leaves to it."""
        others = (session for name, session in self.sessions.items() if name != turn.procedure)
        return turn.beside if any(map(helped, others)) else 1.0

    def _eager(self, turn: Turn) -> bool:
        eager = getattr(get_procedure(turn.procedure), "eager", None)
        return eager is None or bool(eager(self.question, self.portfolio.run))

    def _others(self, number: int, eager: set[str]) -> Answer | None:
        """A turn of all but the main one; number: of the turn."""
        leading = next((t for t in self.others if t.lead), None)
        for turn in list(self.others):
            name = turn.procedure
            if not self._on(turn):
                self.others.remove(turn)
                continue
            if not self._beside(turn):
                continue
            if number < 2 and (name not in eager or (turn.lead and turn is not leading)):
                continue
            session = self.sessions[name]
            if number >= 2 and monotonic() - self.begun < max(turn.after, getattr(session, "wait", 0.0)):
                continue
            if number == 1:
                self.shares.grant(name, turn.then)
            if number >= 2 and (most := self._earned(turn, session)):
                self.shares.double(name, most)
            if (number >= 2 or turn.begun) and (soon := getattr(session, "soon", 0.0)):
                self.shares.grant(name, max(0.0, soon - self.shares.left(name)))
            waits = self._helped(turn)
            answer = self.shares.run(name, self.budget, lambda part: self.portfolio.advance(name, session, part, waits))  # noqa: B023
            if isinstance(answer, Unknown):
                self._out(turn)
            elif answer is not None:
                return answer
        return None

    def _earned(self, turn: Turn, session: Session) -> float:
        """The part of the time that a procedure may have by what it has refuted of the initial set so far: most of it
        where the rest will be refuted in that, two thirds where that is not far off; half where it leads and the main
        one struggles; 0 where nothing is known."""
        if turn.lead and getattr(self.sessions[self.main.procedure], "struggling", False):
            return 0.5
        proved, left = getattr(session, "proved", 0.0), self.budget.left
        if proved <= 0 or left is None:
            return 0.0
        pace = self.portfolio.tried[turn.procedure].seconds * (1 / proved - 1) / left
        return _MOSTLY if pace < _MOSTLY else 2 / 3 if pace < 4 else 0.0

    def _step(self) -> Answer | None:
        """A step of the main one."""
        name, session = self.main.procedure, self.sessions[self.main.procedure]
        with limited(self.own):
            if self.pause is None or not self.others:
                return self.portfolio.advance(name, session, self.own)
            begun = monotonic()
            answer = self.own.spend(self.pause, lambda part: self.portfolio.advance(name, session, part))
            if answer is None and monotonic() - begun < self.pause / 2:
                self.pause *= 2  # what it does next waits for more
            return answer

    def _without(self) -> Answer | None:
        """Without the main one the others have all its time, but for those that a later stage goes on with: the last
        one, or one in which they are beside another main one."""
        last = self.portfolio.mode.stages[-1]
        on = {t.procedure for stage in self.later for t in (stage if stage is last else stage[:-1])}
        for turn in self.others:
            if turn.procedure not in on and self._here(turn) and self._beside(turn):
                answer = self._alone(turn)
                if answer is not None and not isinstance(answer, Unknown):
                    return answer
        return None

    def _alone(self, turn: Turn) -> Answer | None:
        """What a procedure says with its part of the time that is left."""
        session, budget = self.sessions[turn.procedure], self.budget
        if turn.left == 1 or budget.left is None:
            return self.portfolio.advance(turn.procedure, session, budget)
        return budget.spend(turn.left * budget.left, lambda part: self.portfolio.advance(turn.procedure, session, part))

    def _out(self, turn: Turn) -> None:
        self.others.remove(turn)
        del self.sessions[turn.procedure]
