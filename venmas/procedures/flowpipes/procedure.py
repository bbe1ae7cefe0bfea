"""Zonotopes over all steps from boxes of initial states, which are cut where that fails: smooth parts and choices.

    boxes := those around the initial sets, followed with coarse enclosures
    while there are boxes, the last ones first, a batch of equal fineness at a time:
        follow them through the steps that the formula looks at                 (`venmas.bounds.affine.tube`)
            networks by DeepZ, or over pieces of their inputs; flows by Taylor series; one affine form a variable
            a set of states for each branch that some of them can take; too many sets: near ones become one
            over long runs of many variables: one set, open choices as affine laws    (`venmas.bounds.affine.laws`)
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
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property

import numpy as np

from venmas.answer import Answer, Proved, Remaining, Unknown
from venmas.bounds.affine.tube import Tube
from venmas.budget import Budget, BudgetError
from venmas.checker.exact.initial import initial_box
from venmas.errors import Reason
from venmas.logic import Bounded
from venmas.model.evaluation.cuts import Fineness
from venmas.model.system.disturbances import ahead
from venmas.model.system.variables import Box
from venmas.procedure import Run
from venmas.procedures.flowpipes.beam import beams
from venmas.procedures.flowpipes.choose import choose, hopeless, with_noise
from venmas.procedures.flowpipes.evolve import evolved
from venmas.procedures.flowpipes.figures import Followed
from venmas.procedures.flowpipes.hunt import hunt
from venmas.procedures.flowpipes.plan import Failed, Plan
from venmas.procedures.flowpipes.proof import Flowpipes, written
from venmas.procedures.flowpipes.reach import exist, forks, lawful, pieces, recorded, unfollowed, unsuited
from venmas.procedures.flowpipes.refine import Part, Refining
from venmas.procedures.flowpipes.target import Following, TooLongError
from venmas.procedures.flowpipes.tree import LAWFUL, Tree, ladder, middle
from venmas.procedures.flowpipes.violations import Violations
from venmas.question import Question

log = logging.getLogger(__name__)

_PART, _LAWS, _SETS = 1 / 4, 1 / 6, 1 / 16
"""Part of what is left for the first boxes of what others take, too; parts of all time for laws, and for sets after."""
_BATCH, _FEWER = 32, 8
"""Boxes at a time; and where each of them has many sets."""
_PATIENCE, _BOXED = 60.0, 0.6
"""Part of its time for a question together with whether runs stay in their box; seconds where there is no limit."""
_LOOK, _FIRST, _LONG = 0.05, 3.0, 9
"""Seconds for a first look at what other procedures take, too, and for the first boxes of it; steps from which on it is
taken."""


class FlowpipeSearch:
    """The procedure."""

    name = "flowpipes"
    help = "Zonotopes over all steps, from boxes of initial states that are cut."
    smooth = chooses = True

    def accepts(self, question: Question, run: Run) -> str | None:
        """Formulas with bounds about systems of a few real variables, with smooth parts or without."""
        if not isinstance(question.asked, Bounded):
            return "it decides formulas with bounds"
        if not question.system.smooth and (why := unsuited(question)):
            return why
        if question.chosen and question.inside:
            return "what noise can bring about says nothing of other noise"
        return unfollowed(question.system) if question.system.smooth else None  # else asked when its turn comes

    def eager(self, question: Question, run: Run) -> bool:
        """It opens a portfolio where nobody else takes the question."""
        return bool(question.system.smooth)

    def start(self, question: Question, run: Run) -> _Session:
        """Nothing is done yet."""
        figures: Followed = run.once("flowpipes", lambda: nullcontext(Followed()))
        session = _Session(question, figures)
        if question.about == "box" and figures.astray is not None and figures.astray[0] is question.system:
            session.begin(figures.astray[1])  # from elsewhere no run leaves them, as bounds told already
        return session


class _Session:
    def __init__(self, question: Question, figures: Followed) -> None:
        self.question, self.figures = question, figures
        self.system, self._single = question.system, question.semantics == "float32"
        self.trees: list[Tree | None] = []
        self.leaving: set[str] = set()
        self._astray: list[Box] = []
        self._stack: list[Part] | None = None
        self._flight: list[Part] = []
        self._underway: Following | None = None
        self._proved = 0.0
        self._given_up: list[tuple[Part, str]] = []
        """Parts that stay open, with why."""
        self._looked = bool(self.system.smooth)
        self._over: Answer | None = None
        self._written_here = False
        self._boxed: _Session | None = None
        self._patience = 0.0
        """Seconds that are left for the question together with whether runs stay in their box."""
        self._lawful = False
        self._tries: list[tuple[_Session, float]] = []
        """Sessions of the same question, each with the seconds that are left to it."""
        self.unwritten: Proved | None = None
        """The answer that laws show, where a proof is to be written."""

    # what only boxes that are followed need: many questions are decided before the first one is

    @cached_property
    def plan(self) -> Plan:
        """The atoms that are asked about, step by step."""
        return Plan(self.question.target)

    @cached_property
    def _violations(self) -> Violations:
        return Violations(self.question, self.plan, self.figures, beams, evolved, hunt)

    @cached_property
    def _levels(self) -> Sequence[Fineness]:
        several = len(self.system.branches) > 1 or forks(self.system)
        return ladder(bool(self.plan.names & recorded(self.system)), several, pieces(self.question))

    @cached_property
    def _refining(self) -> Refining:
        return Refining(self._levels, self._exists)

    def advance(self, budget: Budget) -> Answer:
        """Decide, at first within the time of a look where other procedures take the question, too."""
        if self._over is None and self.question.chosen:
            self._over = self._brought_about(budget)
        elif self._over is None and self._looked:
            self._written_here = not self.system.smooth
            self._over = self._tried(budget) or self._both(budget, budget)
        if self._over is not None:
            return self._over
        self._looked = True
        found = budget.spend(_FIRST, self._look) if self._worth_a_look else None
        if isinstance(found, Proved) and found.proof is not None:  # a proof is written in more than the time of a look
            found = self._over = written(found, self.question.boxed, budget)
        if found is None and (lawful := self._by_laws()) is not None:
            left, spent = budget.root.left, budget.root.spent
            whole = _PATIENCE if left is None else min(spent + left, 2 * left)  # less where that was much before
            self._tries = [(lawful, _LAWS * whole), (self, _SETS * whole)][: 1 if self.question.certified else 2]
            self._over = None if self.question.certified else self._tried(budget)  # others that write proofs begin
        answer = self._over or found
        return answer or Unknown(Reason.OPEN, f"{self.figures.boxes} boxes did not decide it at a first look")

    def _tried(self, budget: Budget) -> Answer | None:
        """Decide as tries do that have time left: by laws, then by sets; None where these are over."""
        budget = budget.whole if self.question.certified else budget  # laws beside proofs have no break
        while self._tries:
            (session, patience), begun = self._tries[0], budget.spent
            try:
                answer = budget.spend(patience, lambda part: session._decide(part, part))  # noqa: B023
            finally:  # also where the turn ends sooner
                self._tries[0] = session, patience - (budget.spent - begun)
            del self._tries[0]
            if isinstance(answer, Proved) and session._lawful and self.question.certified:
                self.unwritten = None if answer.leaving else answer
            elif answer is not None and not isinstance(answer, Unknown):
                return answer
        return None

    def _by_laws(self) -> _Session | None:
        """The same where open choices of a policy are affine laws; None where that is not worth the time."""
        if self._single or not lawful(self.system, self.question.target.depth):  # they are of real networks
            return None
        made = _Session(replace(self.question, certified=False), self.figures)  # the checker knows none
        made._lawful, made._levels, made._refining = True, LAWFUL, Refining(LAWFUL, made._exists)
        return made

    def _look(self, whole: Budget) -> Answer | None:
        """The first boxes, which may take longer, and some of their parts."""
        return whole.spend(_LOOK, lambda part: self._both(part, whole))

    @property
    def _worth_a_look(self) -> bool:
        """Do unrolled loops take longer than a look?"""
        return len(self.system.branches) == 1 and self.question.target.depth >= _LONG

    def _both(self, budget: Budget, first: Budget) -> Answer:
        """Decide. What is to be certified is asked together with whether runs stay in their box.

        first: the budget of the first boxes.
        """
        if self.question.certified and not self.question.inside:
            if self._boxed is None:
                self._boxed, left = _Session(self.question.boxed, self.figures), budget.whole.left
                self._boxed._violations.first = self._violations
                self._patience = _PATIENCE if left is None else _BOXED * left
            begun, boxed = budget.spent, self._boxed
            try:
                found = budget.spend(self._patience, lambda part: boxed._decide(part, first))
            finally:  # also where the turn ends sooner
                self._patience -= budget.spent - begun
            if found:
                self._patience = 0.0
            if isinstance(found, Proved):
                return written(found, self.question.boxed, budget.whole) if self._written_here else found
            if (violated := self._violations.found) is not None:  # other runs that were found leave the box
                return violated
        return self._decide(budget, first)

    def _brought_about(self, budget: Budget) -> Answer:
        """Decide what noise can bring about. Whether runs stay in their box is a question about all noise."""
        if not isinstance(answer := self._decide(budget, budget), Proved):
            return answer
        if self.question.certified:
            boxed = _Session(self.question.staying(self.system.variables), self.figures)
            if isinstance(boxed._decide(budget, budget), Proved):
                both = Flowpipes((*self._proof().trees, *boxed._proof().trees))
                return replace(answer, leaving=frozenset(), inside=True, proof=both)
        return replace(answer, leaving=self._moved - self.question.chosen.keys())

    @property
    def proved(self) -> float:
        """The part of the initial sets that is refuted, a cut counted as two halves."""
        return max(self._proved, 0.0 if self._boxed is None else self._boxed.proved)

    @property
    def complete(self) -> bool:
        """Is every part of the initial sets refuted, so that `figures.reach` is of all runs?"""
        return self._stack == [] and all(tree is None or tree.proof() is not None for tree in self.trees)

    def remaining(self) -> Remaining | None:
        """The boxes that are not refuted; None before any is followed."""
        if self._stack is None:
            return None if self._boxed is None else self._boxed.remaining()
        parts = [*self._stack, *self._flight, *(part for part, _ in self._given_up)]
        steps = min((p.reached for p in parts), default=self.plan.steps)
        return Remaining(tuple(p.box for p in parts), None if steps < 0 else steps, frozenset(self.leaving))

    def _decide(self, budget: Budget, first: Budget) -> Answer:
        if self._stack is None:
            if not self.system.smooth and (why := unfollowed(self.system)):
                return Unknown(Reason.OPEN, why)
            self._stack = self._roots()
        if (over := self._hopeless()) is not None:  # the last budget ended before it was said
            return over
        while self._stack or self._underway is not None:
            pause = budget if self.figures.boxes else first
            pause()
            if self._underway is None:
                self._flight = self._take()
            try:
                answer = self._batch(self._flight, pause)
            except TooLongError:
                found = self._violations.among([part.box for part in (*self._flight, *self._stack)], budget.whole)
                return found or Unknown(
                    Reason.OPEN, "a box of initial states takes longer than what others do in the time"
                )
            except BudgetError:
                if self._underway is None or not self._underway.between:
                    self._stack.extend(reversed(self._flight))
                    self._flight, self._underway = [], None
                raise
            if answer is not None:
                return answer
        log.info("decided by %d boxes", self.figures.boxes)
        if self.question.about == "property" and self.plan.steps >= self.question.formula.depth:
            self.figures.astray = self.system, self._astray
        inside = self.question.inside
        proof = self._proof() if inside and self.question.certified else None
        return Proved("bounds", frozenset(self.leaving), self.system.may_deadlock, inside=inside, proof=proof)

    def _batch(self, open_: list[Part], pause: Budget) -> Answer | None:
        """Follow some boxes and put back what stays open of them; what is done with is taken out of `open_`.

        pause: ends the work between two steps, which goes on from there; what else is done is not broken off.
        """
        assert self._stack is not None
        budget = pause.whole
        violations = self._violations
        if self.question.chosen and (state := choose(self.question, self.plan, open_, budget)):
            found = violations.replayed([(state, [])], budget)
            return found or Unknown(Reason.OPEN, hopeless(self.question, state))
        failed = [(part, why) for part, why in zip(open_, self._follow(open_, pause), strict=True) if why]
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

    def begin(self, boxes: Sequence[Box]) -> None:
        """Look at these boxes of initial states alone."""
        trees = [Tree(box) for box in boxes]
        self.trees, self._stack = [*trees], [Part(tree, 0, box) for tree, box in zip(trees, boxes, strict=True)]

    def _roots(self) -> list[Part]:
        """The boxes around the initial sets."""
        found = []
        for region in self.system.regions:
            if (ends := initial_box(self.system, region)) is None:
                self.trees.append(None)
                continue
            box = dict(zip(self.system.variables, ends, strict=True))
            tree = Tree(box)
            self.trees.append(tree)
            found.append(Part(tree, 0, box))
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
        """Why each box is not refuted; None where it is. It goes on where its last budget ended."""
        if self._underway is None:
            boxes = [with_noise(part, self.question.chosen) for part in batch]
            self._underway = Following(self.system, self.plan, boxes, self._levels[batch[0].level], self._single)
        self._underway.on(budget, None if self.system.smooth or self._lawful or self.figures.boxes else _PART)
        done, self._underway = self._underway, None
        self.figures.boxes += len(batch)
        for i, (part, failed) in enumerate(zip(batch, done.failed, strict=True)):
            if failed is None:
                part.tree.fine[part.node] = self._levels[part.level]
                self.figures.parts += 1
                self._proved += 2.0**-part.depth / len(self.trees)
            if part.tried is not None:
                self._refining.tried(part, failed is None or part.better(done.radii, i))
        refuted = np.array([failed is None for failed in done.failed])
        astray = self.figures.note(self.system, self._moved, self.leaving, done.seen, refuted)
        self._astray += [batch[i].box for i in np.flatnonzero(astray)]
        return done.failed

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
        points = [{n: (at, at) for n, at in middle(self.system, box).items()}]
        return exist(Tube(self.system, points, self._levels[level], self._single), self.plan.steps)


FLOWPIPES = FlowpipeSearch()
