"""Bounded model checking as a procedure of LTL: lassos of circuits, length by length, in three turns (`lasso`)."""

from __future__ import annotations

from dataclasses import dataclass

from venmas.answer import Broken, LinearAnswer, Unknown
from venmas.budget import Budget
from venmas.errors import Reason
from venmas.model.circuit.nodes import Circuit
from venmas.procedure import Run, Session
from venmas.procedures.bmc.lasso import LONGEST, SHORT, Search
from venmas.question import LinearQuestion


@dataclass
class LassoCounts:
    """Steps of the longest lassos that were looked for."""

    steps: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("lassos", f"of up to {self.steps} steps")]


class Bmc:
    """The procedure."""

    name = "bmc"
    help = "Bounded model checking: lassos of a netlist, length by length."

    def accepts(self, question: LinearQuestion, run: Run) -> str | None:
        """Of netlists."""
        return None if isinstance(question.subject, Circuit) else "it unrolls netlists"

    def eager(self, question: LinearQuestion, run: Run) -> bool:
        """Short lassos cost little."""
        return True

    def start(self, question: LinearQuestion, run: Run) -> Session:
        """Nothing is done yet."""
        return _Session(question)


class _Session:
    """Short lassos; first parts of runs that break the property whatever comes; then longer lassos."""

    struggling = False

    def __init__(self, question: LinearQuestion) -> None:
        assert isinstance(question.subject, Circuit)
        self.search = Search(question.subject, question.formula, question.automaton)
        self.figures, self.turns = LassoCounts(), 0

    def advance(self, budget: Budget) -> LinearAnswer:
        """Violated where a lasso is found. Raises `BudgetError`, `SolverUnavailableError`."""
        self.turns += 1
        if self.turns == 2:
            run = self.search.broken(budget)
        else:
            run = self.search.advance(SHORT if self.turns == 1 else LONGEST, budget)
        self.figures.steps = self.search.steps
        if run is not None:
            return Broken(run)
        return Unknown(Reason.OPEN, f"no lasso of up to {self.search.steps} steps was found")


BMC = Bmc()
