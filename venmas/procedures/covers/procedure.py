"""Covers: AG p, for ever or in a window of steps, by boxes on a grid in skew coordinates, cut anew every few steps.

    runs in floats: how wide sets of states are, and coordinates that suit them             (`sampled`, `frame`)
    for finer and finer grids, in each of these coordinates, with 1, 2 and 4 steps at a time:
        sets := parts of the boxes around the initial sets                                  (`cover`)
        repeat: zonotopes follow all sets for these steps; p in all of them, else: too coarse, or, where few are
                open, cells that lead to these are cut, and what changed is followed again  (`layers`)
                sets := in each cell of the grid, the box around what zonotopes have in it  (`paving`)
                where p is asked from here on: together with what was reached before; nothing is new: proved

Only what p depends on is covered first. Of the other variables it is shown then that they keep to their ranges: in
parts, for which whatever they read is noise (`plan`); on finer grids and with what they read, where that is too much.
The first parts are one, where a zonotope of all variables shows p and these ranges in all steps (`together`).

Noise is an input of each step. A zonotope around all that noise and a network may do in many steps is too wide; cells
keep sets of any shape, and a box in each of them, rather than the whole cell, keeps their edges. Grids become finer
as sets become smaller. Cell-to-cell mapping (Hsu, 1980) and subpavings (Kieffer, Jaulin, Walter, 2002), with zonotopes
in between (Girard, HSCC 2005).

Where noise makes what comes of a cell wider than some cells, or variables make cells many, their union is no better
than a convex set: `polyhedra` does the same with the cells of one template polyhedron in place of unions of boxes
(Sankaranarayanan, Sipma, Manna, VMCAI 2005).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from venmas.answer import Answer, Proved, Remaining, Unknown
from venmas.bounds.rounding import Floats
from venmas.budget import Budget, limited
from venmas.checker.covers.grid import Axes
from venmas.errors import Reason
from venmas.logic import FALSE, nnf
from venmas.logic.window import window
from venmas.model.evaluation.regions import bounding_box
from venmas.model.system.disturbances import drawn
from venmas.model.system.variables import Box
from venmas.procedure import Run
from venmas.procedures.covers.cover import Cover
from venmas.procedures.covers.following import Following, Task
from venmas.procedures.covers.frame import Frame, widened
from venmas.procedures.covers.plan import Plan
from venmas.procedures.covers.polyhedra import Polyhedra
from venmas.procedures.covers.proof import written
from venmas.procedures.covers.rounds import Rounds, Way
from venmas.procedures.covers.sampled import sampled
from venmas.procedures.covers.together import together
from venmas.question import Question

_STEPS = 200
"""Steps of sampled runs, at most."""
_SHORT = 5
"""Steps below which sets are followed as well without a grid."""
_MANY = 4
"""Variables of what is for polyhedra, at least."""
_GRID, _WIDE = 12, 64
"""Cells along each coordinate, and how many noise makes of one in a step where polyhedra lead farther than covers."""
_LONG = 10
"""Steps from which on it is tried before others have long turns."""
_PATIENCE, _JOINT = 10.0, 10.0
"""Seconds where there is no limit; and for the first parts as one, at most."""
_OTHERS = 1.0
"""Seconds for the ranges of each part that p does not depend on, besides as many as all took so far, or two or three
times as many where they are covered for the second or third time."""
_SOON = 4.0
"""The latter at most where parts are covered for the first time."""
_LEVELS = (0, 18, 40)
"""Cells along each coordinate of parts that are covered for the first time, on any grid, the second time, .."""
_WIDER = Fraction(1, 10**6)
"""Part of the size of a range by which it is widened for the next parts."""


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
    smooth = noisy = True

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


class PolyhedraSearch(CoverSearch):
    """The same with one polyhedron a layer, of systems that have as many variables as make cells many."""

    name = "polyhedra"
    help = "Template polyhedra, around all states that runs reach."

    def accepts(self, question: Question, run: Run) -> str | None:
        """Questions that covers take, about four real variables and more."""
        if why := super().accepts(question, run):
            return why
        plan = Plan(question)
        few = f"it is for {_MANY} variables and more that change and that p depends on"
        return few if plan.size < _MANY else None

    def start(self, question: Question, run: Run) -> CoverSession:
        """Nothing is done yet."""
        return CoverSession(question, Polyhedra)


@dataclass
class _Part:
    """Variables, the rounds that cover them, and the cover that shows what is asked, once there is one."""

    names: tuple[str, ...]
    rounds: Rounds
    cover: Following | None = None


class CoverSession:
    """Covers of all that p depends on; then of the other variables, which might leave their ranges.

    What parts read is noise to them. Where that is too much, all are covered again, on finer grids, so that more is
    known of it, and with what they read of parts before (`venmas.checker.covers.parts`). Another process may follow
    some of the sets.
    """

    helped = True

    def __init__(self, question: Question, sets: Callable[[Task, Frame, int, int, Floats], Following] = Cover) -> None:
        self._sets = sets
        """Of the first part; of others covers are made."""
        self.question, self.figures, self._plan = question, Covered(), Plan(question)
        self._done: list[_Part] = []
        self._open: _Part | None = None
        """The part that is begun."""
        self._first: _Part | None = None
        """The first part as it was covered first, where all are covered again."""
        self._level, self._spent = 0, 0.0
        self._new, self._together = True, False
        """Is nothing begun? Are the first parts one?"""
        self._roots: tuple[Box, ...] = ()
        self._wide = False
        """Does noise make many cells of one?"""
        self.unwritten: Proved | None = None
        """The answer, before its proof is written down."""

    def leaves(self) -> bool:
        """Is it to go on in another process? The one of covers and polyhedra that is expected to lead farther is."""
        return self._wide == (self._sets is Polyhedra)

    @property
    def proved(self) -> float:
        """Part of its time that is over, if the cover that is expected to end first ends as expected."""
        return self._open.rounds.proved if self._open is not None else 0.0

    def remaining(self) -> Remaining | None:
        """All initial states, and the steps up to which a cover was followed; None before any is."""
        first = self._first or next(iter(self._done), self._open)
        if first is None or first.rounds.reached is None:
            return None
        steps, leaving = first.rounds.reached
        return Remaining(self._roots, steps, leaving)

    def advance(self, budget: Budget) -> Answer:
        """Cover what is reached on finer and finer grids; others come after a while where there is no limit."""
        if budget.left is not None:
            return self._covered(budget)
        return budget.spend(_PATIENCE, self._covered) or Unknown(Reason.OPEN, "no grid decided it in a while")

    def _covered(self, budget: Budget) -> Answer:
        question = self.question
        while True:
            while (why := self._all(budget)) and self._done and self._again():
                pass
            if why and (question.inside or not self._done):
                return Unknown(Reason.OPEN, why)
            answer = self._proved()
            if answer.leaving or not question.certified:
                return answer
            self.unwritten = answer
            made = written(answer, question, [(one.names, cover.grid()) for one, cover in self._covers()], budget.whole)
            if not isinstance(made, int):
                return made
            self._open = replace(self._done[made], cover=None)  # it goes on with the part that was refused
            self._first = self._first if made else None  # nor is that taken again
            del self._done[made:]
            if not made and self._together:
                self._parted()

    def _covers(self) -> list[tuple[_Part, Following]]:
        return [(one, one.cover) for one in self._done if one.cover is not None]

    def _proved(self) -> Proved:
        """The answer that follows from the covers."""
        question, plan = self.question, self._plan
        left = {*plan.rest, *(name for part in plan.parts[len(self._done) :] for name in part)}
        leaving = frozenset().union(left, *(cover.leaving for _, cover in self._covers()))
        inside = question.inside or (question.certified and not leaving)
        deadlock = drawn(plan.loop.system, 1).may_deadlock
        return Proved("bounds", leaving, deadlock, inside=inside)

    def _all(self, budget: Budget) -> str:
        """Cover all parts; why one of them is not, if so: those that p does not depend on are not tried for long."""
        if self._new:
            boxes = (bounding_box(self.question.system, region) for region in self.question.system.regions)
            self._roots = tuple(box for box in boxes if box is not None)
            self._new = False
            if self._sets is Cover:  # not gone on with later
                budget.whole.spend(_JOINT, self._joined)
        last = self.question.inside and self._level + 1 == len(_LEVELS)
        while (number := len(self._done)) < len(self._plan.parts):
            if last if number else self._first is None:
                why: str | None = self._part(budget)
            else:
                seconds = (1 + self._level) * self._spent if self._level else min(_SOON, self._spent)
                why = budget.spend(_OTHERS + seconds, self._part)
            if why != "":
                if number or self._first is None:
                    return why or "it takes longer"
                self._done, self._open = [self._first], None
        return ""

    def _joined(self, budget: Budget) -> None:
        """Begin with the first parts as one, if a zonotope of all variables shows p and that these keep to their
        ranges."""
        span, begun = window(self.question.asked), budget.spent
        assert span is not None
        try:
            with limited(budget):
                made = together(self._plan, span, self.question.semantics == "float32")
            if made is None:
                return
            count, task, runs = made
            assert task.last is not None
            rounds = Rounds(task.axes.names, runs, partial(Cover, task), Way(0, task.last, 1))
            cover = rounds.covered(budget)
        finally:
            self._spent += budget.spent - begun
        if cover is not None:
            self._together = True
            self._plan.joins(count)
            self._done = [_Part(self._plan.parts[0], rounds, cover)]
            self.figures = Covered(rounds.way.along, cover.boxes, cover.step)

    def _parted(self) -> None:
        """Begin again with all parts alone."""
        self._plan, self._done, self._first, self._open = Plan(self.question), [], None, None
        self._together, self._level = False, 0

    def _again(self) -> bool:
        """Begin again with more cells along each coordinate, or more parts; False where that is no use."""
        if self._level + 1 == len(_LEVELS) or self._plan.rest:
            if more := self._together:
                self._parted()
            return more
        self._level += 1
        self._first, self._open = self._first or self._done[0], None
        del self._done[self._together or self._done[0].rounds.way.along >= _LEVELS[self._level] :]
        return True

    def _part(self, budget: Budget) -> str:
        """Cover the next part; why it is not covered, if so."""
        if self._open is None:
            with limited(budget.whole):  # not gone on with later
                if why := self._begin():
                    return why
        one, begun = self._open, budget.spent
        assert one is not None
        try:
            one.cover = one.rounds.covered(budget)
        finally:
            self._spent += budget.spent - begun
            if one.rounds.last is not None:
                self.figures = Covered(one.rounds.way.along, one.rounds.last.boxes, one.rounds.last.step)
        if one.cover is None:
            return "the finest grids do not decide it"
        self._done.append(one)
        self._open = None
        return ""

    def _begin(self) -> str:
        """Look at sampled runs of the next part; why there is nothing to do."""
        question, loop, number = self.question, self._plan.loop, len(self._done)
        names = self._plan.part(number, self._level > 0)
        span = window(question.asked)
        assert span is not None
        first, last, holds = span
        try:
            axes = loop.part(names, self._known()) if names else Axes(loop.system)
        except (ValueError, OverflowError) as error:
            return str(error)
        runs = sampled(axes.system, axes.names, axes.noise, _STEPS if last is None else min(last, _STEPS))
        if runs is None:
            return "no runs were found that tell how wide sets are"
        wrong = FALSE if number else nnf(holds, negate=True)
        if not number and self._plan.size >= _MANY:
            self._wide = float(np.prod(1 + _GRID * widened(runs))) > _WIDE
        task = Task(axes, first, last, wrong, question.semantics == "float32", question.inside or number > 0)
        way = self._first.rounds.way if self._first is not None and not number else Way(0, 1, 0)
        only = way._replace(along=_LEVELS[self._level]) if self._level else None
        self._open = _Part(names, Rounds(axes.names, runs, partial(Cover if number else self._sets, task), only))
        return ""

    def _known(self) -> dict[str, tuple[Fraction, Fraction]]:
        """Ranges of variables that covers before have shown; checks may meet somewhat wider ones."""
        known = dict(self._plan.loop.unmoved)
        for _, cover in self._covers():
            for name, (low, high) in cover.reached().items():
                more = (high - low + abs(high) + abs(low)) * _WIDER
                known.setdefault(name, (low - more, high + more))
        return known


COVERS = CoverSearch()
POLYHEDRA = PolyhedraSearch()
