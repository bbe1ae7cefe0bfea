"""Ranking functions of circuits as a procedure of LTL: `venmas.procedures.ranking.procedure` at work on a question."""

from __future__ import annotations

from functools import partial

from venmas.answer import LinearAnswer, Proved, Unknown
from venmas.budget import Budget, Progress
from venmas.errors import Reason
from venmas.model.circuit.binding import bind
from venmas.model.circuit.nodes import Circuit
from venmas.procedure import Run, Session
from venmas.procedures.ranking.learn import Figures
from venmas.procedures.ranking.procedure import Prover
from venmas.question import LinearQuestion


class Ranking:
    """The procedure."""

    name = "ranking"
    help = "Ranking functions and inductive invariants of a netlist (neural model checking)."

    def accepts(self, question: LinearQuestion, run: Run) -> str | None:
        """Of netlists."""
        return None if isinstance(question.subject, Circuit) else "it ranks the registers of netlists"

    def eager(self, question: LinearQuestion, run: Run) -> bool:
        """It has a stage for itself."""
        return True

    def start(self, question: LinearQuestion, run: Run) -> Session:
        """Nothing is done yet."""
        return _Session(question)


class _Session:
    struggling = False

    def __init__(self, question: LinearQuestion) -> None:
        self.question, self.figures = question, Figures()

    def advance(self, budget: Budget) -> LinearAnswer:
        """Proved where every accepting component is ranked or never reached. Raises `BudgetError`."""
        question, figures = self.question, self.figures
        assert isinstance(question.subject, Circuit)
        budget.root.describe = partial(_progress, figures)
        part, letters = bind(question.subject, question.automaton.atoms)
        exact = not question.believed
        prover = Prover(part, letters, question.automaton, figures, exact, not question.anywhere, question.learner)
        found = prover.prove(budget)
        if found is None:
            why = "; ".join(figures.levels) or "none of this kind was found"
            return Unknown(Reason.OPEN, f"no ranking function or invariant: {why}")
        return Proved("exact" if exact else "solver", proof=found)


def _progress(figures: Figures, seconds: float) -> Progress:
    """Counterexamples, networks that were tried and queries so far."""
    return Progress(figures.samples, 0, figures.queries, 0, figures.rounds, seconds)


RANKING = Ranking()
