"""k-induction with a strengthening: a proof of AG p for ever from two bounded ones, around a set of states.

    for (I, t, q) in sets that sampled runs enter and come back to                     (`sets`, `runs`)
        ask: I meets AX^q I & AG[0,q] p, and no run from it leaves the box             (as initial set: I)
        ask: the initial states meet AX^t I & AG[i,t] p, and no run leaves the box
        both hold: proved; a run to a state without p: violated
    ask: the initial states meet AG[i,i+k] p, for growing k                            (bounded model checking)

Every state that is met at step t or later lies r < q steps behind a state of I, which is met at t + mq, and so
satisfies p (after Sheeran, Singh, Stalmarck, FMCAD 2000); the set need not be one of every step. What a set is guessed
from proves nothing; the questions are answered by the procedures for bounded ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from venmas.answer import BASES, Answer, Proved, Unknown, Violated
from venmas.budget import Budget
from venmas.errors import ModelError, Reason
from venmas.logic import (
    AX,
    EX,
    TRUE,
    Always,
    And,
    Bounded,
    Formula,
    Globally,
    Implies,
    Next,
    Quantifier,
    conjunction,
    nnf,
    variables_of,
)
from venmas.logic.printing import to_short_text
from venmas.model.expressions.expr import All
from venmas.model.invariant import Phases
from venmas.model.system.quantities import MEASURED, unmeasured
from venmas.model.system.system import System
from venmas.model.witness.build import satisfies
from venmas.model.witness.replay import replay
from venmas.model.witness.tree import Node
from venmas.procedure import Run
from venmas.procedures.kinduction.proof import PhaseProof
from venmas.procedures.kinduction.runs import Runs
from venmas.procedures.kinduction.sets import LAYERS, candidates
from venmas.question import Question, deadlocked

_FIRST = 1.0
"""Seconds for a question in the first round; each later round has four times as much."""
_ALIVE = 0.2
"""Seconds, or as long as it took so far, for a look at deadlocks: they are told only."""
_AHEAD = 6
"""Steps within which a violation is sought in the first round; twice as many in each later one."""


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


class KInduction:
    """The procedure."""

    name = "k-induction"
    help = "Into a set of states, and back into it: two bounded proofs."

    def accepts(self, question: Question, run: Run) -> str | None:
        """AG p, p about one state, where something decides bounded questions."""
        if not isinstance(question.asked, Always):
            return "it is for AG p, with p about one state"
        if question.system.initial_condition is not TRUE:
            return "initial states are those of a condition, and no union of a few regions"
        return None if run.decide is not None else "nothing decides bounded questions here"

    def start(self, question: Question, run: Run) -> KInductionSession:
        """Nothing is done yet."""
        return KInductionSession(question, run)


class KInductionSession:
    """Sets in turn, each round with more time for a question."""

    def __init__(self, question: Question, run: Run) -> None:
        assert isinstance(question.asked, Always) and run.decide is not None
        self.question, self.figures, self._decide = question, PhaseCounts(), run.decide
        self.start, self.invariant = question.asked.start, nnf(question.asked.invariant)
        self.runs = Runs(question.system)

    def advance(self, budget: Budget) -> Answer:
        """Work to the end of the sets."""
        system = self.question.system
        with np.errstate(all="ignore"):
            told = self._sampled(budget)
            found = [] if told else self._sets(budget)
        self.figures.sets, seconds, ahead = len(found), _FIRST, _AHEAD
        while True:
            late = []
            for phases in found:
                answer = budget.spend(seconds, lambda part: self._try(phases, part))  # noqa: B023
                if answer is None:
                    late.append(phases)
                elif not isinstance(answer, Unknown):
                    return answer
                elif self.question.inductive is not None:
                    told = answer.message
            begin = Globally(Quantifier.ALL, self.start, self.start + ahead, self.invariant)
            answer = budget.spend(seconds, lambda part: self._ask(system, begin, part, inside=False))  # noqa: B023
            if isinstance(answer, Violated):
                return answer
            if not late and (ahead >= LAYERS or self.question.inductive is not None):
                sets = f"{self.figures.sets} sets that runs seem to come back to"
                return Unknown(Reason.OPEN, told or f"none of {sets} was proved to be one")
            found, seconds, ahead = late, 4 * seconds, 2 * ahead

    def _sets(self, budget: Budget) -> list[Phases]:
        """What is to be tried."""
        system, given = self.question.system, self.question.inductive
        if given is not None:
            return [Phases(given, self.start, 1)]
        found = candidates(system, self.runs, self.start, self.invariant, budget)
        return [Phases(candidate.formula(system), candidate.entry, candidate.period) for candidate in found]

    def _sampled(self, budget: Budget) -> str:
        """What is wrong with sampled runs, if something is."""
        for step, (states, left) in enumerate(self.runs.layers(self.start + LAYERS)):
            budget()
            if left:
                return f"samples leave the declared box after {step} steps, and no exact run was found that does"
            if step >= self.start and not self.runs.holds(self.invariant, states).all():
                return f"samples violate it after {step} steps, and no exact run was found that does"
        return ""

    def _try(self, phases: Phases, budget: Budget) -> Answer:
        """Prove both phases."""
        enter, back = self._claims(phases, self.invariant)
        try:
            returns = self._ask(*back, budget)
        except ModelError as error:  # a state of the set leaves the box, which no run may ever reach
            return Unknown(Reason.OPEN, f"the set is not inductive: {error}")
        if not isinstance(returns, Proved):
            return Unknown(Reason.OPEN, self._outside(returns, "the set is not inductive"))
        enters = self._ask(*enter, budget)
        if isinstance(enters, Violated) and replay(enter[0], self.question.shown, enters.witness).confirmed:
            return enters
        if not isinstance(enters, Proved):
            return Unknown(Reason.OPEN, self._outside(enters, "not every initial state is in the set"))
        shown = to_short_text(phases.reached)
        self.figures.proved = f"entered after {phases.into} steps, come back to after {phases.again}: {shown}"
        stuck = returns.may_deadlock or enters.may_deadlock
        found = Proved(
            max(returns.basis, enters.basis, key=BASES.index),
            may_deadlock=stuck and enters.deadlock is None,
            deadlock=enters.deadlock,
            proof=PhaseProof(phases) if self.question.certified and not self.start else None,
        )
        return self._alive(found, phases, budget) if found.may_deadlock else found

    def _outside(self, answer: Answer, how: str) -> str:
        """Why a set is none, as far as a witness or a procedure tells."""
        if not isinstance(answer, Violated):
            return f"it was not decided of the set: {answer.message if isinstance(answer, Unknown) else ''}"
        variables = self.question.system.variables

        def told(node: Node) -> str:
            return ", ".join(f"{v.name} = {variables[v.name].show(v.exact)}" for v in node.state)

        path = answer.witness.path or answer.witness.nodes[:1]
        steps = "".join(f" goes by {node.children[0][0]} to {told(after)}" for node, after in pairwise(path))
        outside = not steps and not satisfies(self.question.system, self.invariant, path[0].point)
        violated = " violates the property" if outside else ""
        return f"{how}: {told(path[0])}{steps}{violated}"

    def _alive(self, found: Proved, phases: Phases, budget: Budget) -> Proved:
        """The same, and whether a deadlock is reachable, where that is soon known."""
        for first, (system, _) in zip((True, False), self._claims(phases, self.invariant), strict=True):
            steps = max(phases.into, _AHEAD) if first else phases.again - 1
            claim = Globally(Quantifier.ALL, 0, steps, EX(TRUE))
            seconds = max(_ALIVE, budget.spent)
            answer = budget.spend(seconds, lambda part: self._ask(system, claim, part, inside=False))  # noqa: B023
            if isinstance(answer, Violated) and first:
                return replace(found, may_deadlock=False, deadlock=deadlocked(answer.witness))
            if not isinstance(answer, Proved):
                return found
        return replace(found, may_deadlock=False)

    def _claims(self, phases: Phases, holds: Formula) -> tuple[tuple[System, Formula], tuple[System, Formula]]:
        """The bounded claims; what is asked for from a later step on is asked for from there."""
        enter, back = phases.parts(self.question.system, holds)
        if self.start:
            late = Globally(Quantifier.ALL, self.start, phases.into, holds)
            enter = enter[0], conjunction([Next(Quantifier.ALL, phases.into, phases.reached), late])
        system = self.question.system
        if self.question.inductive is not None and system.quantities:  # which only a measured state has
            before = system.formula(All(tuple(unmeasured(system))), "what is not measured")
            parts = phases.reached.operands if isinstance(phases.reached, And) else (phases.reached,)
            only_measured = {*system.quantities, MEASURED}  # of a state that is not, what is said of them is false
            plain = [part for part in parts if not variables_of(part) & only_measured]
            stays = Implies(phases.reached, conjunction([holds, AX(phases.reached)]))
            back = system.starting(conjunction([before, *plain])), AX(stays)
        return enter, back

    def _ask(self, system: System, formula: Formula, budget: Budget, inside: bool = True) -> Answer:
        """The answer to a bounded question; inside: it says besides that no run leaves the box."""
        self.figures.asked += 1
        return self._decide(Question(system, Bounded(formula), self.question.semantics, inside=inside), budget)


K_INDUCTION = KInduction()
