"""Loops with few paths of branches, unrolled: branch and bound on the initial values of a few real variables.

    for each path of branches (one, where there is one branch) and each region of the initial set:
        program := the loop over the steps that the formula looks at, and the negated formula over it
                                                                              (`venmas.model.transform.unroll`)
        try a few points; bound the condition on the whole box
        boxes := the initial box; while there are boxes, nearest to the condition first           (`bisect`)
            once, some boxes on: try points: random ones, corners, gradients through the loop
            bound the condition: zonotopes forward, linear bounds backward    (`venmas.bounds.crown`)
            excluded: drop the box; else shrink it to what its open groups leave, or cut it across the input that
            adds most
            boxes too small for floats are decided in rationals

Nothing is abstracted between steps: a form in the initial values goes through all of them. Linear bounds after CROWN
(Zhang et al., NeurIPS 2018); bisection after ReluVal (Wang et al., USENIX Security 2018).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from venmas.answer import Answer, Basis, Proof, Proved, Remaining, Unknown, Violated
from venmas.bounds.crown_plan import flatten
from venmas.bounds.intervals import intervals
from venmas.budget import Budget
from venmas.errors import Reason
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.evaluation.regions import bounding_box
from venmas.model.expressions.expr import Variable
from venmas.model.system.disturbances import ahead
from venmas.model.system.system import System
from venmas.model.system.variables import Box as StateBox
from venmas.model.system.variables import Region
from venmas.model.transform.program import Box, Program
from venmas.model.transform.unroll import unroll
from venmas.model.witness.build import explain
from venmas.procedure import Run
from venmas.procedures.branch_and_bound import falsify, gradient
from venmas.procedures.branch_and_bound.bisect import Bisection, Point, Result
from venmas.procedures.branch_and_bound.falsify import floats
from venmas.procedures.branch_and_bound.paths import Path, paths
from venmas.procedures.branch_and_bound.tree import Recorder, Tree
from venmas.procedures.exact.session import ExactSession
from venmas.question import Question

log = logging.getLogger(__name__)

MOST_INPUTS, MOST_WITH_NOISE = 16, 36
"""Initial values that are no numbers up to which boxes are cut, and the same with values of disturbances in later
steps, of which each counts for little, so that few are cut: as many as a tree of a certificate may cut."""
_SHARE = 0.4
"""Part of its time that it takes where a formula looks further than one step: other procedures may do better."""
_BOXED = 0.6
"""Part of its time for a question together with whether runs stay in their box."""
_MORE = 0.95
"""The same where there are many open initial values, so that others hardly do."""
_LONG = 5.0
"""Seconds of work after which others deserve more of the time."""
_FEW = 3
"""Open initial values up to which that is so."""
_PATIENCE = 60.0
"""Seconds that it has then without a limit of time."""


@dataclass
class Searched:
    """Boxes that were bounded, those among them that were decided in rationals, and steps of programs, at most."""

    boxes: int = 0
    exact: int = 0
    steps: int = 0
    stuck: tuple[int, Callable[[], Box] | None] = (0, None)
    """The initial set that was worked on last, and what gives the hull of what is open of it."""

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("boxes", f"{self.boxes} bounded, {self.exact} in rationals"), ("unrolled", f"{self.steps} steps")]


class BranchAndBound:
    """The procedure."""

    name = "branch-and-bound"
    help = "Branch and bound on the initial values of an unrolled loop with few paths of branches."
    smooth = True  # where the formula reads nothing that is

    def accepts(self, question: Question, run: Run) -> str | None:
        """Formulas about the next steps of a system with few paths, in which a step is sums, maxima and networks."""
        if question.semantics != "real":
            return "it decides for real networks"
        if not question.target.depth:
            return "it is about the present state only"
        along = paths(question)
        for path in along if not isinstance(along, str) else ():
            programs = _programs(question, run, path)
            if isinstance(programs, str):
                return programs
            most = max((sum(not ahead(n) for n in program.inputs) for program in programs), default=0)
            if most > MOST_INPUTS:
                return f"{most} initial values are open, more than {MOST_INPUTS}"
        return along if isinstance(along, str) else None

    def start(self, question: Question, run: Run) -> _Session | _Paths:
        """Nothing is done yet."""
        figures: Searched = run.once("branch-and-bound", lambda: nullcontext(Searched()))
        sessions = []
        along = paths(question)
        assert not isinstance(along, str)
        for path in along:
            programs = _programs(question, run, path)
            assert not isinstance(programs, str)
            sessions.append(_Session(question, programs, run.settings.workers, figures, run))
        return sessions[0] if len(sessions) == 1 else _Paths(sessions)


def _programs(question: Question, run: Run, path: Path = None) -> list[Program] | str:
    """A program for each region along a path, made once; or why there is none."""
    most = MOST_WITH_NOISE if question.about == "property" else None  # others are not written down

    def made() -> list[Program] | str:
        found = []
        for region in question.system.regions:
            program = unroll(question.system, region, question.target, path, most)
            if isinstance(program, str):
                return program
            found.append(program)
        return found

    # the key keeps the system, so that no other one has it
    key = ("branch-and-bound", question.system, question.target, path, most)
    return run.once(key, lambda: nullcontext(made()))


class _Session:
    """The search along one path, which goes on where the last budget ended it.

    A step of it is not ended by a share of the time, as it would be lost.
    """

    def __init__(
        self, question: Question, programs: list[Program], threads: int, figures: Searched, run: Run | None = None
    ) -> None:
        self.question, self.programs, self.threads, self.figures = question, programs, threads, figures
        self.run = run
        self.steps = max(program.steps for program in programs)
        figures.steps = max(figures.steps, self.steps)
        self._boxed = self._with_boxes()
        self._left: float | None = None
        self._boxed_left = 0.0
        """Seconds that are left, for the question together with whether runs stay in their box too."""
        self._done = 0
        self._part: _Part | None = None
        self._worked = 0.0
        self._leaving, self._trees = set[str](), dict[int, Tree]()

    @property
    def struggling(self) -> bool:
        """Did it work for long, with most still to do?"""
        search = self._part._search if self._part else None
        return self._worked > _LONG and (search is None or search.refuted < 1 / 2)

    def advance(self, budget: Budget) -> Answer | None:
        """Decide region by region. What is to be certified is asked together with whether runs stay in their box."""
        if self._left is None:
            self.figures.stuck = 0, None
            whole = budget.whole.left
            many = max(len(program.inputs) for program in self.programs) > _FEW
            self._boxed_left = (_PATIENCE if whole is None else _BOXED * whole) if self._boxed else 0.0
            self._left = _PATIENCE if whole is None else whole * (_MORE if many else _SHARE)
            self._left = max(self._left - self._boxed_left, (1 - _BOXED) * self._left)
        begun = budget.spent
        try:
            if self._boxed is not None and self._boxed_left > 0:
                try:
                    found = budget.spend(self._boxed_left, self._boxed._decide)
                finally:
                    self._boxed_left -= budget.spent - begun
                self._boxed_left = 0.0  # it is over, or its time is
                if isinstance(found, Proved):
                    return found
            if self.steps == 1:
                return self._decide(budget)
            started = budget.spent
            try:
                found = budget.spend(self._left, self._decide)
            finally:
                self._left -= budget.spent - started
        finally:
            self._worked += budget.spent - begun
        if found is None and self._left <= 0:
            self._narrow()
            return Unknown(Reason.OPEN, f"{self.figures.boxes} boxes did not decide it within its share of the time")
        return found

    def _with_boxes(self) -> _Session | None:
        """The question that speaks of the box, too, where it is to be certified; None where it is not taken."""
        if not self.question.certified or self.question.inside:
            return None
        asked = self.question.boxed
        programs = _programs(asked, self.run or Run())
        return None if isinstance(programs, str) else _Session(asked, programs, self.threads, self.figures)

    def remaining(self) -> Remaining | None:
        """The boxes that wait, and the initial sets that were not looked at; None before any was."""
        system, at, boxes = self.question.system, self._done, list[StateBox]()
        if not at and not self._part:
            return None if self._boxed is None else self._boxed.remaining()
        for index, region in enumerate(system.regions[at:]):
            around = bounding_box(system, region)
            parts = self._part.open() if self._part and not index else [{}]
            boxes += [{**around, **part} for part in parts] if around is not None else []
        leaving = set(self._leaving)
        if self._part:
            leaving |= self._part.leaving | _moved(system)
        return Remaining(tuple(boxes), leaving=frozenset() if self.question.inside else frozenset(leaving))

    def _narrow(self) -> None:
        """Leave to others the hull of what is open, and the initial sets that were not looked at."""
        system, (at, hull) = self.question.system, self.figures.stuck
        if hull is not None and self.run is not None and not self.question.certified:
            left = within(self.programs[at], system.regions[at], hull())
            smaller = system.with_regions([left, *system.regions[at + 1 :]])
            self.run.narrow(self.question, replace(self.question, system=smaller))

    def _decide(self, budget: Budget) -> Answer:
        system = self.question.system
        for index in range(self._done, len(self.programs)):
            program, region = self.programs[index], system.regions[index]
            try:
                part = self._part = self._part or _Part(self.question, program, region, self.threads, self.figures)
                result = part.run(budget)
            except OverflowError:
                return Unknown(Reason.OPEN, "a number is beyond what floats hold")
            if result.point is not None:
                witness = explain(system, self.question.target, program.state(result.point), tick=budget.whole)
                if witness is None:
                    return Unknown(Reason.OPEN, "a point of the program is none of the system")
                return Violated(witness)
            if not result.proved:
                return Unknown(Reason.OPEN, result.why)
            self._leaving |= part.leaving | (_moved(system) - _kept(system, program))
            if part.recorder is not None:
                self._trees[index] = part.recorder.tree
            self._done += 1
            self._part = None
        log.info("decided as an unrolled loop")
        basis: Basis = "exact" if self.figures.exact else "bounds"
        if self.question.inside:
            return Proved(basis, frozenset(), system.may_deadlock, inside=True, proof=self._proof())
        return Proved(basis, frozenset(self._leaving), may_deadlock=system.may_deadlock)

    def _proof(self) -> Proof[Any] | None:
        if not self.question.certified:
            return None
        from venmas.procedures.branch_and_bound.certificate import SplitTrees

        return SplitTrees(self._trees)


class _Paths:
    """Sessions of all paths: the target is met along one of them, or not at all."""

    def __init__(self, sessions: list[_Session]) -> None:
        self.sessions, self.figures = sessions, sessions[0].figures
        self._left: float | None = None

    def advance(self, budget: Budget) -> Answer | None:
        """Decide path by path."""
        if self._left is None:
            whole = budget.whole.left
            self._left = _PATIENCE if whole is None else _SHARE * whole
        begun = budget.spent
        try:
            found = budget.spend(self._left, self._decide)
        finally:
            self._left -= budget.spent - begun
        if found is None and self._left <= 0:
            return Unknown(Reason.OPEN, f"{self.figures.boxes} boxes did not decide it within its share of the time")
        return found

    def _decide(self, budget: Budget) -> Answer:
        system, leaving = self.sessions[0].question.system, frozenset[str]()
        for session in self.sessions:
            found = session._decide(budget)
            if not isinstance(found, Proved):
                return found
            leaving |= found.leaving
        return Proved("exact" if self.figures.exact else "bounds", leaving | _moved(system), system.may_deadlock)


def _moved(system: System) -> frozenset[str]:
    """The variables that some branch changes."""
    updates = [update for branch in system.branches for update in branch.updates]
    return frozenset(name for name, expr in updates if not (isinstance(expr, Variable) and expr.name == name))


def _kept(system: System, program: Program) -> frozenset[str]:
    """Variables that intervals show to be in their declared ranges after every step of the program."""
    low, high = (ends[0] for ends in floats([tuple(zip(program.low, program.high, strict=True))]))
    with np.errstate(all="ignore"):
        after = intervals(program.layers, low, high)
    inside = set(system.variables)
    for layer, places, known in list(zip(program.step_layer, program.places, program.known, strict=True))[1:]:
        lows, highs = (ends.tolist() for ends in after[layer + 1])
        ends = {name: (lows[i], highs[i]) for name, i in places.items()} | {name: (v, v) for name, v in known.items()}
        decls = ((name, system.variables[name]) for name in ends)
        inside &= {name for name, decl in decls if decl.lower <= ends[name][0] and ends[name][1] <= decl.upper}
    return frozenset(inside)


class _Part:
    """The search over one region. leaving: variables that runs decided in rationals are assumed not to leave."""

    def __init__(self, question: Question, program: Program, region: Region, threads: int, figures: Searched) -> None:
        self.question, self.program, self.region, self.figures = question, program, region, figures
        self.leaving: set[str] = set()
        self.recorder = (
            Recorder(*(ends[0] for ends in floats([self._box]))) if question.certified and program.inputs else None
        )
        self._before = figures.boxes, figures.exact
        self._tick: Budget | None = None
        exact = None if question.system.smooth else self.exact  # it looks at whole branches
        self._search = (
            Bisection(flatten(program), (self._box,), self._look, threads, exact, recorder=self.recorder)
            if program.inputs
            else None
        )

    @property
    def _box(self) -> Box:
        return tuple(zip(self.program.low, self.program.high, strict=True))

    def open(self) -> list[StateBox]:
        """Boxes that are not refuted, as ranges of the inputs."""
        boxes = [self._box] if self._search is None else self._search.waiting(0)
        return [dict(zip(self.program.inputs, box, strict=True)) for box in boxes]

    def _look(self) -> None:
        self._count()
        if self._search is not None:
            search = self._search
            at = self.question.system.regions.index(self.region)
            self.figures.stuck = at, lambda: search.hull(0)
        assert self._tick is not None
        self._tick()

    def _count(self) -> None:
        if self._search is not None:
            result = self._search.result
            self.figures.boxes = self._before[0] + result.boxes
            self.figures.exact = self._before[1] + result.exact

    def run(self, budget: Budget) -> Result:
        """Decide, or go on; raises `BudgetError`, and `OverflowError` where a number is beyond all floats."""
        if self._search is None:
            point: Point | None = () if self.program.holds(()) else None
            return Result(point, proved=point is None)
        self._tick, self._search.steady = budget, budget.whole
        falsifier = falsify.search if self.program.steps == 1 else gradient.search
        result = self._search.run(falsifier)
        self._count()
        return result

    def exact(self, box: Box, seconds: float) -> tuple[bool, Point | None]:
        """Decide a small box in rationals, as a question about the system with a smaller initial set."""
        system = self.question.system.with_regions([within(self.program, self.region, box)])
        session = ExactSession(replace(self.question, system=system))
        work: Callable[[Budget], Answer | None] = session.advance
        assert self._tick is not None
        answer = self._tick.whole.spend(seconds, work)
        if isinstance(answer, Violated):
            initial = answer.witness.initial
            return True, tuple(initial[name] for name in self.program.inputs)
        if isinstance(answer, Proved):
            self.leaving |= answer.leaving
            return True, None
        return False, None


def within(program: Program, region: Region, box: Box) -> Region:
    """The part of an initial set in which the inputs of its program are in a box."""
    sides: list[Comparison] = []
    for name, (low, high) in zip(program.inputs, box, strict=True):
        value = LinearExpr.variable(name)
        sides.append(Comparison(value - LinearExpr((), low), Relation.GE))
        sides.append(Comparison(value - LinearExpr((), high), Relation.LE))
    return (*region, *sides)


BRANCH_AND_BOUND = BranchAndBound()
