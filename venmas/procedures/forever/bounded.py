"""Bounded formulas about all runs, of many steps and few real variables, by the rule of cells.

    AG^k p is p & AX (p & AX (..)): each AX is a part of the formula that has a level in the cells where it is known to
    hold, as fixpoints have for formulas without a bound; the declared box is a part of each p        (`along_runs`)

A run of many steps is as hard for enclosures as the set that it is in spreads. Cells are enclosed for one step, and
many parts of the formula need the same of a cell. Noise is an input of that step (`Question.undrawn`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from venmas.answer import Answer, Figures
from venmas.budget import Budget
from venmas.checker.forever.along import MOST, along_runs
from venmas.errors import FormulaError
from venmas.logic import Bounded
from venmas.logic.window import window
from venmas.model.system.disturbances import ahead
from venmas.procedure import Run
from venmas.question import Question

if TYPE_CHECKING:
    from venmas.procedures.forever.stepwise import Stepwise

_LONG = 20
"""Steps of formulas, and of noise that is much for other procedures."""
_REALS, _FEW, _LATE = 3, 2, 1 / 3
"""Real variables of systems that are piecewise linear, and of those that are smooth. Where they are more than these,
and others are likely to decide, cells wait for that part of the time."""
_PATIENCE = 20.0
"""Seconds of it where there is no limit."""


class BoundedCells:
    """The procedure."""

    name = "cells"
    help = "Cells that each step leads from one to another, for many steps of few real variables."
    smooth = True

    def accepts(self, question: Question, run: Run) -> str | None:
        """Conjunctions of what all runs have at some steps, such as AG[i,j] p and AX^n AG[i,j] p."""
        property_, system = question.asked, question.undrawn or question.system
        if not isinstance(property_, Bounded) or question.about != "property" or property_.formula.depth < _LONG:
            return f"it is for formulas with bounds of {_LONG} steps and more"
        if not 0 < _reals(question) <= (_FEW if system.smooth else _REALS):
            return "it is for systems of few real variables"
        if system.quantities or any(map(ahead, system.variables)) or "here" in system.vocabulary.names:
            return "the system has quantities, noise of several steps in its states, or a name that derivations use"
        if window(property_) is None or property_.formula.depth > MOST:  # windows are of that form
            try:
                along_runs(system, property_.formula)
            except FormulaError as error:
                return str(error)
        return None if run.derive is not None else "nothing decides bounded questions here"

    def eager(self, question: Question, run: Run) -> bool:
        """Noise of many steps is too much for others."""
        return question.undrawn is not None and question.formula.depth > _LONG

    def start(self, question: Question, run: Run) -> BoundedSession:
        """Nothing is done yet."""
        return BoundedSession(question, run, patient=_reals(question) > _FEW and not self.eager(question, run))


def _reals(question: Question) -> int:
    system = question.undrawn or question.system
    return sum(not d.integral and name not in system.disturbances for name, d in system.variables.items())


class BoundedSession:
    """Work that begins when it is its turn. patient: late."""

    def __init__(self, question: Question, run: Run, patient: bool) -> None:
        self._question, self._run, self._patient = question, run, patient
        self._work: Stepwise | None = None

    @property
    def figures(self) -> Figures | None:
        """Cells and claims."""
        return None if self._work is None else self._work.figures

    def advance(self, budget: Budget) -> Answer | None:
        """Work to the end of the rounds; None where it is too early."""
        if self._patient and budget.spent < _wait(budget):
            return None
        if self._work is None:
            from venmas.procedures.forever.stepwise import Stepwise  # most are decided before

            self._work = Stepwise(self._question, self._run)
        return self._work.advance(budget)


def _wait(budget: Budget) -> float:
    """Seconds from the beginning after which it is late."""
    left = budget.root.left
    return _PATIENCE if left is None else _LATE * (left + budget.spent)


CELLS = BoundedCells()
