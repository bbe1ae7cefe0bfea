"""Covers: AG p, for ever or in a window of steps, by boxes on a grid in skew coordinates, cut anew every few steps.

    runs in floats: how wide sets of states are, and coordinates that suit them             (`sampled`, `frame`)
    for finer and finer grids, in each of these coordinates, with 1, 2 and 4 steps at a time:
        sets := parts of the boxes around the initial sets                                  (`cover`, `rounds`)
        repeat: zonotopes follow all sets for these steps; p in all of them, else: too coarse, or, where few are
                open, cells that lead to these are cut, and what changed is followed again  (`layers`)
                sets := in each cell of the grid, the box around what zonotopes have in it  (`paving`)
                where p is asked from here on: together with what was reached before; nothing is new: proved

Only what p depends on is covered first. Of the other variables it is shown then that they keep to their ranges: in
parts, for which whatever they read is noise (`plan`).

Noise is an input of each step. A zonotope around all that noise and a network may do in many steps is too wide; cells
keep sets of any shape, and a box in each of them, rather than the whole cell, keeps their edges. Grids become finer
as sets become smaller. Cell-to-cell mapping (Hsu, 1980) and subpavings (Kieffer, Jaulin, Walter, 2002), with zonotopes
in between (Girard, HSCC 2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from venmas.answer import Answer, Proved, Unknown
from venmas.budget import Budget, limited
from venmas.checker.covers.grid import Axes
from venmas.checker.covers.parts import part_of, unmoved
from venmas.errors import Reason
from venmas.logic import FALSE, nnf
from venmas.logic.window import window
from venmas.model.system.disturbances import drawn
from venmas.procedure import Run
from venmas.procedures.covers.cover import Cover, Task
from venmas.procedures.covers.plan import Plan
from venmas.procedures.covers.proof import written
from venmas.procedures.covers.rounds import Rounds
from venmas.procedures.covers.sampled import sampled
from venmas.question import Question

_STEPS = 200
"""Steps of sampled runs, at most."""
_SHORT = 5
"""Steps below which sets are followed as well without a grid."""
_LONG = 10
"""Steps from which on it is tried before others have long turns."""
_PATIENCE = 10.0
"""Seconds where there is no limit."""
_OTHERS = 1.0
"""Seconds for the ranges of what p does not depend on, besides as many as p took, where no proof is written."""
_WIDER = Fraction(1, 10**6)


@dataclass
class Covered:
    """Of the last cover: boxes that were followed, cells along each coordinate, and steps."""

    along: int = 0
    boxes: int = 0
    steps: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        text = f"{self.boxes} boxes in {self.steps} steps, {self.along} cells along each coordinate"
        return [("cover", text)] if self.along else []


class CoverSearch:
    """The procedure."""

    name = "covers"
    help = "Boxes on grids in skew coordinates, around all states that runs reach."
    smooth = noisy = apart = True

    def accepts(self, question: Question, run: Run) -> str | None:
        """AG p, for ever or in a window of steps, p about one state, of systems of a few real variables."""
        span = window(question.asked)
        if span is None or question.about == "deadlock" or (span[1] is not None and span[1] < _SHORT):
            return f"it is for AG p, for ever or up to {_SHORT} steps and more, with p about one state"
        if question.inductive is not None:
            return "it is to be proved by the set that was given"
        return Plan(question).unsuited

    def eager(self, question: Question, run: Run) -> bool:
        """Of many steps, what others followed already in one set."""
        span = window(question.asked)
        return span is None or span[1] is None or span[1] >= _LONG

    def start(self, question: Question, run: Run) -> CoverSession:
        """Nothing is done yet."""
        return CoverSession(question)


class CoverSession:
    """Covers of all that p depends on; then of the other variables, which might leave their ranges."""

    def __init__(self, question: Question) -> None:
        self.question, self.figures, self._plan = question, Covered(), Plan(question)
        self._rounds: Rounds | None = None
        self._covers: list[Cover] = []

    @property
    def proved(self) -> float:
        """Part of its time that is over, if the cover that is expected to end first ends as expected."""
        return self._rounds.proved if self._rounds is not None else 0.0

    def advance(self, budget: Budget) -> Answer:
        """Cover what is reached on finer and finer grids; others come after a while where there is no limit."""
        if budget.left is not None:
            return self._covered(budget)
        return budget.spend(_PATIENCE, self._covered) or Unknown(Reason.OPEN, "no grid decided it in a while")

    def _covered(self, budget: Budget) -> Answer:
        question, parts = self.question, self._plan.parts
        while True:
            why = ""
            while not why and len(self._covers) < len(parts):
                why = self._part(budget) if question.inside or not self._covers else self._other(budget)
            if why and (question.inside or not self._covers):
                return Unknown(Reason.OPEN, why)
            answer = self._proved()
            if answer.leaving or not question.certified:
                return answer
            lines = [cover.grid() for cover in self._covers]
            made = written(answer, question, [*zip(parts, lines, strict=True)], budget.whole)
            if made is not None:
                return made
            self._covers.pop()

    def _proved(self) -> Proved:
        """What the covers prove."""
        question, plan = self.question, self._plan
        left = {*plan.rest, *(name for part in plan.parts[len(self._covers) :] for name in part)}
        leaving = frozenset().union(left, *(cover.leaving for cover in self._covers))
        inside = question.inside or (question.certified and not leaving)
        deadlock = drawn(plan.base, 1).may_deadlock
        return Proved("bounds", leaving, deadlock, inside=inside)

    def _other(self, budget: Budget) -> str:
        """The same, in a part of the time: what is proved of p is not lost."""
        assert budget.left is not None
        seconds = budget.left / 2 if self.question.certified else min(_OTHERS + budget.spent, budget.left / 2)
        why = budget.spend(seconds, self._part)
        return "it takes longer" if why is None else why

    def _part(self, budget: Budget) -> str:
        """Cover the next part; why it is not covered, if so."""
        if self._rounds is None:
            with limited(budget.whole):  # not gone on with later
                if why := self._begin():
                    return why
        rounds = self._rounds
        assert rounds is not None
        try:
            cover = rounds.covered(budget)
        finally:
            if rounds.last is not None:
                self.figures = Covered(rounds.along, rounds.last.boxes, rounds.last.step)
        if cover is None:
            return "the finest grids do not decide it"
        self._covers.append(cover)
        if len(self._covers) < len(self._plan.parts):
            self._rounds = None
        return ""

    def _begin(self) -> str:
        """Look at sampled runs of the next part; why there is nothing to do."""
        question, names = self.question, self._plan.parts[len(self._covers)]
        span = window(question.asked)
        assert span is not None
        first, last, holds = span
        try:
            axes = Axes(part_of(self._plan.base, names, self._known()) if names else self._plan.base)
        except (ValueError, OverflowError) as error:
            return str(error)
        runs = sampled(axes.system, axes.names, axes.noise, _STEPS if last is None else min(last, _STEPS))
        if runs is None:
            return "no runs were found that tell how wide sets are"
        wrong = FALSE if self._covers else nnf(holds, negate=True)
        inside = question.inside or bool(self._covers)
        self._rounds = Rounds(Task(axes, first, last, wrong, question.semantics == "float32", inside), runs)
        return ""

    def _known(self) -> dict[str, tuple[Fraction, Fraction]]:
        """Ranges of variables that covers before have shown; checks may meet somewhat wider ones."""
        known = unmoved(self._plan.base)
        for cover in self._covers:
            for name, (low, high) in cover.reached().items():
                more = (high - low + abs(high) + abs(low)) * _WIDER
                known[name] = low - more, high + more
        return known


COVERS = CoverSearch()
