"""Bounds alone: what bound propagation refutes before any program is made.

    states := enclosures of the initial regions                      (`venmas.bounds.states`, symbolic linear bounds)
    for each region: truth of the target over the enclosures of the states that follow, a step at a time
    false everywhere: refuted

The bounds are rigorous (see `venmas.bounds.linear_forms`) and thresholds that they touch are decided in rationals, so
that what they refute is refuted. Networks are the real functions of their weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

import numpy as np

from venmas.answer import Answer, Proved, Unknown
from venmas.bounds.reach import Reach
from venmas.bounds.states import State, States
from venmas.bounds.truth import Oracle, bounded_regions, deep_runs, region_formula
from venmas.budget import Budget, limited
from venmas.errors import Reason
from venmas.logic import Formula, conjunction
from venmas.model.evaluation.regions import several_wide
from venmas.procedure import Run, few_paths
from venmas.question import Question

_GROWTH = 4.0
"""How many times longer than the last one the next step is expected to take, at most."""


@dataclass
class Enclosures:
    """Regions of initial states of which nothing was refuted yet."""

    left: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("regions open", str(self.left))]


class BoundPropagation:
    """The procedure."""

    name = "bound-propagation"
    help = "Symbolic bounds alone."

    def accepts(self, question: Question, run: Run) -> str | None:
        """Real networks: bounds of the real function say nothing of float32."""
        return None if question.semantics == "real" else "networks compute in float32"

    def eager(self, question: Question, run: Run) -> bool:
        """Where paths are few, and initial sets wide in several directions: over a line, passes decide as quickly."""
        return several_wide(question.system) and few_paths(question)

    def start(self, question: Question, run: Run) -> _Session:
        """Nothing is done yet."""
        return _Session(question)


class _Session:
    """Bounds of the states that follow the initial ones; states that were bounded are kept."""

    def __init__(self, question: Question) -> None:
        self.question, self.figures = question, Enclosures()
        self._budget: Budget
        self._batches: list[States] | None = None
        self._asked: list[tuple[Oracle, State, Formula]] = []
        self._begun = self._took = self._next = 0.0
        """When the step that is done began, seconds of the one before, and what the next one is expected to take."""

    def advance(self, budget: Budget) -> Answer:
        """Go on to the end."""
        self._budget, self._begun, question = budget, 0.0, self.question
        try:
            with deep_runs(question.target), np.errstate(over="ignore", invalid="ignore"), limited(budget):
                if self._batches is None:
                    self._batches = self._begin()
                while self._asked:
                    oracle, root, wanted = self._asked[-1]
                    if oracle.truth(root, wanted) is not False:
                        return Unknown(Reason.OPEN, "bounds do not refute it")
                    if any(batch.found.may_leave_box for batch in self._batches):
                        return Unknown(Reason.OPEN, "bounds do not show that states stay in their box")
                    self._asked.pop()
                    self.figures.left = len(self._asked)
        except (OverflowError, RecursionError) as error:  # numbers beyond floats say nothing
            return Unknown(Reason.OPEN, str(error) or "the system is nested too deeply")
        return Proved("bounds", may_deadlock=any(batch.found.may_deadlock for batch in self._batches))

    def _tick(self, _: int) -> None:
        """Before a step, which is lost where its time ends in the middle: it waits for a share that seems enough."""
        if self._begun:
            took = monotonic() - self._begun
            grown = took / self._took if self._took else 1.0
            self._took, self._next = took, took * min(max(1.0, grown), _GROWTH)
        self._begun = 0.0
        self._budget()
        self._budget.wait_for(self._next)
        self._begun = monotonic()

    def _begin(self) -> list[States]:
        """States of the initial regions: all that are points together, as runs from them may meet."""
        system, target = self.question.system, self.question.target
        able = bounded_regions(system, target)
        points = [i for i, (_, _, box) in enumerate(able) if all(low == high for low, high in box.values())]
        groups = ([points] if points else []) + [[i] for i in range(len(able)) if i not in set(points)]
        batches = []
        for group in groups:
            states = States.initial(system, [able[i][2] for i in group])
            batches.append(states)
            oracle = Oracle(Reach(states.members, self._tick))
            for i, root in zip(group, states.members, strict=True):
                self._asked.append((oracle, root, conjunction([region_formula(able[i][1]), target])))
        return batches


BOUND_PROPAGATION = BoundPropagation()
