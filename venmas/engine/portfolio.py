"""Deciding a question by a portfolio: stages in which procedures take turns, and the side conditions of the answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic

from venmas.answer import BASES, Answer, Figures, Proved, Remaining, Unknown, Violated
from venmas.budget import Budget, BudgetError, limited
from venmas.engine.modes import DEFAULTS, MODES, SHARE, WRITTEN, Mode, Turn
from venmas.engine.stage import Stage, away
from venmas.errors import Reason
from venmas.logic import Bounded
from venmas.model.system.disturbances import noise_of
from venmas.procedure import Asked, LinearQuestion, Run, Session, Settings, unread
from venmas.procedures.milp.settings import ISOLATED
from venmas.procedures.registry import get_procedure
from venmas.question import Question, deadlock_note, deadlocked
from venmas.solvers.programs import Programs

log = logging.getLogger(__name__)

_LEFT, _LATER = 1 / 3, 1.0
"""Part of the time of the last resort, and seconds before it, for those that had not ended with their stage."""
_WITHOUT = 3 / 4
"""Part of the time kept for a proof, for an answer without one."""
_AGAIN = 20.0
"""Seconds for a side condition of the procedure that proved the property, where there is no limit."""


@dataclass
class Tried:
    """A procedure of the portfolio: how long it worked, and why it did not decide (empty: it did)."""

    name: str
    seconds: float = 0.0
    why: str = "not tried: the run was over before"
    figures: Figures | None = None


class Portfolio:
    """The portfolio of a mode at work on one verification.

    seconds: that all but a last resort may use; None: no limit of their own. tried: by name, what the procedures did
    about the property. decided: the name of the one that decided.
    """

    def __init__(self, mode: Mode, run: Run, budget: Budget, seconds: float | None) -> None:
        self.mode, self.run, self.budget = mode, run, budget
        self.main = budget.within(seconds)
        names = dict.fromkeys(turn.procedure for stage in mode.stages for turn in stage)
        self.tried = {name: Tried(name) for name in names}
        self.decided = ""
        self._refused: dict[str, str] = {}
        """Why procedures did not take the question that is being decided."""
        self.stuck: Unknown | None = None
        """Why a procedure that went on in another process did not decide."""
        self.notes: list[str] = []
        self._begun: dict[str, Session] = {}
        """The sessions about the property."""
        self.told: list[str] = []
        """What is worth a note where no verdict is found."""
        self._unwritten: tuple[str, Proved] | None = None
        """The procedure that proved the property, and its answer, where its proof was not written down in time."""
        self._elsewhere: dict[str, Session] = {}
        """Sessions about the property that go on in other processes when the time of this one is over."""

    # -- the property and its side conditions --------------------------------------------------------------------------

    def settle(self, question: Asked) -> Answer:
        """Decide the question; a refutation holds for all runs, and reachable deadlocks are noted.

        What no proof to be written is found of in time is asked once more without one. Raises `BudgetError`, and
        `ModelError` where a run leaves the declared box (design S1).
        """
        try:
            return self._answer(question)
        finally:
            _end(self._elsewhere)

    def _answer(self, question: Asked) -> Answer:
        try:
            answer = self._in_time(question)
            if isinstance(answer, Unknown) and answer.reason is Reason.TIME and self._unwritten is None:
                answer = self._late(question) or answer
        except BudgetError as error:
            if self._unwritten is None or error.reason is not Reason.TIME:
                raise
            answer = Unknown(error.reason, error.message)
        if isinstance(answer, Unknown) and self._unwritten is not None and isinstance(question, Question):
            self.decided, proved = self._unwritten
            self.tried[self.decided].why = ""
            self.notes += self._deadlocks(question, proved)
            return proved
        return answer

    def _in_time(self, question: Asked) -> Answer:
        try:
            return self._settled(question)
        except BudgetError as error:
            if error.budget is not self.main or error.reason is not Reason.TIME:
                raise
            return Unknown(Reason.TIME, error.message)

    def _late(self, question: Asked) -> Answer | None:
        """The answer of those that write no proof, too, in most of the time that was kept to write one."""
        left, others = self.budget.left, any(turn.again for stage in self.mode.stages[:-1] for turn in stage)
        if not (others and left and isinstance(question, Question) and question.certified):
            return None
        main, begun = self.main, self._begun
        self.main, self._begun = self.budget.within(_WITHOUT * left), {}
        answer: Answer | None = None
        try:
            answer = self._in_time(replace(question, certified=False))
        finally:
            self.main = main
            if answer is None or isinstance(answer, Unknown):
                self._begun = begun
        return None if isinstance(answer, Unknown) else answer

    def _settled(self, question: Asked) -> Answer:
        answer = self.decide(question)
        decided = self.decided
        if isinstance(question, LinearQuestion):
            return answer
        if isinstance(answer, Proved | Unknown) and answer.leaving:
            answer = replace(answer, leaving=answer.leaving - noise_of(question.system))
        if isinstance(answer, Proved | Unknown) and answer.leaving:
            # the bounds could not exclude that a state leaves its box: decide it before anything is called satisfied
            whole = question.certified and not self.mode.solver  # else a proof is written by a search of its own
            asked = question.boxed if whole else question.staying(answer.leaving)
            if isinstance(answer, Proved):
                answer = self._both(answer, self._side(answer, decided, asked), whole)
            else:
                self.decide(asked)  # it may leave its box
        self.decided = "" if isinstance(answer, Unknown) else decided
        if isinstance(answer, Proved):
            self.notes += self._deadlocks(question, answer)
        return answer

    def _side(self, proved: Proved, by: str, asked: Question) -> Answer:
        """The answer to whether runs stay in their box, first of the procedure that proved the property.

        Where it stays open, the message says what is proved all the same.
        """
        shown = ", ".join(sorted(proved.leaving))
        told = f"it holds of all runs that stay in their box; whether {shown} may leave its range is open"
        try:
            answer = self._again(by, asked)
        except BudgetError as error:
            self._only_inside(by)
            raise BudgetError(error.budget, error.reason, f"{told}: {error.message}") from error
        if isinstance(answer, Unknown):
            self._only_inside(by)
            answer = Unknown(answer.reason, f"{told}: {answer.message}", proved.leaving)
        return answer

    def _only_inside(self, name: str) -> None:
        if name in self.tried:
            self.tried[name].why = "it proved the property of all runs that stay in their box"

    def _again(self, name: str, asked: Question) -> Answer:
        """The answer to a side condition: first the procedure that proved the property has most of the time, then all
        have the rest, that one included if it had no answer yet."""
        if name not in self.tried or self.mode.solver:
            return self.decide(asked)
        self._refused = {}
        main = self._for(asked)
        session, left = self.start(name, asked, main), main.left
        if session is None:
            return self.decide(asked)
        share = _AGAIN if left is None else 2 / 3 * left
        answer = main.spend(share, lambda part: self.advance(name, session, part))
        if answer is None:
            return self.decide(asked, {name: session})
        if isinstance(answer, Unknown):
            other = self.decide(asked, without=name)
            return answer if isinstance(other, Unknown) else other
        return answer

    @staticmethod
    def _both(first: Proved, second: Answer, whole: bool) -> Answer:
        """A refutation and the answer to whether runs stay in the box; `whole`: the latter is about both."""
        if isinstance(second, Violated) and not whole:
            raise AssertionError("a witness of leaving the box stays in it")
        if not isinstance(second, Proved) or whole:
            return second
        basis = max(first.basis, second.basis, key=BASES.index)
        return replace(first, basis=basis, leaving=frozenset(), proof=None)

    def _deadlocks(self, question: Question, answer: Proved) -> list[str]:
        """Is a state without successor reachable before the last step that the formula looks at? (design S4)"""
        if answer.deadlock is not None:
            return [deadlock_note(question.system, answer.deadlock)]
        if not answer.may_deadlock:
            return []
        # the verdict is known: what is only told is not worth much more time than it took
        bounded = isinstance(question.asked, Bounded)
        seconds = max(1.0, self.budget.spent) if bounded else max(0.2, self.budget.spent / 2)
        part = self.budget.within(seconds) if self.mode.resort or not bounded else self.main
        try:
            mode = self.mode if bounded else MODES[DEFAULTS["unbounded"]]  # a mode for AG p alone does not take it
            found = Portfolio(mode, self.run, part, part.left).decide(question.deadlocks)
        except BudgetError as error:
            if error.reason is not Reason.TIME:
                raise
            return [f"a deadlock may be reachable: {error.message} before it was decided"]
        match found:
            case Violated(witness):
                return [deadlock_note(question.system, deadlocked(witness))]
            case Unknown(_, message):
                return [f"a deadlock may be reachable: {message}"]
        return []

    # -- one question --------------------------------------------------------------------------------------------------

    def decide(self, question: Asked, begun: Mapping[str, Session] | None = None, without: str = "") -> Answer:
        """The answer of the first procedure that has one. Raises `BudgetError` and `ModelError`.

        begun: sessions about it that are gone on with. without: a procedure that is not asked.
        """
        self.decided, self._refused, self.stuck = "", {}, None
        sessions, main = dict(begun or {}), self._for(question)
        if question.about == "property":
            sessions, self._elsewhere = sessions | self._elsewhere, {}
        try:
            answer = self._in_stages(question, sessions, main, without)
            if answer is None or (isinstance(answer, Unknown) and not answer.final):
                answer = self._awaited(sessions, self.budget if self.mode.resort else main) or answer
            return answer or self.stuck or self._untaken()
        except BudgetError as error:
            if error.budget is not self.main or question.about != "property":
                raise
            if question.certified:  # it may be asked once more without
                self._elsewhere = {name: sessions.pop(name) for name in list(sessions) if away(sessions[name])}
                raise
            if (answer := self._awaited(sessions, self.budget)) is None:
                raise
            return answer
        finally:
            _end(sessions)

    def _awaited(self, sessions: dict[str, Session], budget: Budget) -> Answer | None:
        """The answer of a session that goes on in another process, when all others have ended."""
        for name in [name for name, session in sessions.items() if away(session) and not budget.over]:
            answer = self.advance(name, sessions[name], budget)
            if not isinstance(answer, Unknown):
                return answer
            self.stuck = answer
        return None

    def _in_stages(self, question: Asked, sessions: dict[str, Session], main: Budget, without: str) -> Answer | None:
        answer: Answer | None = None
        carried = dict[str, Turn]()
        for number, turns in enumerate(self.mode.stages, 1):
            stage = [t for t in turns if _has(t, question) and t.procedure != without]
            if not stage:
                continue
            last = self.mode.resort and number == len(self.mode.stages) and len(stage) == len(turns)
            if last:  # those that an earlier main one, which ended, has left without time
                known = {turn.procedure for turn in stage}
                stage = [t for t in carried.values() if t.procedure in sessions and t.procedure not in known] + stage
            try:
                later = self.mode.stages[number:]
                found = Stage(self, question, stage, later, sessions, self.budget if last else main).run()
            except BudgetError as error:
                if last or not self.mode.resort or error.budget is not main or error.reason is not Reason.TIME:
                    raise
                found = Unknown(Reason.TIME, error.message)
            if found is not None and (not isinstance(found, Unknown) or found.final):
                return found
            answer = found or answer
            carried |= {t.procedure: Turn(t.procedure, share=_LEFT, after=_LATER) for t in stage[:-1]}
        return answer

    def _for(self, question: Asked) -> Budget:
        """The time for all but a last resort; all of it where none reads the question, or one decided the property."""
        late = self.main.over and isinstance(question, Question) and question.about != "property"
        return self.main if self._resorts(question) and not late else self.budget

    def _resorts(self, question: Asked) -> bool:
        """Has the last resort, for which time is kept, a procedure that reads the question?"""
        if not self.mode.resort or question.certified:
            return True
        last = reversed(self.mode.stages[-1])  # the search in rationals first: it is loaded sooner than the programs
        return any(unread(get_procedure(turn.procedure), question) is None for turn in last)

    def _several(self, question: Asked) -> bool:
        """Is there another core for a session about this question? Many small questions are asked in one process."""
        settings = self.run.settings
        return settings.workers > 1 and question.about == "property" and ISOLATED.of(settings) == "on"

    def _untaken(self) -> Unknown:
        """Nobody takes the question; where nothing else says why, the reasons."""
        why = "; ".join(f"{name}: {text}" for name, text in self._refused.items())
        return Unknown(Reason.OPEN, f"no procedure takes this question ({why or 'the mode has none for it'})")

    def remaining(self) -> list[Remaining]:
        """Rests of the property that procedures leave, as far as they cut the initial set."""
        told = [ask() for s in self._begun.values() if (ask := getattr(s, "remaining", None)) is not None]
        return [left for left in told if left is not None]

    @property
    def _believes(self) -> bool:
        """Is the word of a solver an answer? Where solvers are asked first, others look for a proof later."""
        return self.mode.solver or self.run.settings.trusted

    def start(self, name: str, question: Asked, budget: Budget) -> Session | None:
        """A session of a procedure, None where it does not take the question; what it reads before is its time."""
        procedure, begun, entry = get_procedure(name), monotonic(), self.tried[name]
        try:
            with limited(budget):
                why = unread(procedure, question) or procedure.accepts(question, self.run)
                if why is None:
                    session = procedure.start(question, self.run)
                    if self._several(question) and hasattr(session, "leaves"):
                        from venmas.engine.apart import Apart

                        session = Apart(session, self.run, self.budget)
                    if question.about == "property":
                        self._begun[name] = session
                    return session
        except BudgetError as error:
            entry.why = f"{error.message} while it read the question"
            raise
        finally:
            entry.seconds += monotonic() - begun
        self._refused[name] = why
        if question.about == "property":
            entry.why = f"does not take it: {why}"
        return None

    def advance(self, name: str, session: Session, budget: Budget, waits: bool = False) -> Answer | None:
        """Have a session work; waits: for one in another process."""
        begun, entry = monotonic(), self.tried[name]
        entry.why = "it had no answer yet when the run was over"
        try:
            answer = session.waited(budget) if waits else session.advance(budget)  # type: ignore[attr-defined]
        except BudgetError as error:
            mine = error.reason is Reason.TIME and budget is not self.budget
            entry.why = "its time was over" if mine else error.message
            raise
        finally:
            entry.seconds += monotonic() - begun
            entry.figures = session.figures
            if (made := getattr(session, "unwritten", None)) is not None:
                self._unwritten = name, made
        if isinstance(answer, Proved) and answer.basis == "solver" and not self._believes:
            names = " and ".join(self.run.programs.solvers) or "a solver"
            note = f"{names} found no violation, up to tolerances, which is no proof: `--trust solver` takes its word"
            self.told = [note]
            answer = Unknown(Reason.TOLERANCE, note)
        if isinstance(answer, Unknown):
            entry.why = answer.message
            log.info("%s: %s", name, answer.message)
        elif answer is not None:
            entry.why, self.decided = "", name
        return answer


def _has(turn: Turn, question: Asked) -> bool:
    """Is it the turn of a procedure where such a question is asked?"""
    smooth, certified = isinstance(question, Question) and bool(question.system.smooth), question.certified
    return not (turn.again and certified) and (certified or not turn.certified) and (smooth or not turn.smooth)


def here(settings: Settings) -> Settings:
    """The same, programs are solved in this process: for many questions that take less time than to start one."""
    return replace(settings, tune={**settings.tune, ISOLATED.key: "off"})


def bounded_answer(mode: Mode, programs: Programs, settings: Settings, question: Question, budget: Budget) -> Answer:
    """The answer to a bounded question of a procedure, within a part of the time."""
    with Run(settings, programs) as run:
        return Portfolio(mode, run, budget, None).settle(question)


def limits(seconds: float | None, owed: bool, searched: bool) -> float | None:
    """Seconds of the time limit that all but the last resort may use; `owed`: a proof in rationals is; `searched`: it
    can be searched for."""
    return seconds if seconds is None or not owed else (SHARE if searched else WRITTEN) * seconds


def _end(sessions: Mapping[str, Session]) -> None:
    """End what goes on in other processes."""
    for session in sessions.values():
        if away(session):
            session.end()  # type: ignore[attr-defined]
