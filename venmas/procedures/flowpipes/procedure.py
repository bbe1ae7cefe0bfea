"""Systems with smooth parts: zonotopes over all steps from boxes of initial states, which are cut where that fails.

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
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from venmas.answer import Answer, Proved, Remaining, Unknown, Violated
from venmas.bounds.rounding import Bools, Floats, Index
from venmas.budget import Budget
from venmas.checker.flowpipes.tree import initial_box
from venmas.errors import Reason
from venmas.logic import Bounded
from venmas.model.expressions.smooth_nodes import Extremum
from venmas.model.system.variables import Box
from venmas.model.witness.build import explain
from venmas.model.witness.enclosed import UndecidedError
from venmas.model.witness.tree import Witness
from venmas.procedure import Run
from venmas.procedures.flowpipes.choose import choose, hopeless, middle, with_noise
from venmas.procedures.flowpipes.falsify import candidates
from venmas.procedures.flowpipes.plan import Plan
from venmas.procedures.flowpipes.proof import Flowpipes
from venmas.procedures.flowpipes.reach import unfollowed
from venmas.procedures.flowpipes.refine import Failed, Part, Refining
from venmas.procedures.flowpipes.run import Tube
from venmas.procedures.flowpipes.target import Verdicts
from venmas.procedures.flowpipes.tree import Tree, ladder
from venmas.question import Question

log = logging.getLogger(__name__)

_BATCH, _FEWER = 32, 8
"""Boxes at a time; and where each of them has many sets."""
_RUNS, _DEEPER = 0.1, 4
"""Part of its time for looking for violations; how many times longer it takes where no sample shows one."""
_PATIENCE, _BOXED = 60.0, 0.6
"""Part of its time for a question together with whether runs stay in their box; seconds where there is no limit."""
_REPLAY = 0.4
"""Part of its time for all runs from one state, where there are many."""


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
    help = "Zonotopes over all steps of systems with smooth parts, from boxes of initial states that are cut."
    smooth = True

    def accepts(self, question: Question, run: Run) -> str | None:
        """Formulas with bounds about systems with smooth parts."""
        if question.semantics != "real":
            return "it decides for real networks"
        if not isinstance(question.asked, Bounded):
            return "it decides formulas with bounds"
        if question.chosen and question.inside:
            return "what noise can bring about says nothing of other noise"
        return unfollowed(question.system)

    def eager(self, question: Question, run: Run) -> bool:
        """It opens a portfolio."""
        return True

    def start(self, question: Question, run: Run) -> _Session:
        """Nothing is done yet."""
        figures: Followed = run.once("flowpipes", lambda: nullcontext(Followed()))
        return _Session(question, figures)


class _Session:
    struggling = False

    def __init__(self, question: Question, figures: Followed) -> None:
        self.question, self.figures = question, figures
        self.system, self.plan = question.system, Plan(question.target)
        self.trees: list[Tree | None] = []
        self.leaving: set[str] = set()
        self._stack: list[Part] | None = None
        self._flight: list[Part] = []
        self._boxed: _Session | None = None
        self._next_runs = self._begun = 0.0
        self._levels = ladder(bool(self.plan.names & _recorded(question)), len(self.system.branches) > 1)
        self._refining = Refining(self._levels, self._exists)
        self._tie = ""

    def advance(self, budget: Budget) -> Answer:
        """Decide. What is to be certified is asked together with whether runs stay in their box."""
        if self.question.chosen:
            return self._brought_about(budget)
        if self.question.certified and not self.question.inside:
            boxed = self._boxed = _Session(self.question.boxed, self.figures)
            share = _PATIENCE if budget.left is None else _BOXED * budget.left
            found = budget.spend(share, boxed._decide)
            if isinstance(found, Proved):
                return found
        return self._decide(budget)

    def _brought_about(self, budget: Budget) -> Answer:
        """Decide what noise can bring about. Whether runs stay in their box is a question about all noise."""
        answer = self._decide(budget)
        if not isinstance(answer, Proved):
            return answer
        if self.question.certified:
            boxed = _Session(self.question.staying(self.system.variables), self.figures)
            if isinstance(boxed._decide(budget), Proved):
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
        parts = [*self._stack, *self._flight]
        steps = min((part.reached for part in parts), default=self.plan.steps)
        return Remaining(tuple(part.box for part in parts), None if steps < 0 else steps, frozenset(self.leaving))

    def _decide(self, budget: Budget) -> Answer:
        if self._stack is None:
            self._stack, self._begun = self._roots(), budget.spent
        while self._stack:
            budget()
            batch = self._flight = self._take()
            if self.question.chosen and (state := choose(self.question, self.plan, batch, budget)):
                return self._replayed([(state, [])], budget) or Unknown(Reason.OPEN, hopeless(self.question, state))
            stuck = None
            failed = [(part, why) for part, why in zip(batch, self._follow(batch, budget), strict=True) if why]
            if failed and not self.question.chosen:
                found = self._violated([(part, why.certain) for part, why in failed], budget)
                if found is not None:
                    return found
            for part, why in reversed(failed):
                if problem := self._refine(part, why):
                    stuck, found = problem, self._replayed([(middle(self.system, part.box), [])], budget)
                    if found is not None:
                        return found
            self._stack.sort(key=lambda part: part.tried is not None)  # others learn from a trial
            self._flight = [] if stuck is None else self._flight
            if stuck:
                leaving = frozenset(self.leaving)
                return Unknown(Reason.TIE, self._tie, leaving) if self._tie else Unknown(Reason.OPEN, stuck, leaving)
        log.info("decided by %d boxes", self.figures.boxes)
        inside = self.question.inside
        proof = self._proof() if inside and self.question.certified else None
        return Proved("bounds", frozenset(self.leaving), self.system.may_deadlock, inside=inside, proof=proof)

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
        """How the initial sets were cut."""
        return Flowpipes(tuple(None if tree is None else tree.proof() for tree in self.trees))

    def _take(self) -> list[Part]:
        """The last boxes of one level."""
        assert self._stack
        level = self._stack[-1].level
        batch: list[Part] = []
        rest: list[Part] = []
        while self._stack and len(batch) < (_BATCH if len(self.system.branches) == 1 else _FEWER):
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
        return frozenset(name for branch in self.system.branches for name, _ in branch.updates)

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

    # -- violations ----------------------------------------------------------------------------------------------------

    def _violated(self, failed: list[tuple[Part, bool]], budget: Budget) -> Answer | None:
        """A witness from boxes that failed, looked for less and less often."""
        points: list[tuple[dict[str, Fraction], list[str]]] = []
        points += [(middle(self.system, part.box), []) for part, sure in failed if sure][:1]
        begun = budget.spent
        if self._next_runs <= _RUNS * (begun - self._begun):
            boxes = [part.box for part, _ in failed]
            points += candidates(self.system, self.plan, boxes, budget, self.figures.boxes, self._next_runs > 0)
            self._next_runs += _DEEPER * (budget.spent - begun)
        return self._replayed(points, budget)

    def _replayed(
        self, points: Sequence[tuple[Mapping[str, Fraction], Sequence[str]]], budget: Budget
    ) -> Answer | None:
        """The witness from the first initial state that has one, each with the branches that its run may take."""
        for point, path in points:
            if not any(all(c.holds(point) for c in region) for region in self.system.regions):
                continue
            self.figures.candidates += 1
            try:
                witness = self._explained(point, path, budget)
            except UndecidedError as error:
                self._tie = str(error)
                continue
            if witness is not None:
                return Violated(witness)
        return None

    def _explained(self, point: Mapping[str, Fraction], path: Sequence[str], budget: Budget) -> Witness | None:
        """The witness from a state; where it takes too long to look at all runs from it, there is none."""

        def found(part: Budget) -> Witness | None:
            target, noise = self.question.target, self.question.chosen
            return explain(self.system, target, point, hints=path, tick=part, noise=noise)

        if len(self.system.branches) == 1:
            return found(budget)
        return budget.spend(_PATIENCE if budget.left is None else _REPLAY * budget.left, found)


def _recorded(question: Question) -> frozenset[str]:
    """The variables that record what is between steps."""
    return frozenset(n for b in question.system.branches for n, e in b.updates if isinstance(e, Extremum))


FLOWPIPES = FlowpipeSearch()
