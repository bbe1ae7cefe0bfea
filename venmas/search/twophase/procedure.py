"""Two phases: a proof of AG p for ever from two bounded ones, around a set of states.

    for (I, t, q) in sets that sampled runs enter and come back to                     (`sets`, `runs`)
        ask: I meets AX^q I & AG[0,q-1] p, and no run from it leaves the box           (as initial set: I)
        ask: the initial states meet AX^t I & AG[i,t-1] p, and no run leaves the box
        both hold: refuted; a run to a state without p: witnessed

Every state that is met at step t or later lies r < q steps behind a state of I, which is met at t + mq, and so satisfies
p: k-induction (Sheeran, Singh, Stalmarck, FMCAD 2000) with a strengthening, where the set need not be one of every
step. What a set is guessed from proves nothing; the questions are answered by the procedures for bounded ones.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from venmas.answer import Answer, Basis, Open, Refuted, Witnessed
from venmas.budget import Budget
from venmas.errors import ModelError, Reason
from venmas.linear import Comparison
from venmas.logic import Always, Bounded, Formula, Globally, Next, Quantifier, conjunction, nnf
from venmas.logic.printing import to_short_text
from venmas.model.initial import InitialSet
from venmas.model.system import System
from venmas.model.witness.replay import replay
from venmas.question import Question
from venmas.search.procedure import Run
from venmas.search.twophase.runs import Runs
from venmas.search.twophase.sets import LAYERS, Candidate, candidates

_FIRST = 1.0
"""Seconds for a question in the first round; each later round has four times as much."""
_AHEAD = 6
"""Steps within which a violation is sought in the first round; twice as many in each later one."""

_BASES: tuple[Basis, ...] = ("exact", "bounds", "solver")


@dataclass
class PhaseCounts:
    """Sets that passed the test by samples, questions that were asked of them, and the one that was proved."""

    sets: int = 0
    asked: int = 0
    proved: str = ""

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        found = [("sets", f"{self.sets} tried, {self.asked} questions asked")]
        return found + ([("inductive set", self.proved)] if self.proved else [])


class TwoPhase:
    """The procedure."""

    name = "two-phase"
    help = "Into a set of states, and back into it: two bounded proofs."

    def accepts(self, question: Question, run: Run) -> str | None:
        """AG p, p about one state, where something decides bounded questions."""
        if not isinstance(question.asked, Always):
            return "it is for AG p, with p about one state"
        return None if run.decide is not None else "nothing decides bounded questions here"

    def eager(self, question: Question, run: Run) -> bool:
        """It has a stage of its own."""
        return True

    def start(self, question: Question, run: Run) -> TwoPhaseSession:
        """Nothing is done yet."""
        return TwoPhaseSession(question, run)


class TwoPhaseSession:
    """Candidates in turn, each round with more time for a question."""

    struggling = False

    def __init__(self, question: Question, run: Run) -> None:
        assert isinstance(question.asked, Always) and run.decide is not None
        self.question, self.figures, self._decide = question, PhaseCounts(), run.decide
        self.start, self.invariant = question.asked.start, nnf(question.asked.invariant)
        self.runs = Runs(question.system)

    def advance(self, budget: Budget) -> Answer:
        """Work to the end of the candidates."""
        with np.errstate(all="ignore"):
            told = self._sampled(budget)
            found = [] if told else self._candidates(budget)
        self.figures.sets, seconds, ahead = len(found), _FIRST, _AHEAD
        while True:
            late = []
            for candidate in found:
                answer = budget.spend(seconds, lambda part: self._try(candidate, part))  # noqa: B023
                if answer is None:
                    late.append(candidate)
                elif not isinstance(answer, Open):
                    return answer
            begin = Globally(Quantifier.ALL, self.start, self.start + ahead, self.invariant)
            answer = budget.spend(seconds, lambda part: self._ask(self.question, begin, part, inside=False))  # noqa: B023
            if isinstance(answer, Witnessed):
                return answer
            if not late and ahead >= LAYERS:
                return Open(
                    Reason.OPEN, told or f"none of {self.figures.sets} sets that runs seem to stay in is proved"
                )
            found, seconds, ahead = late, 4 * seconds, 2 * ahead

    def _candidates(self, budget: Budget) -> list[Candidate]:
        return candidates(self.question.system, self.runs, self.start, self.invariant, budget)

    def _sampled(self, budget: Budget) -> str:
        """What is wrong with sampled runs, if something is."""
        for step, (states, left) in enumerate(self.runs.layers(self.start + LAYERS)):
            budget()
            if left:
                return f"samples leave the declared box after {step} steps, and no exact run was found that does"
            if step >= self.start and not self.runs.holds(self.invariant, states).all():
                return f"samples violate it after {step} steps, and no exact run was found that does"
        return ""

    def _try(self, candidate: Candidate, budget: Budget) -> Answer:
        """Prove both phases of a candidate."""
        system = self.question.system
        inside = candidate.formula(system)
        try:
            back = self._ask(self._within(candidate.regions(system)), self._phase(inside, 0, candidate.period), budget)
        except ModelError:  # a state of the set leaves the box, which no run may ever reach
            return Open(Reason.OPEN, "a run from the set leaves the box")
        if not isinstance(back, Refuted):
            return Open(Reason.OPEN, "the set is not come back to")
        enter = self._ask(self.question, self._phase(inside, self.start, candidate.entry), budget)
        if isinstance(enter, Witnessed):
            shows = replay(system, self.question.shown, enter.witness).confirmed
            return enter if shows else Open(Reason.OPEN, "the set is not entered")
        if not isinstance(enter, Refuted):
            return Open(Reason.OPEN, "the set is not entered")
        shown = to_short_text(inside)
        self.figures.proved = f"entered after {candidate.entry} steps, come back to after {candidate.period}: {shown}"
        basis = max(back.basis, enter.basis, key=_BASES.index)
        return Refuted(basis, may_deadlock=back.may_deadlock or enter.may_deadlock, deadlock=enter.deadlock)

    def _phase(self, inside: Formula, start: int, steps: int) -> Formula:
        """``AX^steps I & AG[start, steps - 1] p``."""
        parts = [Next(Quantifier.ALL, steps, inside) if steps else inside]
        if steps > start:
            parts.append(Globally(Quantifier.ALL, start, steps - 1, self.invariant))
        return conjunction(parts)

    def _within(self, regions: Sequence[tuple[Comparison, ...]]) -> Question:
        """The question about the same system with other initial sets."""
        system: System = copy.copy(self.question.system)
        system.initial_set = InitialSet(system.name, system.variables)
        system.initial_set.regions = list(regions)
        return Question(system, self.question.asked, self.question.semantics)

    def _ask(self, about: Question, formula: Formula, budget: Budget, inside: bool = True) -> Answer:
        """The answer to a bounded question; inside: it says besides that no run leaves the box."""
        self.figures.asked += 1
        asked = Question(about.system, Bounded(formula), about.semantics, inside=inside)
        return self._decide(asked, budget)


TWO_PHASE = TwoPhase()
