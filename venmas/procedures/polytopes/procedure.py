"""Polytopes: exact enumeration of the parts of the initial set on which every run is affine.

    polytopes := the initial regions                                          (`batch`: vertices and facets)
    for each formula: cut where a unit, an argmax or a comparison changes,     (`step`, `enumerate`)
        keep what may hold, move on; nothing is merged
    what is left of the initial set suggests candidates; nothing left: refuted

For initial sets of few free dimensions and systems of few runs. For a single network this is geometric path enumeration
(Bak, Tran, Hobbs, Johnson, CAV 2020).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from venmas.answer import Answer, Proved, Unknown, Violated
from venmas.budget import Budget
from venmas.errors import Reason
from venmas.model.transform.cases import UnsuitableError
from venmas.procedure import Run, few_paths
from venmas.procedures.hybrid.trials import Trials
from venmas.procedures.hybrid.view import Space, space_for
from venmas.procedures.polytopes.enumerate import Enumeration
from venmas.question import Question


@dataclass
class Polytopes:
    """Polytopes that a formula was asked of."""

    count: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("polytopes", str(self.count))]


class PolytopeEnumeration:
    """The procedure."""

    name = "polytopes"
    help = "Polytopes of initial states with affine runs, where few dimensions are free."

    def accepts(self, question: Question, run: Run) -> str | None:
        """At most four free dimensions; several of them, or one branch: else a reachability graph is quicker."""
        if question.certified:
            return "it writes no certificates"
        try:
            space = space_for(question, run)
            if space.single:
                return "networks compute in float32"
            if not (space.several_wide or len(space.system.branches) == 1):
                return "one dimension is free, and there are several branches: a reachability graph is quicker"
            Enumeration(space, question.target)
        except (UnsuitableError, OverflowError, RecursionError) as error:
            return str(error) or "the system is nested too deeply"
        return None

    def eager(self, question: Question, run: Run) -> bool:
        """Where its paths are few, so that it is likely to end."""
        return few_paths(question)

    def start(self, question: Question, run: Run) -> PolytopeSession:
        """Nothing is done yet."""
        return PolytopeSession(question, space_for(question, run))


class PolytopeSession:
    """An enumeration and the candidates that it suggests."""

    def __init__(self, question: Question, space: Space) -> None:
        self.question, self._enumeration = question, Enumeration(space, question.target)
        self._trials = Trials(space.system, question.target)

    @property
    def figures(self) -> Polytopes:
        """Counts."""
        return Polytopes(self._enumeration.count)

    def advance(self, budget: Budget) -> Answer:
        """Go on to the end, trying what is left on the way."""
        work = self._enumeration
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            while not work.over:
                found = work.run(budget)
                witness = self._trials.look(iter(found), budget) if found else None
                if witness is not None:
                    return Violated(witness)
        if work.refuted:
            return Proved("bounds", may_deadlock=self.question.system.may_deadlock)
        return Unknown(Reason.OPEN, "there are too many polytopes, or some that floats cannot cut")


POLYTOPES = PolytopeEnumeration()
