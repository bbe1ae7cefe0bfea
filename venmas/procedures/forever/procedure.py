"""CTL without bounds by composition: derivations over bounded questions, exact lassos, and stays.

    a run that closes a loop exactly shows !f             (`lassos`):                      violated
    for 1, 4, 16, .. seconds a question
        derive: the initial states satisfy f             (`derive`, over sets of `sets`): satisfied
        derive: one initial state satisfies !f            (a stay):                        violated

Bounded questions are answered by the procedures for them, over noise and for smooth systems alike; the rules that join
them are those of `venmas.checker.forever.rules`, which a checker applies again. After 0's and 1's of model checking
(Clarke, Emerson 1981: fixpoints), k-induction (Sheeran, Singh, Stalmarck, FMCAD 2000) and inductive sets.
"""

from __future__ import annotations

from venmas.answer import Answer, IncompleteError, Proved, Unknown, Violated
from venmas.budget import Budget, limited
from venmas.checker.forever.sequents import HERE
from venmas.errors import Reason
from venmas.logic import TRUE, Always, Bounded, Fixpoint, Formula, is_temporal, subformulas
from venmas.model.witness.replay import replay
from venmas.model.witness.tree import Node, Witness
from venmas.procedure import Run
from venmas.procedures.forever.claims.asking import Asking
from venmas.procedures.forever.claims.proof import DerivationProof, basis
from venmas.procedures.forever.derive import Deriving, positive
from venmas.procedures.forever.lassos import lassos
from venmas.procedures.forever.sets import Point, Sets, points
from venmas.question import Question

_ROUNDS = 4
_LASSOS = 0.5
"""Seconds for lassos."""


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
        if system.initial_condition is not TRUE:
            return "initial states are those of a condition, and no union of a few regions"
        if HERE in system.vocabulary.names:
            return f"a name of the system is {HERE!r}, which derivations use: take another"
        return None if run.derive is not None else "nothing decides bounded questions here"

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
        self._points: list[tuple[Point, Sets]] = []

    @property
    def figures(self) -> object:
        """The question."""
        return self._asking.figures

    def advance(self, budget: Budget) -> Answer:
        """Work to the end of the sets."""
        if self._formula is None:
            return Unknown(Reason.OPEN, "the negation of an until without a bound is not derived over reals")
        system, asking = self.question.system, self._asking
        if (run := self._lasso(budget)) is not None:
            return Violated(run)
        for number in range(_ROUNDS):
            asking.seconds, asking.late = 4.0**number, 0
            if self._sets is None:
                self._sets = Sets(asking, system, self.question.inductive, self._formula, budget)
            deriving = Deriving(asking, system, self._sets.closed, self._sets.kept, budget)
            found = deriving.derive("init", self._formula)
            if found is not None:
                asking.figures.proved = list(dict(deriving.told[-3:]).items())
                return Proved(basis(found), may_deadlock=system.may_deadlock, proof=DerivationProof(found, asking.sets))
            if (stay := self._stay(budget)) is not None:
                return Violated(stay)
            if not asking.late:
                break
        return Unknown(Reason.OPEN, asking.left or "no derivation was found from the sets that were tried")

    def _stay(self, budget: Budget) -> Witness | None:
        """An initial state of which the negation is derived."""
        system, asking, negated = self.question.system, self._asking, positive(self.question.asked.formula, negate=True)
        if negated is None or self._sets is None or self.question.semantics != "real":
            return None
        if not self._points:
            self._points = [(one, Sets(asking, one.system, None, negated, budget)) for one in points(system)]
        for one, own in self._points:
            deriving = Deriving(asking, one.system, self._sets.closed, own.kept, budget, own.closed)
            found = deriving.derive("init", negated)
            if found is None:
                continue
            proof = DerivationProof(found, asking.sets)
            try:
                lines = [rule.to_json() for rule in proof.lines(self.question, budget)]
            except IncompleteError:
                continue
            asking.figures.proved = list(dict(deriving.told[-3:]).items())
            end = {"rule": "end", "lines": len(lines) + 1}
            return Witness((Node(one.values),), stay=(*lines, end))
        return None

    def _lasso(self, budget: Budget) -> Witness | None:
        """A run that closes a loop exactly, and shows the negation."""
        system, shown = self.question.system, self.question.shown
        if system.smooth or system.disturbances or self.question.semantics != "real":
            return None

        def search(part: Budget) -> Witness | None:
            with limited(part):
                for found in lassos(system, wanted(shown)):
                    self._asking.figures.lassos += 1
                    if replay(system, shown, found).confirmed:
                        return found
            return None

        return budget.spend(_LASSOS, search)


def wanted(target: Formula) -> Formula:
    """What a run has to satisfy for ever to meet a target, as far as a greatest fixpoint tells."""
    for node in subformulas(target):
        if isinstance(node, Fixpoint) and not node.least and not is_temporal(node.right) and node.right.horizon == 0:
            return node.right
    return TRUE


FOREVER = Forever()
