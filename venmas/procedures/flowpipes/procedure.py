"""Zonotopes over all steps from boxes of initial states, which are cut where that fails: smooth parts and choices.

    boxes := those around the initial sets, followed with coarse enclosures
    while there are boxes, the last ones first, a batch of equal fineness at a time:
        follow them through the steps that the formula looks at          (`run`, `venmas.bounds.affine`)
            networks by DeepZ, flows by Taylor series with a remainder, one affine form a variable
            a set of states for each branch that some of them can take; too many sets: near ones become one
        in each step: the target's atoms on these forms; a box is dropped as soon as it can not be refuted    (`target`)
        refuted on a box: done with it
        else: once, some boxes on: runs in floats, of which those that meet the target are replayed      (`falsify`)
              cut the box across the initial value that moves most what stayed open, or where rather the enclosure
              is what is wide, or a flow is not shown to exist from its middle: more slices, substeps, symbols
                                                                                                  (`refine`, `tree`)
    where noise is to bring something about, each box has constants for it                                  (`choose`)

Zonotopes along hybrid systems after Girard (HSCC 2005), networks in them after Singh et al. (NeurIPS 2018); cuts by
influence after ReluVal (Wang et al., USENIX Security 2018). Boxes are never merged: each has its own runs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np

from venmas.answer import Answer, Proved, Remaining, Unknown
from venmas.bounds.rounding import Bools, Floats, Index
from venmas.budget import Budget, BudgetError
from venmas.checker.flowpipes.tree import initial_box
from venmas.errors import Reason
from venmas.logic import Bounded
from venmas.model.expressions.smooth_nodes import Extremum
from venmas.model.system.disturbances import ahead
from venmas.model.system.variables import Box
from venmas.procedure import Run
from venmas.procedures.flowpipes.choose import choose, hopeless, with_noise
from venmas.procedures.flowpipes.plan import Plan
from venmas.procedures.flowpipes.proof import Flowpipes, written
from venmas.procedures.flowpipes.reach import forks, unfollowed, unsuited
from venmas.procedures.flowpipes.refine import Failed, Part, Refining
from venmas.procedures.flowpipes.run import Tube
from venmas.procedures.flowpipes.target import Verdicts
from venmas.procedures.flowpipes.tree import Tree, ladder, middle
from venmas.procedures.flowpipes.violations import Violations
from venmas.question import Question

log = logging.getLogger(__name__)

_BATCH, _FEWER = 32, 8
"""Boxes at a time; and where each of them has many sets."""
_PATIENCE, _BOXED = 60.0, 0.6
"""Part of its time for a question together with whether runs stay in their box; seconds where there is no limit."""
_LOOK, _FIRST, _LONG = 0.05, 3.0, 8
"""Seconds for a first look at what other procedures take, too, and for the first boxes of it; steps from which on it is
taken."""


@dataclass
class Followed:
    """Boxes that were followed, parts that were refuted, and candidates that were replayed.

    reach: after each step, the box of every variable over all parts that were refuted.
    """

    boxes: int = 0
    parts: int = 0
    candidates: int = 0
    reach: list[dict[str, tuple[float, float]]] = field(default_factory=list)

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("boxes", f"{self.boxes} followed, {self.parts} refuted"), ("candidates", f"{self.candidates}")]


class FlowpipeSearch:
    """The procedure."""

    name = "flowpipes"
    help = "Zonotopes over all steps, from boxes of initial states that are cut."
    smooth = chooses = True

    def accepts(self, question: Question, run: Run) -> str | None:
        """Formulas with bounds about systems of a few real variables, with smooth parts or without."""
        if question.semantics != "real":
            return "it decides for real networks"
        if not isinstance(question.asked, Bounded):
            return "it decides formulas with bounds"
        if not question.system.smooth and (why := unsuited(question)):
            return why
        if question.chosen and question.inside:
            return "what noise can bring about says nothing of other noise"
        return unfollowed(question.system)

    def eager(self, question: Question, run: Run) -> bool:
        """It opens a portfolio where nobody else takes the question."""
        return bool(question.system.smooth)

    def start(self, question: Question, run: Run) -> _Session:
        """Nothing is done yet."""
        figures: Followed = run.once("flowpipes", lambda: nullcontext(Followed()))
        return _Session(question, figures)


class _Session:
    def __init__(self, question: Question, figures: Followed) -> None:
        self.question, self.figures = question, figures
        self.system, self.plan = question.system, Plan(question.target)
        self.trees: list[Tree | None] = []
        self.leaving: set[str] = set()
        self._stack: list[Part] | None = None
        self._flight: list[Part] = []
        self._given_up: list[tuple[Part, str]] = []
        """Parts that stay open, with why."""
        self._violations = Violations(question, self.plan, figures)
        self._levels = ladder(
            bool(self.plan.names & _recorded(question)), len(self.system.branches) > 1 or forks(self.system)
        )
        self._refining = Refining(self._levels, self._exists)
        self._looked = bool(self.system.smooth)
        self._over: Answer | None = None
        self._written_here = False
        self._boxed: _Session | None = None
        self._patience = 0.0
        """Seconds that are left for the question together with whether runs stay in their box."""

    def advance(self, budget: Budget) -> Answer:
        """Decide, at first within the time of a look where other procedures take the question, too."""
        if self._over is None and self.question.chosen:
            self._over = self._brought_about(budget)
        elif self._over is None and self._looked:
            self._written_here = not self.system.smooth
            self._over = self._both(budget, budget.whole)
        if self._over is not None:
            return self._over
        self._looked = True
        found = budget.spend(_FIRST, self._look) if self._worth_a_look else None
        if isinstance(found, Proved) and found.proof is not None:  # a proof is written in more than the time of a look
            found = self._over = written(found, self.question.boxed, budget)
        return found or Unknown(Reason.OPEN, f"{self.figures.boxes} boxes did not decide it at a first look")

    def _look(self, whole: Budget) -> Answer | None:
        """The first boxes, which may take longer, and some of their parts."""
        return whole.spend(_LOOK, lambda part: self._both(part, whole))

    @property
    def _worth_a_look(self) -> bool:
        """Do unrolled loops take longer than a look?"""
        return len(self.system.branches) == 1 and self.plan.steps >= _LONG

    def _both(self, budget: Budget, tick: Budget) -> Answer:
        """Decide. What is to be certified is asked together with whether runs stay in their box.

        tick: what ends work on a batch, which is lost then.
        """
        if self.question.certified and not self.question.inside:
            if self._boxed is None:
                self._boxed = _Session(self.question.boxed, self.figures)
                left = budget.whole.left
                self._patience = _PATIENCE if left is None else _BOXED * left
            begun, boxed = budget.spent, self._boxed
            try:
                found = budget.spend(self._patience, lambda part: boxed._decide(part, tick))
            finally:  # also where the turn ends sooner
                self._patience -= budget.spent - begun
            if found:
                self._patience = 0.0
            if isinstance(found, Proved):
                return written(found, self.question.boxed, budget.whole) if self._written_here else found
        return self._decide(budget, tick)

    def _brought_about(self, budget: Budget) -> Answer:
        """Decide what noise can bring about. Whether runs stay in their box is a question about all noise."""
        answer = self._decide(budget, budget)
        if not isinstance(answer, Proved):
            return answer
        if self.question.certified:
            boxed = _Session(self.question.staying(self.system.variables), self.figures)
            if isinstance(boxed._decide(budget, budget), Proved):
                both = Flowpipes((*self._proof().trees, *boxed._proof().trees))
                return replace(answer, leaving=frozenset(), inside=True, proof=both)
        return replace(answer, leaving=self._moved - self.question.chosen.keys())

    @property
    def complete(self) -> bool:
        """Is every part of the initial sets refuted, so that `figures.reach` is of all runs?"""
        return self._stack == [] and all(tree is None or tree.proof() is not None for tree in self.trees)

    def remaining(self) -> Remaining | None:
        """The boxes that are not refuted; None before any is followed."""
        if self._stack is None:
            return None if self._boxed is None else self._boxed.remaining()
        parts = [*self._stack, *self._flight, *(part for part, _ in self._given_up)]
        steps = min((part.reached for part in parts), default=self.plan.steps)
        return Remaining(tuple(part.box for part in parts), None if steps < 0 else steps, frozenset(self.leaving))

    def _decide(self, budget: Budget, tick: Budget) -> Answer:
        if self._stack is None:
            self._stack = self._roots()
        if (over := self._hopeless()) is not None:  # the last budget ended before it was said
            return over
        while self._stack:
            (budget if self.figures.boxes else tick)()
            self._flight = self._take()
            try:
                answer = self._batch(self._flight, tick)
            except BudgetError:
                self._stack.extend(reversed(self._flight))
                self._flight = []
                raise
            if answer is not None:
                return answer
        log.info("decided by %d boxes", self.figures.boxes)
        inside = self.question.inside
        proof = self._proof() if inside and self.question.certified else None
        return Proved("bounds", frozenset(self.leaving), self.system.may_deadlock, inside=inside, proof=proof)

    def _batch(self, open_: list[Part], budget: Budget) -> Answer | None:
        """Follow some boxes and put back what stays open of them; what is done with is taken out of `open_`."""
        assert self._stack is not None
        violations = self._violations
        if self.question.chosen and (state := choose(self.question, self.plan, open_, budget)):
            found = violations.replayed([(state, [])], budget)
            return found or Unknown(Reason.OPEN, hopeless(self.question, state))
        failed = [(part, why) for part, why in zip(open_, self._follow(open_, budget), strict=True) if why]
        open_[:] = [part for part, _ in failed]
        if failed and not self.question.chosen:
            found = violations.of([(part, why.certain) for part, why in failed], self.figures.boxes, budget)
            if found is not None:
                return found
        for part, why in reversed(failed):
            problem = self._refine(part, why)
            open_.pop()
            if problem:
                self._given_up.append((part, problem))
                found = violations.replayed([(middle(self.system, part.box), [])], budget)
                if found is not None:
                    return found
        self._stack.sort(key=lambda part: part.tried is not None)  # others learn from a trial
        return self._hopeless()

    def _hopeless(self) -> Unknown | None:
        """The answer where a part was given up."""
        leaving, tie = frozenset(self.leaving), self._violations.tie
        if not self._given_up:
            return None
        return Unknown(Reason.TIE, tie, leaving) if tie else Unknown(Reason.OPEN, self._given_up[-1][1], leaving)

    def _roots(self) -> list[Part]:
        """The boxes around the initial sets."""
        found = []
        for region in self.system.regions:
            box = initial_box(self.system, region)
            tree = None if box is None else Tree()
            self.trees.append(tree)
            if box is not None and tree is not None:
                found.append(Part(tree, 0, dict(zip(self.system.variables, box, strict=True))))
        return found[::-1]

    def _proof(self) -> Flowpipes:
        """Cuts of the initial sets."""
        return Flowpipes(tuple(None if tree is None else tree.proof() for tree in self.trees))

    def _take(self) -> list[Part]:
        """The last boxes of one level."""
        assert self._stack
        level = self._stack[-1].level
        batch: list[Part] = []
        rest: list[Part] = []
        while self._stack and len(batch) < (_BATCH if not self._levels[0].sets else _FEWER):
            part = self._stack.pop()
            (batch if part.level == level else rest).append(part)
        self._stack.extend(reversed(rest))
        return batch

    # -- one batch -----------------------------------------------------------------------------------------------------

    def _follow(self, batch: list[Part], budget: Budget) -> list[Failed | None]:
        """Why each box is not refuted; None where it is."""
        boxes = [with_noise(part, self.question.chosen) for part in batch]
        tube = Tube(self.system, boxes, self._levels[batch[0].level])
        verdicts = Verdicts(self.plan, len(batch))
        result: list[Failed | None] = [None] * len(batch)
        alive = np.ones(len(batch), dtype=bool)
        moves, besides = np.zeros((len(batch), len(tube.axes))), np.zeros(len(batch))
        radii: list[Floats] = []
        seen: list[tuple[Index, Mapping[str, tuple[Floats, Floats]]]] = []
        for step in range(self.plan.steps + 1):
            budget()
            before = tube.boxes, *tube.moved_most()
            if step:
                verdicts.follow(tube, tube.advance())
            open_, more, further, radius = verdicts.look(tube)
            np.add.at(moves, tube.boxes, more)
            np.add.at(besides, tube.boxes, further)
            broken = np.zeros(len(batch), dtype=bool)
            broken[tube.boxes[tube.ring.broken]] = True
            radii.append(np.where(alive, 0.0, np.inf))
            np.maximum.at(radii[-1], tube.boxes, np.where(tube.ring.broken | np.isnan(radius), np.inf, radius))
            last = step == self.plan.steps
            yes, no = verdicts.fold(hoped=not last) if open_.any() or last else (~alive, alive)
            failing = alive & (broken | ~no)
            for i in np.flatnonzero(failing).tolist():
                if broken[i]:
                    moves[i], besides[i] = (part[before[0] == i].sum(0) for part in before[1:])
                result[i] = Failed(
                    step,
                    tube.axes,
                    float(radii[-1][i]),
                    moves[i],
                    float(besides[i]),
                    bool(broken[i]),
                    bool(yes[i] and not broken[i]),
                )
            if failing.any():
                alive &= ~failing
                left = np.flatnonzero(alive[tube.boxes])
                if not alive.any():
                    break
                tube.keep(left)
                verdicts.keep(left)
            seen.append((tube.boxes, tube.ends()))
        self.figures.boxes += len(batch)
        for i, (part, failed) in enumerate(zip(batch, result, strict=True)):
            if failed is None:
                part.tree.fine[part.node] = self._levels[part.level]
                self.figures.parts += 1
            if part.tried is not None:
                self._refining.tried(part, failed is None or part.better(radii, i))
        self._note(seen, np.array([failed is None for failed in result]))
        return result

    def _note(self, seen: list[tuple[Index, Mapping[str, tuple[Floats, Floats]]]], refuted: Bools) -> None:
        """What boxes that were refuted reach, and what may leave its declared range from there."""
        for step, (rows, ends) in enumerate(seen):
            mask = refuted[rows]
            if not mask.any():
                continue
            hull = {name: (float(lo[mask].min()), float(hi[mask].max())) for name, (lo, hi) in ends.items()}
            if step == len(self.figures.reach):
                self.figures.reach.append(hull)
            else:
                known = self.figures.reach[step]
                self.figures.reach[step] = {n: (min(a, known[n][0]), max(b, known[n][1])) for n, (a, b) in hull.items()}
            for name, (low, high) in hull.items() if step else ():
                decl = self.system.variables[name]
                if not (decl.lower <= low and high <= decl.upper) and name in self._moved:
                    self.leaving.add(name)

    @property
    def _moved(self) -> frozenset[str]:
        return frozenset(n for branch in self.system.branches for n, _ in branch.updates if not ahead(n))

    def _refine(self, part: Part, why: Failed) -> str | None:
        """Put a box that failed back, in two parts or with finer enclosures; why neither is possible."""
        assert self._stack is not None
        found = self._refining.after(part, why)
        if found is None:
            return "a box of initial states that is nearly a point stays open with the finest enclosures"
        reached = part.reached if why.broken else max(part.reached, why.step - 1)
        if isinstance(found, Part):
            self._stack.append(replace(found, reached=reached))
            return None
        halves = part.tree.split(self.system, part.node, part.box, found)
        kept = self._refining.level_of(part)
        below = replace(part, level=kept, tried=None, depth=part.depth + 1, reached=reached)
        parts = [replace(below, node=n, box=box) for n, box in halves]
        self._stack.extend(reversed(parts))
        return None

    def _exists(self, box: Box, level: int) -> bool:
        """Do all runs from the middle of a box exist for as long as is asked, as far as a level tells?"""
        tube = Tube(self.system, [{n: (at, at) for n, at in middle(self.system, box).items()}], self._levels[level])
        for _ in range(self.plan.steps):
            if tube.ring.size and not tube.ring.broken.any():
                tube.advance()
        return not tube.ring.broken.any()


def _recorded(question: Question) -> frozenset[str]:
    """The variables that record what is between steps."""
    return frozenset(n for b in question.system.branches for n, e in b.updates if isinstance(e, Extremum))


FLOWPIPES = FlowpipeSearch()
