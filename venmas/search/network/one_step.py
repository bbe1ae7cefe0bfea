"""Formulas about the next state of a system that one network computes: decided as queries about the network."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from time import monotonic

from venmas.bounds.crown_plan import plan_of
from venmas.checker.check import claim
from venmas.engine.query import FEW_INPUTS, exactly
from venmas.formats.vnnlib import Box
from venmas.linear import Comparison, LinearExpr, Relation
from venmas.logic import AX, EX, And, Atom, Formula, Not, Or, conjunction, disjunction, nnf
from venmas.model.expr import Application, Output, Variable, to_linear
from venmas.model.regions import bounding_box
from venmas.model.system import Region, System
from venmas.model.witness.build import explain
from venmas.model.witness.tree import Witness
from venmas.search.network.bisect import Bisection, Point, Result

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


@dataclass(frozen=True)
class Settled:
    """An answer: the initial state of a counterexample as a witness, or none; boxes, and those decided in rationals."""

    witness: Witness | None
    boxes: int
    exact: int


class _EnoughError(Exception):
    """The time for the queries is over."""


def settle(
    system: System, formula: Formula, tick: Callable[[], None], threads: int, seconds: float | None = None
) -> Settled | None:
    """Decide a formula about the next state of a system as queries; None where it is not of this kind, or open.

    seconds: time after which it stays open, no limit by default.

    Raises `ModelError` where the next state may leave its declared box, and what `tick` raises.
    """
    until = inf if seconds is None else monotonic() + seconds

    def limited() -> None:
        tick()
        if monotonic() > until:
            raise _EnoughError

    try:
        return _settle(system, formula, limited, threads)
    except _EnoughError:
        log.info("not decided as queries within %.1f s", seconds)
        return None


def _settle(system: System, formula: Formula, tick: Callable[[], None], threads: int) -> Settled | None:
    step = one_step(system) if formula.depth == 1 else None
    if step is None:
        return None
    target = nnf(formula, negate=True)
    if not isinstance(target, EX | AX) or target.operand.depth:
        return None
    ranges = [
        Atom(Comparison(LinearExpr.variable(d.name) - LinearExpr((), end), relation))
        for d in system.variables.values()
        if step.after[d.name] != LinearExpr.variable(d.name)  # what stays as it is stays in its box
        for end, relation in ((d.lower, Relation.LT), (d.upper, Relation.GT))
    ]
    boxes = exact = 0
    for wanted, goal in ((target.operand, target), (disjunction(ranges), claim(system, formula, True))):
        for region in system.regions:
            question = step.question(region, wanted)
            if question is None:
                return None
            box, condition, fixed = question
            found = _search(step, box, condition, tick, threads) if box else Result(proved=True)
            boxes, exact = boxes + found.boxes, exact + found.exact
            if found.point is not None:
                state = {**fixed, **dict(zip(step.inputs, found.point, strict=True))}
                witness = explain(system, goal, {name: state[name] for name in system.variables})
                return None if witness is None else Settled(witness, boxes, exact)
            if not found.proved:
                return None
    log.info("decided as a query about network %s", step.application.network.name)
    return Settled(None, boxes, exact)


def _search(step: OneStep, box: Box, condition: Formula, tick: Callable[[], None], threads: int) -> Result:
    network = step.application.network

    def exact(part: Box, seconds: float) -> tuple[bool, Point | None]:
        return exactly(network, part, condition, tick, seconds)

    try:
        plan = plan_of(network, condition)
    except OverflowError:
        return Result(why="a number is beyond all floats")
    return Bisection(plan, (box,), tick, threads, exact).run()


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
