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

import numpy as np

from venmas.answer import Answer, Basis, Proved, Remaining, Unknown, Violated
from venmas.bounds.crown_plan import flatten
from venmas.bounds.intervals import intervals
from venmas.budget import Budget
from venmas.errors import Reason
from venmas.formats.vnnlib.reader import Box
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.evaluation.regions import bounding_box
from venmas.model.expressions.expr import Variable
from venmas.model.system.disturbances import ahead
from venmas.model.system.system import System
from venmas.model.system.variables import Region
from venmas.model.transform.program import Program
from venmas.model.transform.unroll import unroll
from venmas.model.witness.build import explain
from venmas.procedure import Run
from venmas.procedures.branch_and_bound import falsify, gradient
from venmas.procedures.branch_and_bound.bisect import Bisection, Point, Result
from venmas.procedures.branch_and_bound.certificate import SplitTrees
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
            most = max(sum(not ahead(n) for n in program.inputs) for program in programs)
            if most > MOST_INPUTS:
                return f"{most} initial values are open, more than {MOST_INPUTS}"
            most = max(len(program.inputs) for program in programs)
            if most > MOST_WITH_NOISE and question.about == "property":  # others are not written down
                return f"{most} initial values and disturbances are open, more than {MOST_WITH_NOISE}"
        return along if isinstance(along, str) else None

    def eager(self, question: Question, run: Run) -> bool:
        """It opens a portfolio."""
        return True

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

    def made() -> list[Program] | str:
        found = []
        for region in question.system.regions:
            program = unroll(question.system, region, question.target, path)
            if isinstance(program, str):
                return program
            found.append(program)
        return found

    key = (
        "branch-and-bound",
        question.system,
        question.target,
        path,
    )  # the key keeps the system, so that no other one has it
    return run.once(key, lambda: nullcontext(made()))


class _Session:
    struggling = False

    def __init__(
        self, question: Question, programs: list[Program], threads: int, figures: Searched, run: Run | None = None
    ) -> None:
        self.question, self.programs, self.threads, self.figures = question, programs, threads, figures
        self.run = run
        self.steps = max(program.steps for program in programs)
        figures.steps = max(figures.steps, self.steps)
        self._part: _Part | None = None

    def advance(self, budget: Budget) -> Answer:
        """Decide region by region. What is to be certified is asked together with whether runs stay in their box."""
        if self.question.certified and not self.question.inside:
            boxed = self._boxed(budget)
            if isinstance(boxed, Proved):
                return boxed
        if self.steps == 1:
            return self._decide(budget)
        self.figures.stuck = 0, None
        many = max(len(program.inputs) for program in self.programs) > _FEW
        share = _PATIENCE if budget.left is None else budget.left * (_MORE if many else _SHARE)
        found = budget.spend(share, self._decide)
        if found is None:
            self._narrow()
            return Unknown(Reason.OPEN, f"{self.figures.boxes} boxes did not decide it within its share of the time")
        return found

    def _boxed(self, budget: Budget) -> Answer | None:
        """The answer to the question that speaks of the box, too; None where it has none in its part of the time."""
        asked = self.question.boxed
        programs = _programs(asked, self.run or Run())
        if isinstance(programs, str):
            return None
        session = _Session(asked, programs, self.threads, self.figures)
        return budget.spend(_PATIENCE if budget.left is None else _BOXED * budget.left, session._decide)

    def remaining(self) -> Remaining | None:
        """The boxes that wait, and the initial sets that were not looked at; None before any was."""
        part, system = self._part, self.question.system
        if part is None:
            return None
        at = system.regions.index(part.region)
        around = {i: bounding_box(system, region) for i, region in enumerate(system.regions) if i >= at}
        first = around.pop(at)
        boxes = [box for box in around.values() if box is not None]
        if first is not None:
            boxes += [{**first, **dict(zip(part.program.inputs, box, strict=True))} for box in part.waiting()]
        return Remaining(tuple(boxes))

    def _narrow(self) -> None:
        """Leave to others the hull of what is open, and the initial sets that were not looked at."""
        system, (at, hull) = self.question.system, self.figures.stuck
        if hull is not None and self.run is not None and not self.question.certified:
            left = within(self.programs[at], system.regions[at], hull())
            smaller = system.with_regions([left, *system.regions[at + 1 :]])
            self.run.narrow(self.question, replace(self.question, system=smaller))

    def _decide(self, budget: Budget) -> Answer:
        system, leaving, trees = self.question.system, set[str](), dict[int, Tree]()
        for index, (program, region) in enumerate(zip(self.programs, system.regions, strict=True)):
            part = self._part = _Part(self.question, program, region, budget)
            try:
                result = part.search(self.threads, self.figures)
            except OverflowError:
                return Unknown(Reason.OPEN, "a number is beyond all floats")
            if result.point is not None:
                witness = explain(system, self.question.target, program.state(result.point), tick=budget)
                if witness is None:
                    return Unknown(Reason.OPEN, "a point of the program is none of the system")
                return Violated(witness)
            if not result.proved:
                return Unknown(Reason.OPEN, result.why)
            leaving |= part.leaving | (_moved(system) - _kept(system, program))
            if part.recorder is not None:
                trees[index] = part.recorder.tree
        log.info("decided as an unrolled loop")
        basis: Basis = "exact" if self.figures.exact else "bounds"
        if self.question.inside:
            proof = SplitTrees(trees) if self.question.certified else None
            return Proved(basis, frozenset(), system.may_deadlock, inside=True, proof=proof)
        return Proved(basis, frozenset(leaving), may_deadlock=system.may_deadlock)


class _Paths:
    """Sessions of all paths: the target is met along one of them, or not at all."""

    struggling = False

    def __init__(self, sessions: list[_Session]) -> None:
        self.sessions, self.figures = sessions, sessions[0].figures

    def advance(self, budget: Budget) -> Answer:
        """Decide path by path."""
        share = _PATIENCE if budget.left is None else _SHARE * budget.left
        found = budget.spend(share, self._decide)
        if found is None:
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
    found = set(system.variables)
    for layer, places, known in list(zip(program.step_layer, program.places, program.known, strict=True))[1:]:
        lows, highs = (ends.tolist() for ends in after[layer + 1])
        ends = {name: (lows[i], highs[i]) for name, i in places.items()} | {name: (v, v) for name, v in known.items()}
        decls = ((name, system.variables[name]) for name in ends)
        found &= {name for name, decl in decls if decl.lower <= ends[name][0] and ends[name][1] <= decl.upper}
    return frozenset(found)


class _Part:
    """The search over one region. leaving: variables that runs decided in rationals are assumed not to leave."""

    def __init__(self, question: Question, program: Program, region: Region, budget: Budget) -> None:
        self.question, self.program, self.region, self.budget = question, program, region, budget
        self.leaving: set[str] = set()
        self._search: Bisection | None = None
        self.recorder = (
            Recorder(*(ends[0] for ends in floats([self._box]))) if question.certified and program.inputs else None
        )

    @property
    def _box(self) -> Box:
        return tuple(zip(self.program.low, self.program.high, strict=True))

    def waiting(self) -> list[Box]:
        """Boxes that are not refuted."""
        return [self._box] if self._search is None else self._search.waiting(0)

    def search(self, threads: int, figures: Searched) -> Result:
        """Decide; raises `BudgetError`, and `OverflowError` where a number is beyond all floats."""
        program = self.program
        if not program.inputs:
            point: Point | None = () if program.holds(()) else None
            return Result(point, proved=point is None)
        before = figures.boxes, figures.exact

        def tick() -> None:
            figures.boxes, figures.exact = before[0] + search.result.boxes, before[1] + search.result.exact
            figures.stuck = self.question.system.regions.index(self.region), lambda: search.hull(0)
            self.budget()

        plan = flatten(program)
        search = self._search = Bisection(plan, (self._box,), tick, threads, self.exact, recorder=self.recorder)
        falsifier = falsify.search if program.steps == 1 else gradient.search
        result = search.run(falsifier)
        figures.boxes, figures.exact = before[0] + result.boxes, before[1] + result.exact
        return result

    def exact(self, box: Box, seconds: float) -> tuple[bool, Point | None]:
        """Decide a small box in rationals, as a question about the system with a smaller initial set."""
        system = self.question.system.with_regions([within(self.program, self.region, box)])
        session = ExactSession(replace(self.question, system=system))
        work: Callable[[Budget], Answer | None] = session.advance
        answer = self.budget.spend(seconds, work)
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
