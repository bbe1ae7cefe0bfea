"""Search for cells of a bounded formula about all runs: finer and finer ones, with more time for a claim."""

from __future__ import annotations

from venmas.answer import Answer, Figures, Proved, Unknown
from venmas.budget import Budget, limited
from venmas.checker.forever.along import along_runs
from venmas.errors import ModelError, Reason
from venmas.model.transform.cases import UnsuitableError
from venmas.procedure import Run
from venmas.procedures.forever.cells.search import MANY, CellSearch
from venmas.procedures.forever.cells.sides import Side
from venmas.procedures.forever.claims.asking import Asking
from venmas.procedures.forever.claims.proof import DerivationProof, basis
from venmas.question import Question

_ROUNDS = 4
_FIRST = 1.0
"""Of the first round, in seconds: the time of a claim."""


class Stepwise:
    """Rounds on one graph."""

    def __init__(self, question: Question, run: Run) -> None:
        assert run.derive is not None
        self.system = question.undrawn or question.system
        self._asking = Asking(self.system, run.derive, question.semantics, question.certified)
        self._formula = along_runs(self.system, question.formula)
        self._cells: CellSearch | None = None
        self._round = 0

    @property
    def figures(self) -> Figures:
        """Cells and claims."""
        return self._asking.figures

    def advance(self, budget: Budget) -> Answer:
        """Work to the end of the rounds."""
        asking = self._asking
        try:
            with limited(budget):
                if self._cells is None:
                    self._cells = CellSearch(asking, *Side.bounded(self._formula))
                while self._round < _ROUNDS:
                    asking.seconds = _FIRST * 4.0**self._round
                    shown = self._cells.search(budget, MANY * 4**self._round)
                    if shown is not None:
                        assert not isinstance(shown, tuple)
                        proof, ends = DerivationProof(shown, asking.sets), self.system.may_deadlock
                        return Proved(basis(shown), may_deadlock=ends, inside=True, proof=proof)
                    self._round += 1
        except (UnsuitableError, OverflowError, ModelError) as error:
            return Unknown(Reason.OPEN, str(error))
        return Unknown(Reason.OPEN, asking.left or "no cells were found of which the formula was shown")
