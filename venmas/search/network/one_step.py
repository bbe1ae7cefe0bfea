"""One-step questions: branch and bound on the inputs of the one network that a step is.

    condition := the negated formula over inputs X_i and outputs Y_j
    try points: random ones, corners, gradients                              (`falsify`)
    boxes := the initial regions; while there are boxes, nearest to the condition first
        bound the condition: zonotopes forward, linear bounds backward        (`venmas.bounds.crown`)
        excluded: drop the box; else cut it across the input that adds most   (`bisect`)
        boxes too small for floats are decided in rationals                   (`exact_box`)

Linear bounds after CROWN (Zhang et al., NeurIPS 2018); bisection after ReluVal (Wang et al., USENIX Security 2018).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from venmas.answer import Answer, Open, Refuted, Witnessed
from venmas.bounds.crown_plan import plan_of
from venmas.budget import Budget
from venmas.errors import Reason
from venmas.formats.vnnlib import Box
from venmas.linear import Comparison, LinearExpr, Relation
from venmas.logic import AX, EX, And, Atom, Formula, Not, Or, conjunction, disjunction, nnf
from venmas.model.expr import Application, Output, Variable, to_linear
from venmas.model.regions import bounding_box
from venmas.model.system import System
from venmas.model.variables import Region
from venmas.model.witness.build import explain
from venmas.question import Question
from venmas.search.network.bisect import Bisection, Point, Result
from venmas.search.network.exact_box import FEW_INPUTS, decide_box
from venmas.search.procedure import Run

log = logging.getLogger(__name__)

Terms = Mapping[str, LinearExpr]


@dataclass(frozen=True)
class OneStep:
    """The only step of a system: the real variables that its network reads, each once, and values after the step.

    after: an affine expression over the variables before the step, or the index of an output, for every variable.
    """

    system: System
    application: Application
    inputs: tuple[str, ...]
    after: Mapping[str, LinearExpr | int]

    def question(self, region: Region, wanted: Formula) -> tuple[Box, Formula, Mapping[str, Fraction]] | None:
        """Boxes of inputs and a condition over X_i and Y_j: which states of the region have a `wanted` successor?

        Also values for the variables that the network does not read. None where one of them matters and is not fixed.
        """
        box = bounding_box(self.system, region)
        if box is None:
            return (), nnf(conjunction([wanted, Not(wanted)])), {}
        fixed = {name: low for name, (low, high) in box.items() if low == high}
        before = {name: LinearExpr((), value) for name, value in fixed.items()}
        before |= {name: LinearExpr.variable(f"X_{i}") for i, name in enumerate(self.inputs)}
        # the box says exactly what comparisons of one variable say, unless they leave out an end
        rows = [c for c in region if len(c.expr.terms) != 1 or c.relation.strict or c.relation is Relation.NE]
        used = {name for c in rows for name in c.expr.variables}
        after: dict[str, LinearExpr] = {}
        for name in {name for c in _comparisons(wanted) for name in c.expr.variables}:
            value = self.after[name]
            if isinstance(value, LinearExpr):
                used |= value.variables
                after[name] = value.substitute(before)
            else:
                after[name] = LinearExpr.variable(f"Y_{value}")
        if not used <= set(before):
            return None
        condition = conjunction([_renamed(wanted, after), *(_renamed(Atom(c), before) for c in rows)])
        return tuple(box[name] for name in self.inputs), nnf(condition), {name: low for name, (low, _) in box.items()}


def one_step(system: System) -> OneStep | None:
    """The step, where there is one branch, always possible, and one network, which reads few real variables."""
    branch = system.branches[0]
    if len(system.branches) > 1 or not branch.always:
        return None
    after: dict[str, LinearExpr | int] = {name: LinearExpr.variable(name) for name in system.variables}
    found: dict[int, Application] = {}
    for name, expr in branch.updates:
        linear = to_linear(expr)
        if linear is not None:
            after[name] = linear
        elif isinstance(expr, Output):
            after[name], found[id(expr.application)] = expr.index, expr.application
        else:
            return None
    if len(found) != 1:
        return None
    (application,) = found.values()
    names = [v.name for v in application.inputs if isinstance(v, Variable)]
    real = all(not system.variables[name].integral for name in names)
    if not real or len(set(names)) < len(application.inputs) or len(names) > FEW_INPUTS:
        return None
    return OneStep(system, application, tuple(names), after)


@dataclass
class Boxed:
    """Boxes that were bounded, and those among them that were decided in rationals."""

    boxes: int = 0
    exact: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("boxes", f"{self.boxes} bounded, {self.exact} in rationals")]


class NetworkQuery:
    """The procedure."""

    name = "network"
    help = "Branch and bound on the inputs of one network, for formulas about the next state."

    def accepts(self, question: Question, run: Run) -> str | None:
        """EX or AX of a formula about one state, over one step by one network."""
        if question.certified or question.semantics != "real":
            return "it decides for real networks, and writes no certificates"
        if question.formula.depth != 1:
            return "it is about the next state only"
        target = question.target
        if not isinstance(target, EX | AX) or target.operand.depth:
            return "it is about the present state, too"
        step = one_step(question.system)
        if step is None:
            return "a step is more than one network of a few real variables"
        if any(step.question(region, target.operand) is None for region in question.system.regions):
            return "it reads variables that are neither fixed nor inputs of the network"
        return None

    def eager(self, question: Question, run: Run) -> bool:
        """It opens a portfolio."""
        return True

    def start(self, question: Question, run: Run) -> _Session:
        """Nothing is done yet."""
        return _Session(question, run.settings.workers)


class _Session:
    struggling = False

    def __init__(self, question: Question, threads: int) -> None:
        step, target = one_step(question.system), question.target
        assert step is not None and isinstance(target, EX | AX)
        self.question, self.step, self.wanted, self.threads = question, step, target.operand, threads
        self.figures = Boxed()

    def advance(self, budget: Budget) -> Answer:
        """Decide region by region."""
        system, step, counts = self.question.system, self.step, self.figures
        for region in system.regions:
            found = step.question(region, self.wanted)
            assert found is not None
            box, condition, fixed = found
            result = _search(step, box, condition, budget, self.threads) if box else Result(proved=True)
            counts.boxes, counts.exact = counts.boxes + result.boxes, counts.exact + result.exact
            if result.point is not None:
                state = {**fixed, **dict(zip(step.inputs, result.point, strict=True))}
                witness = explain(system, self.question.target, {name: state[name] for name in system.variables})
                if witness is None:
                    return Open(Reason.OPEN, "a point of the network is none of the system")
                return Witnessed(witness)
            if not result.proved:
                return Open(Reason.OPEN, result.why)
        log.info("decided as a query about network %s", step.application.network.name)
        moved = (name for name in system.variables if step.after[name] != LinearExpr.variable(name))
        return Refuted("exact" if counts.exact else "bounds", frozenset(moved))


def _search(step: OneStep, box: Box, condition: Formula, budget: Budget, threads: int) -> Result:
    network = step.application.network

    def exact(part: Box, seconds: float) -> tuple[bool, Point | None]:
        return decide_box(network, part, condition, budget, seconds)

    try:
        plan = plan_of(network, condition)
    except OverflowError:
        return Result(why="a number is beyond all floats")
    return Bisection(plan, (box,), budget, threads, exact).run()


def _renamed(formula: Formula, values: Terms) -> Formula:
    """A formula about one state, its variables replaced."""
    match formula:
        case Atom(comparison):
            return Atom(Comparison(comparison.expr.substitute(values), comparison.relation))
        case And(parts):
            return conjunction([_renamed(part, values) for part in parts])
        case Or(parts):
            return disjunction([_renamed(part, values) for part in parts])
    return formula


def _comparisons(formula: Formula) -> list[Comparison]:
    if isinstance(formula, Atom):
        return [formula.comparison]
    return [c for part in formula.children for c in _comparisons(part)]


NETWORK = NetworkQuery()
