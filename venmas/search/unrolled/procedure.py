"""Loops with one branch, unrolled: branch and bound on the initial values of a few real variables.

    for each region of the initial set:
        program := the loop over the steps that the formula looks at, and the negated formula over it
                                                                              (`venmas.model.unroll`)
        bound the condition on the whole box; then try points: random ones, corners, gradients through the loop
        boxes := the initial box; while there are boxes, nearest to the condition first           (`bisect`)
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

from venmas.answer import Answer, Basis, Open, Refuted, Witnessed
from venmas.bounds.crown_plan import flatten
from venmas.budget import Budget
from venmas.errors import Reason
from venmas.formats.vnnlib import Box
from venmas.linear import Comparison, LinearExpr, Relation
from venmas.model.expr import Variable
from venmas.model.program import Program
from venmas.model.unroll import unroll
from venmas.model.variables import Region
from venmas.model.witness.build import explain
from venmas.question import Question
from venmas.search.procedure import Run
from venmas.search.rational.session import RationalSession
from venmas.search.unrolled import falsify, gradient
from venmas.search.unrolled.bisect import Bisection, Point, Result

log = logging.getLogger(__name__)

MOST_INPUTS = 16
"""Initial values that are no numbers up to which boxes are cut."""
_SHARE = 0.6
"""Part of its time that it takes where a formula looks further than one step: other procedures may do better."""
_PATIENCE = 60.0
"""Seconds that it has then without a limit of time."""


@dataclass
class Searched:
    """Boxes that were bounded, those among them that were decided in rationals, and steps of programs, at most."""

    boxes: int = 0
    exact: int = 0
    steps: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("boxes", f"{self.boxes} bounded, {self.exact} in rationals"), ("unrolled", f"{self.steps} steps")]


class Unrolled:
    """The procedure."""

    name = "unrolled"
    help = "Branch and bound on the initial values of an unrolled loop with one branch."

    def accepts(self, question: Question, run: Run) -> str | None:
        """Formulas about the next steps of a system with one branch, in which a step is sums, maxima and networks."""
        if question.certified or question.semantics != "real":
            return "it decides for real networks, and writes no certificates"
        if not question.formula.depth:
            return "it is about the present state only"
        programs = _programs(question, run)
        if isinstance(programs, str):
            return programs
        most = max(len(program.inputs) for program in programs)
        if most > MOST_INPUTS:
            return f"{most} initial values are open, more than {MOST_INPUTS}"
        return None

    def eager(self, question: Question, run: Run) -> bool:
        """It opens a portfolio."""
        return True

    def start(self, question: Question, run: Run) -> _Session:
        """Nothing is done yet."""
        programs = _programs(question, run)
        assert not isinstance(programs, str)
        figures = run.once("unrolled", lambda: nullcontext(Searched()))
        return _Session(question, programs, run.settings.workers, figures)


def _programs(question: Question, run: Run) -> list[Program] | str:
    """A program for each region, made once; or why there is none."""

    def made() -> list[Program] | str:
        found = []
        for region in question.system.regions:
            program = unroll(question.system, region, question.target)
            if isinstance(program, str):
                return program
            found.append(program)
        return found

    key = "unrolled", id(question.system), question.target
    return run.once(key, lambda: nullcontext(made()))


class _Session:
    struggling = False

    def __init__(self, question: Question, programs: list[Program], threads: int, figures: Searched) -> None:
        self.question, self.programs, self.threads, self.figures = question, programs, threads, figures
        self.steps = max(program.steps for program in programs)
        figures.steps = max(figures.steps, self.steps)

    def advance(self, budget: Budget) -> Answer:
        """Decide region by region."""
        if self.steps == 1:
            return self._decide(budget)
        share = _PATIENCE if budget.left is None else _SHARE * budget.left
        found = budget.spend(share, self._decide)
        if found is None:
            return Open(Reason.OPEN, f"{self.figures.boxes} boxes did not decide it in its part of the time")
        return found

    def _decide(self, budget: Budget) -> Answer:
        system, leaving = self.question.system, set[str]()
        for program, region in zip(self.programs, system.regions, strict=True):
            part = _Part(self.question, program, region, budget)
            try:
                result = part.search(self.threads, self.figures)
            except OverflowError:
                return Open(Reason.OPEN, "a number is beyond all floats")
            if result.point is not None:
                witness = explain(system, self.question.target, program.state(result.point), tick=budget)
                if witness is None:
                    return Open(Reason.OPEN, "a point of the program is none of the system")
                return Witnessed(witness)
            if not result.proved:
                return Open(Reason.OPEN, result.why)
            leaving |= part.leaving
        log.info("decided as an unrolled loop")
        still = {name for name, expr in system.branches[0].updates if _stays(name, expr)}
        moved = {name for name, _ in system.branches[0].updates} - still
        basis: Basis = "exact" if self.figures.exact else "bounds"
        return Refuted(basis, frozenset(leaving | moved), may_deadlock=system.may_deadlock)


def _stays(name: str, expr: object) -> bool:
    return isinstance(expr, Variable) and expr.name == name


class _Part:
    """The search over one region. leaving: variables that runs decided in rationals are assumed not to leave."""

    def __init__(self, question: Question, program: Program, region: Region, budget: Budget) -> None:
        self.question, self.program, self.region, self.budget = question, program, region, budget
        self.leaving: set[str] = set()

    def search(self, threads: int, figures: Searched) -> Result:
        """Decide; raises `BudgetError`, and `OverflowError` where a number is beyond all floats."""
        program = self.program
        if not program.inputs:
            point: Point | None = () if program.holds(()) else None
            return Result(point, proved=point is None)
        box = tuple(zip(program.low, program.high, strict=True))
        before = figures.boxes, figures.exact

        def tick() -> None:
            figures.boxes, figures.exact = before[0] + search.result.boxes, before[1] + search.result.exact
            self.budget()

        search = Bisection(flatten(program), (box,), tick, threads, self.exact)
        falsifier = falsify.search if program.steps == 1 else gradient.search
        result = search.run(falsifier)
        figures.boxes, figures.exact = before[0] + result.boxes, before[1] + result.exact
        return result

    def exact(self, box: Box, seconds: float) -> tuple[bool, Point | None]:
        """Decide a small box in rationals, as a question about the system with a smaller initial set."""
        sides: list[Comparison] = []
        for name, (low, high) in zip(self.program.inputs, box, strict=True):
            value = LinearExpr.variable(name)
            sides.append(Comparison(value - LinearExpr((), low), Relation.GE))
            sides.append(Comparison(value - LinearExpr((), high), Relation.LE))
        system = self.question.system.with_regions([(*self.region, *sides)])
        session = RationalSession(replace(self.question, system=system))
        work: Callable[[Budget], Answer | None] = session.advance
        answer = self.budget.spend(seconds, work)
        if isinstance(answer, Witnessed):
            initial = answer.witness.initial
            return True, tuple(initial[name] for name in self.program.inputs)
        if isinstance(answer, Refuted):
            self.leaving |= answer.leaving
            return True, None
        return False, None


UNROLLED = Unrolled()
