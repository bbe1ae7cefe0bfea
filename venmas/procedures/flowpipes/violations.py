"""Violations in boxes that were not refuted: runs in floats, of which those that meet the target are replayed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeAlias

from venmas.answer import Violated
from venmas.budget import Budget
from venmas.logic.window import Window, window
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.model.witness.build import explain
from venmas.model.witness.enclosed import UndecidedError
from venmas.model.witness.tree import Witness
from venmas.procedures.flowpipes.falsify import candidates
from venmas.procedures.flowpipes.plan import Plan
from venmas.procedures.flowpipes.tree import middle
from venmas.question import Question

if TYPE_CHECKING:
    from venmas.procedures.flowpipes.refine import Part

Candidate: TypeAlias = tuple[dict[str, Fraction], list[str]]
"""An initial state, and the branches that a run from it may take."""
Beams: TypeAlias = Callable[[System, Window, Sequence[Box], Budget, int], list[Candidate]]
Hunt: TypeAlias = Callable[[System, Plan, Sequence[Box], Budget, int], list[dict[str, Fraction]]]
_HUNTED = 3
"""Steps up to which a formula is about few."""
_RUNS, _DEEPER = 0.1, 4
"""Part of its time for looking for violations, and as much for those of few steps anywhere; how many times longer the
first takes where no sample shows one."""
_PATIENCE, _REPLAY = 60.0, 0.4
"""Part of its time for all runs from one state, where there are many; seconds where there is no limit."""


class Counted(Protocol):
    """Figures that count candidates."""

    candidates: int


class Violations:
    """What was looked for so far. figures: counts initial states that are replayed; tie: what one of them left open;
    found: what one of them shows; first: of the property alone, looked for before it and whether runs leave their box.
    beams, evolved, hunt: searches over noise and branches, and over initial states for few steps (`beam`, `evolve`,
    `hunt`).
    """

    def __init__(
        self, question: Question, plan: Plan, figures: Counted, beams: Beams, evolved: Beams, hunt: Hunt
    ) -> None:
        self.question, self.plan, self.system = question, plan, question.system
        self.figures, self.tie = figures, ""
        self.found: Violated | None = None
        self.first: Violations | None = None
        self._next, self._begun, self._hunted = 0.0, -1.0, 0.0
        self._beams, self._evolved, self._hunt = beams, evolved, hunt
        self._asked = None if question.chosen else window(question.asked)

    def of(self, failed: Sequence[tuple[Part, bool]], seed: int, budget: Budget) -> Violated | None:
        """A witness from boxes that failed, each with whether all its states meet the target; looked for less and less
        often."""
        if self.first is not None and (found := self.first.of(failed, seed, budget)) is not None:
            return found
        points: list[Candidate] = []
        points += [(middle(self.system, part.box), []) for part, sure in failed if sure][:1]
        begun = budget.spent
        if self._begun < 0:
            self._begun = begun
        whole = [part.tree.whole for part, _ in failed]
        if self._next <= _RUNS * (begun - self._begun):
            points += self._sought([part.box for part, _ in failed], whole, seed, self._next > 0, budget)
            self._next += _DEEPER * (budget.spent - begun)
        elif self.plan.steps <= _HUNTED and self._hunted <= _RUNS * (begun - self._begun):
            points += [(point, []) for point in self._hunt(self.system, self.plan, whole, budget, seed)]
            self._hunted += budget.spent - begun
        return self.replayed(points, budget)

    def among(self, boxes: Sequence[Box], budget: Budget) -> Violated | None:
        """A witness from boxes that cannot be followed, in part of the time."""

        def found(part: Budget) -> Violated | None:
            points = self._sought(boxes, boxes, 1, False, part) or self._sought(boxes, boxes, 2, True, part)
            return self.replayed(points, part)

        return budget.spend(_PATIENCE if budget.left is None else _RUNS * budget.left, found)

    def _sought(
        self, boxes: Sequence[Box], whole: Sequence[Box], seed: int, deep: bool, budget: Budget
    ) -> list[Candidate]:
        """Initial states from which floats meet the target; deep: by search, in `whole` where whole runs evolve."""
        points = candidates(self.system, self.plan, boxes, budget, seed, deep)
        if deep and not points and self._asked is not None:
            span, seconds = self._asked, _PATIENCE if budget.left is None else _RUNS * budget.left
            points = self._beams(self.system, span, boxes, budget, seed)
            points = points or budget.spend(seconds, lambda p: self._evolved(self.system, span, whole, p, seed)) or []
        return points

    def replayed(
        self, points: Sequence[tuple[Mapping[str, Fraction], Sequence[str]]], budget: Budget
    ) -> Violated | None:
        """The witness from the first initial state that has one, each with the branches that its run may take."""
        for point, path in points:
            if not any(all(c.holds(point) for c in region) for region in self.system.regions):
                continue
            self.figures.candidates += 1
            try:
                witness = self._explained(point, path, budget)
            except UndecidedError as error:
                self.tie = str(error)
                continue
            if witness is not None:
                self.found = Violated(witness)
                return self.found
        return None

    def _explained(self, point: Mapping[str, Fraction], path: Sequence[str], budget: Budget) -> Witness | None:
        """The witness from a state; where it takes too long to look at all runs from it, there is none."""

        def found(part: Budget) -> Witness | None:
            target, noise = self.question.target, self.question.chosen
            return explain(self.system, target, point, hints=path, tick=part, noise=noise)

        if len(self.system.branches) == 1:
            return found(budget)
        return budget.spend(_PATIENCE if budget.left is None else _REPLAY * budget.left, found)
