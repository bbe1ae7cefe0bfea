"""Covers: AG p, for ever or in a window of steps, by boxes on a grid in skew coordinates, cut anew every few steps.

    runs in floats: how wide sets of states are, and coordinates that suit them             (`sampled`, `frame`)
    for finer and finer grids, in each of these coordinates, with 1, 2 and 4 steps at a time:
        sets := parts of the boxes around the initial sets                                  (`cover`)
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

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

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
from venmas.procedures.covers.cover import CoarseError, Cover, Task
from venmas.procedures.covers.frame import Frame, frames
from venmas.procedures.covers.plan import Plan
from venmas.procedures.covers.proof import written
from venmas.procedures.covers.sampled import sampled
from venmas.question import Question

_ALONG = (2, 3, 5, 8, 12, 18, 27, 40, 60, 90)
"""Cells along what runs reach of a coordinate."""
_MANY = 4
"""Coordinates from which on the first grid decides too little for its time."""
_STRIDES = (1, 2, 4)
_WAYS = (5, 4, 3, 2, 1)
"""Frames with numbers of steps at a time that are tried on the second grid, the third, .."""
_LONGER, _WAITING = 2, 6
"""Covers that go on in the next round, and those that may in a later one."""
_FEW, _OPEN = 0.005, 0.1
"""Shares of sets that are open, up to which cells that lead to them are cut: at once, and where none is farther."""
_FAR = 60
"""Steps that are expected where all are asked about."""
_FIRST = 0.3
"""Seconds for a cover on the first grid; on each finer one, twice as many."""
_STEPS = 200
"""Steps of sampled runs, at most."""
_SHORT = 5
"""Steps below which sets are followed as well without a grid."""
_LONG = 10
"""Steps from which on it is tried before others have long turns."""
_PATIENCE = 10.0
"""Seconds where there is no limit."""
_OTHERS = 1.0
"""Seconds for the ranges of each part that p does not depend on, besides as many as all took so far."""
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
        self._rounds: list[Rounds] = []
        self._covers: list[Cover] = []
        """Of the parts so far; of the last one there may be no cover yet."""
        self._spent = 0.0
        self._roots: tuple[Box, ...] = ()

    @property
    def proved(self) -> float:
        """Part of its time that is over, if the cover that is expected to end first ends as expected."""
        return self._rounds[-1].proved if self._rounds else 0.0

    def remaining(self) -> Remaining | None:
        """All initial states, and the steps up to which a cover was followed; None before any is."""
        if not self._rounds or self._rounds[0].reached is None:
            return None
        steps, leaving = self._rounds[0].reached
        return Remaining(self._roots, steps, leaving)

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
            if not isinstance(made, int):
                return made
            del self._covers[made:], self._rounds[made + 1 :]  # it goes on with the part that was refused

    def _proved(self) -> Proved:
        """The answer that follows from the covers."""
        question, plan = self.question, self._plan
        left = {*plan.rest, *(name for part in plan.parts[len(self._covers) :] for name in part)}
        leaving = frozenset().union(left, *(cover.leaving for cover in self._covers))
        inside = question.inside or (question.certified and not leaving)
        deadlock = drawn(plan.loop.system, 1).may_deadlock
        return Proved("bounds", leaving, deadlock, inside=inside)

    def _other(self, budget: Budget) -> str:
        """The same of variables that p does not depend on, not for long: p is proved."""
        why = budget.spend(_OTHERS + self._spent, self._part)
        return "it takes longer" if why is None else why

    def _part(self, budget: Budget) -> str:
        """Cover the next part; why it is not covered, if so."""
        if len(self._rounds) == len(self._covers):
            with limited(budget.whole):  # not gone on with later
                if why := self._begin():
                    return why
        rounds, begun = self._rounds[-1], budget.spent
        try:
            cover = rounds.covered(budget)
        finally:
            self._spent += budget.spent - begun
            if rounds.last is not None:
                self.figures = Covered(rounds.along, rounds.last.boxes, rounds.last.step)
        if cover is None:
            return "the finest grids do not decide it"
        self._covers.append(cover)
        return ""

    def _begin(self) -> str:
        """Look at sampled runs of the next part; why there is nothing to do."""
        question, loop, names = self.question, self._plan.loop, self._plan.parts[len(self._covers)]
        span = window(question.asked)
        assert span is not None
        first, last, holds = span
        if not self._rounds:
            boxes = (bounding_box(question.system, region) for region in question.system.regions)
            self._roots = tuple(box for box in boxes if box is not None)
        try:
            axes = Axes(loop.part(names, self._known()) if names else loop.system)
        except (ValueError, OverflowError) as error:
            return str(error)
        runs = sampled(axes.system, axes.names, axes.noise, _STEPS if last is None else min(last, _STEPS))
        if runs is None:
            return "no runs were found that tell how wide sets are"
        wrong = FALSE if self._covers else nnf(holds, negate=True)
        inside = question.inside or bool(self._covers)
        self._rounds.append(Rounds(Task(axes, first, last, wrong, question.semantics == "float32", inside), runs))
        return ""

    def _known(self) -> dict[str, tuple[Fraction, Fraction]]:
        """Ranges of variables that covers before have shown; checks may meet somewhat wider ones."""
        known = dict(self._plan.loop.unmoved)
        for cover in self._covers:
            for name, (low, high) in cover.reached().items():
                more = (high - low + abs(high) + abs(low)) * _WIDER
                known[name] = low - more, high + more
        return known


@dataclass
class _Try:
    """A cover on a grid. reached: the step after which it was too coarse, or is, and less the share of sets that were
    open, all where they were too many.

    open: share of the sets that are open where it was too coarse; refined: are cells cut there?
    """

    way: tuple[Frame, int]
    along: int
    cover: Cover
    reached: tuple[int, float] = (0, 0.0)
    coarse: bool = False
    open: float = 0.0
    refined: bool = False
    spent: float = 0.0

    @property
    def expected(self) -> float:
        """Seconds that it takes in all, about."""
        last = self.cover.task.last
        return self.spent * max(1.0, (_FAR if last is None else last) / max(1, self.reached[0]))


class Rounds:
    """The rounds. runs: sampled ones (T, B, n). last: the cover that was followed last."""

    def __init__(self, task: Task, runs: Floats) -> None:
        self._task, self._runs = task, runs
        self.along = 0
        self.last: Cover | None = None
        self.reached: tuple[int, frozenset[str]] | None = None
        """Steps up to which the cover that went farthest shows it, and what may leave its range there."""
        self._along = _ALONG[1:] if len(task.axes.names) >= _MANY else _ALONG
        self._ways = [(frame, stride) for frame in frames(task.axes.names, runs) for stride in _STRIDES]
        self._round = 0
        self._seconds = _FIRST
        """Of a cover in this round."""
        self._tries = self._on(self._along[0])
        self._waiting: list[_Try] = []
        self._number, self._leads = 0, False
        """Those of the round, those that wait for another one, the number of the one at hand, and whether the first is
        expected to end."""
        self._left = self._slot

    @property
    def proved(self) -> float:
        """Part of its time that is over, if the cover that is expected to end first ends as expected."""
        left = [one.expected - one.spent for one in self._tries if one.spent and not one.coarse]
        spent = sum(one.spent for one in self._tries)
        return spent / (spent + min(left)) if left else 0.0

    def covered(self, budget: Budget) -> Cover | None:
        """The cover that shows it; None where not even the finest grids do. It goes on where a budget ended."""
        while self._tries:
            if self._number == len(self._tries):
                self._next()
                continue
            one = self._tries[self._number]
            done = self._tried(one, budget)
            self.along, self.last = one.along, one.cover
            self._number += 1
            self._left = self._slot
            if done:
                return one.cover
        return None

    def _tried(self, one: _Try, budget: Budget) -> bool:
        """Does a cover show it in its part of the time?"""
        begun, cover = budget.spent, one.cover
        try:
            done = budget.spend(self._left, lambda part: _followed(one, part))
        except CoarseError as error:
            one.reached = max(one.reached, (error.step, -error.share or -1.0))
            one.coarse, one.open = True, error.share
            return False
        finally:  # also where the turn ends sooner
            self._left -= budget.spent - begun
            one.spent += budget.spent - begun
            if cover.shown > (0 if self.reached is None else self.reached[0]):
                self.reached = cover.shown, frozenset(cover.leaving)
        one.reached, one.coarse = max(one.reached, (cover.step, 0.0)), done is not None
        return bool(done)

    def _next(self) -> None:
        """The next round: what takes longer, and the ways that led farthest on a finer grid."""
        last = [one for one in self._tries if one.along == self._along[min(self._round, len(self._along) - 1)]]
        best = sorted(last, key=lambda one: one.reached, reverse=True)
        self._ways = _kept([one.way for one in best], _WAYS[min(self._round, len(_WAYS) - 1)])
        known = [*self._tries, *self._waiting]
        # a finer grid leads farther, and more often to the end
        going = sorted((one for one in known if not one.coarse), key=lambda one: (-one.along, one.expected))
        coarse = [one for one in known if one.coarse and 0 < one.open <= _OPEN and not one.refined]
        coarse.sort(key=lambda one: one.reached, reverse=True)
        longer = [*going[:_LONGER], *coarse[:1]]
        for one in coarse[:1]:
            one.refined = True
        self._waiting = [*going[_LONGER:], *coarse[1:]][:_WAITING]
        self._round, self._number, self._seconds = self._round + 1, 0, 2 * self._seconds
        self._leads = bool(longer) and not longer[0].coarse
        self._tries = longer + (self._on(self._along[self._round]) if self._round < len(self._along) else [])
        self._left = self._slot

    @property
    def _slot(self) -> float:
        """Seconds of the cover at hand: half of the round for the one that is expected to end first."""
        return self._seconds * (max(1, len(self._tries) - 1) if self._leads and not self._number else 1)

    def _on(self, along: int) -> list[_Try]:
        return [_Try(way, along, Cover(self._task, *way, along, self._runs)) for way in self._ways]


def _kept(ways: Sequence[tuple[Frame, int]], count: int) -> list[tuple[Frame, int]]:
    """The first ways, among them one step at a time in the first frame: it loses most on a coarse grid, least on a fine
    one."""
    kept = list(ways[:count])
    single = next((way for way in ways if way[0] is ways[0][0] and way[1] == 1), None)
    return kept if single is None or single in kept or count < 2 else [*kept[:-1], single]


def _followed(one: _Try, budget: Budget) -> bool:
    cover = one.cover
    if one.coarse and not cover.back(one.open):
        raise CoarseError(one.reached[0], one.open)
    one.coarse = False
    while True:
        try:
            while not cover.advance(budget):
                pass
            return True
        except CoarseError as error:
            if error.share > (_OPEN if one.refined else _FEW) or not cover.back(error.share):
                raise


COVERS = CoverSearch()
