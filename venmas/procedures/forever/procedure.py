"""CTL without bounds by composition: derivations over bounded questions, exact lassos, and stays.

    a run that closes a loop exactly shows !f             (`lassos`):                      violated
    for 1/4, 1, 4, .. seconds a question
        derive: the initial states satisfy f             (`derive`, over sets of `sets`): satisfied
        either of them on a graph of cells               (`cells.search`), first where reals are few, last where smooth
        derive: one initial state satisfies !f            (a stay):                        violated

Bounded questions are answered by the procedures for them, over noise and for smooth systems alike; the rules that join
them are those of `venmas.checker.forever.rules`, which a checker applies again. After 0's and 1's of model checking
(Clarke, Emerson 1981: fixpoints), k-induction (Sheeran, Singh, Stalmarck, FMCAD 2000) and inductive sets.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from venmas.answer import Answer, Proved, Unknown, Violated
from venmas.budget import Budget, ask, limited
from venmas.errors import ModelError, Reason
from venmas.logic import TRUE, Always, Bounded, Fixpoint, Formula, is_temporal, subformulas
from venmas.model.transform.cases import UnsuitableError
from venmas.model.witness.replay import replay
from venmas.model.witness.tree import Witness
from venmas.procedure import Run
from venmas.procedures.forever.cells.search import FEW_REALS, MANY, ON_CELLS, CellSearch, dimension
from venmas.procedures.forever.cells.sides import sides
from venmas.procedures.forever.claims.asking import Asking, underivable
from venmas.procedures.forever.claims.contexts import positive
from venmas.procedures.forever.claims.proof import Derivation, DerivationProof, basis
from venmas.procedures.forever.claims.stays import stay
from venmas.procedures.forever.derive import MOST_STEPS, Deriving
from venmas.procedures.forever.lassos import lassos
from venmas.procedures.forever.sets import Sets, Stays
from venmas.question import Question

_ROUNDS = 5
_FIRST = 0.25
_SETTLING = 1.0
"""The same where samples refute what is not to be asked, and long runs are what is asked about."""
_STEPS = 8
_QUESTIONS = 4
"""Of the first round: seconds of a question, and steps of the longest window; and of each round: how many questions may
take so long for the property."""
_LASSOS, _STAYS = 0.2, 1.0
"""Seconds for lassos in the first round, and for stays."""
_SOON = 0.5
"""Seconds for derivations before cells in each round: what is derived soon has a bound for all runs."""

Work = Callable[[Budget], Answer]


class Forever:
    """The procedure."""

    name = "forever"
    help = "Sets of states and bounded questions about them, joined by rules; loops and stays as witnesses."
    smooth = True
    noisy = True

    def accepts(self, question: Question, run: Run) -> str | None:
        """Properties without a bound, where something decides bounded questions."""
        asked, system = question.asked, question.system
        if isinstance(asked, Bounded):
            return "it is for properties without a bound"
        given = isinstance(asked, Always) and question.inductive is not None
        if given and not (system.smooth or system.disturbances):  # else it is tried here, before others
            return "it is to be proved by the set that was given"
        return underivable(system, run)

    def start(self, question: Question, run: Run) -> ForeverSession:
        """Nothing is done yet."""
        return ForeverSession(question, run)


class ForeverSession:
    """Derivations in rounds, each with more time for a question."""

    def __init__(self, question: Question, run: Run) -> None:
        assert run.derive is not None
        self.question, system = question, question.system
        self._asking = Asking(system, run.derive, question.semantics, question.certified)
        self._formula = positive(question.asked.formula)
        self._sets: Sets | None = None
        self._stays: Stays | None = None
        self._cells: CellSearch | None = None
        self._round, self._place, self._searched = 0, 0, False

    @property
    def figures(self) -> object:
        """The question."""
        return self._asking.figures

    def advance(self, budget: Budget) -> Answer:
        """Work to the end of the sets."""
        asking = self._asking
        with limited(budget):
            if self._sets is None and self._formula is not None:
                self._sets = Sets(asking, self.question.system, self.question.inductive, self._formula, ask)
            while self._round < _ROUNDS:
                if not self._place:
                    first = _FIRST if self._sets is None or not self._sets.settling else _SETTLING
                    asking.seconds, asking.late = first * 4.0**self._round, 0
                    asking.steps = min(MOST_STEPS, _STEPS * 4**self._round)
                for share, work in self._works()[self._place :]:
                    answer = budget.spend(share * asking.seconds, work)
                    self._place += 1  # where a turn of the portfolio ends before, the next one goes on with this work
                    if answer is None:
                        asking.late += 1
                    elif not isinstance(answer, Unknown):
                        return answer
                if not asking.late and asking.steps == MOST_STEPS:
                    break
                self._round, self._place = self._round + 1, 0
        return Unknown(Reason.OPEN, asking.left or "no derivation was found from the sets that were tried")

    def _works(self) -> tuple[tuple[float, Work], ...]:
        """Works of a round, and their shares of time: cells early where they are few, late where a step is smooth."""
        system, asking = self.question.system, self._asking
        lasso = (_LASSOS * 4.0**self._round / asking.seconds, self._lasso)
        derived = (_QUESTIONS, self._satisfied)
        stays = (_STAYS * 4.0**self._round / asking.seconds, self._violated)
        cells = (ON_CELLS, self._on_cells)
        if system.smooth:
            few = dimension(system) <= FEW_REALS
            return (lasso, (2, self._satisfied), cells, derived, stays) if few else (lasso, derived, stays, cells)
        if dimension(system) > FEW_REALS:  # cells are slow
            return lasso, (2 * _QUESTIONS, self._satisfied), stays, cells
        longer = (ON_CELLS * max(1, _SETTLING / asking.seconds), self._on_cells)
        return lasso, (_SOON / asking.seconds, self._satisfied), longer, derived, stays

    def _satisfied(self, budget: Budget) -> Answer:
        system, asking = self.question.system, self._asking
        if self._formula is None:  # an until below a negation: cells take it
            return Unknown(Reason.OPEN, "")
        assert self._sets is not None
        deriving = Deriving(asking, system, self._sets.closed, self._sets.kept, budget, ladders=self._sets.ladders)
        shown = deriving.derive("init", self._formula)
        if shown is None:
            return Unknown(Reason.OPEN, "")
        asking.figures.proved = list(dict(deriving.told[-3:]).items())
        return self._proved(shown)

    def _proved(self, shown: Derivation) -> Proved:
        ends = self.question.system.may_deadlock
        return Proved(basis(shown), may_deadlock=ends, proof=DerivationProof(shown, self._asking.sets))

    def _on_cells(self, budget: Budget) -> Answer:
        """The property or its negation, by cells; a finer graph at a time."""
        asking = self._asking
        with suppress(UnsuitableError, OverflowError, ModelError), limited(budget):
            if self._cells is None:
                self._cells = CellSearch(asking, *sides(self.question.asked.formula))
            answer = self._cells.search(budget, MANY * 4**self._round)
            if isinstance(answer, tuple):
                witness = stay(*answer, asking, budget) if self.question.semantics == "real" else None
                return Unknown(Reason.OPEN, "") if witness is None else Violated(witness)
            if answer is not None:
                return self._proved(answer)
        return Unknown(Reason.OPEN, "")

    def _violated(self, budget: Budget) -> Answer:
        with limited(budget):  # its own sets of samples, too
            witness = self._stay(budget)
        return Unknown(Reason.OPEN, "") if witness is None else Violated(witness)

    def _stay(self, budget: Budget) -> Witness | None:
        """An initial state of which the negation is derived."""
        negated = positive(self.question.asked.formula, negate=True)
        if negated is None or self._sets is None or self.question.semantics != "real":
            return None
        if self._stays is None:
            self._stays = Stays(self._asking, self.question.system, negated, ask)
        return self._stays.find(self._sets, budget)

    def _lasso(self, budget: Budget) -> Answer:
        """A run that closes a loop exactly, and shows the negation."""
        system, shown = self.question.system, self.question.shown
        exact = not (self._searched or system.smooth or system.disturbances) and self.question.semantics == "real"
        with limited(budget):
            for run in lassos(system, wanted(shown)) if exact else ():
                self._asking.figures.lassos += 1
                if replay(system, shown, run).confirmed:
                    return Violated(run)
        self._searched = True
        return Unknown(Reason.OPEN, "")


def wanted(target: Formula) -> Formula:
    """Requirement of every state of a run that is to meet a target, as far as a greatest fixpoint tells."""
    for node in subformulas(target):
        if isinstance(node, Fixpoint) and not node.least and not is_temporal(node.right) and node.right.horizon == 0:
            return node.right
    return TRUE


FOREVER = Forever()
