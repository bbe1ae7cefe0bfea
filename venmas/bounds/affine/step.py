"""Expressions and conditions of a system over affine forms: an interpreter of the graph
(`venmas.model.expressions.expr`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from venmas.bounds.affine.flow import Course
from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.networks import through
from venmas.bounds.rounding import Bools, Ints
from venmas.logic.linear import Relation
from venmas.model.evaluation.cuts import Fineness
from venmas.model.expressions.conditions import All, Any, Compare, Condition, Truth
from venmas.model.expressions.expr import (
    Application,
    ArgMax,
    Constant,
    Expr,
    Maximum,
    Output,
    Product,
    Quotient,
    Sum,
    Switch,
    Variable,
    Where,
    walk,
)
from venmas.model.expressions.smooth_nodes import Apply, End, Extremum, Flow, Held

KNOWN = (Constant, Variable, Sum, Product, Quotient, Apply, Held, Maximum, Output, Where, ArgMax, Switch, End, Extremum)
"""The nodes that this interpreter knows, besides conditions."""


def unknown(node: Expr | Condition) -> str | None:
    """The kind of a node in a graph that is not known here, None where all are."""
    strange = (here for here in walk([node]) if not isinstance(here, (*KNOWN, Compare, All, Any, Truth)))
    return next((type(here).__name__.lower() for here in strange), None)


class OpenChoiceError(Exception):
    """A choice that forms leave open in some boxes. key: of its node. able: (B, options), which are possible."""

    def __init__(self, key: int, able: Bools) -> None:
        super().__init__(key)
        self.key, self.able = key, able


class Values:
    """Forms of expressions in one state of each box; what is read twice has one form.

    A condition or an argmax has the option that is `assumed` of it, (B,) by the id of the node. Where it is open else,
    `OpenChoiceError` is raised if `forking`, for the caller to assume each option in a box of its own; if not, anything
    that one of the options gives is enclosed.
    """

    def __init__(
        self,
        ring: Forms,
        state: Mapping[str, Form],
        fine: Fineness,
        assumed: Mapping[int, Ints] | None = None,
        forking: bool = False,
    ) -> None:
        """state: forms of the variables. ring: new symbols are made in it; it is told where values may not exist."""
        self.ring, self.state, self.fine = ring, state, fine
        self.assumed, self.forking = assumed or {}, forking
        self._forms: dict[int, Form] = {}
        self._applied: dict[int, list[Form]] = {}
        self._courses: dict[int, Course] = {}

    def form(self, expr: Expr) -> Form:
        """The form of an expression whose node outlives this object."""
        if isinstance(expr, Variable):
            return self.state[expr.name]
        if isinstance(expr, Held):
            return self.form(expr.operand)
        if id(expr) not in self._forms:
            self._forms[id(expr)] = self._compute(expr)
        return self._forms[id(expr)]

    def _compute(self, expr: Expr) -> Form:
        ring = self.ring
        match expr:
            case Constant(value):
                return ring.constant(value)
            case Sum(terms, constant):
                return ring.combine([(c, self.form(e)) for c, e in terms], constant)
            case Product(left, right):
                return ring.multiply(self.form(left), self.form(right))
            case Quotient(left, right):
                return ring.divide(self.form(left), self.form(right))
            case Apply(function, operand):
                return ring.fresh(ring.apply(function, self.form(operand)))
            case Output(application, index):
                return self._outputs(application)[index]
            case Maximum(operands):
                return self._greatest([self.form(e) for e in operands])
            case Where(condition, then, otherwise):
                yes, no = self.truth(condition)
                able = self._options(condition, np.stack([~yes, ~no], 1))
                return self._chosen([self.form(otherwise), self.form(then)], able)
            case ArgMax(scores):
                able = self._options(expr, self._winners([self.form(e) for e in scores]))
                places = np.arange(len(scores), dtype=float)
                return ring.between(np.where(able, places, np.inf).min(1), np.where(able, places, -np.inf).max(1))
            case Switch(selector, cases):
                low, high = self.form(selector).ends
                able = np.stack([(low <= value) & (value <= high) for value, _ in cases], 1)
                able[~able.any(1)] = True  # the range of the selector is checked where it is assigned
                return self._chosen([self.form(e) for _, e in cases], self._options(expr, able))
            case End(flow, name):
                return self._course(flow).ends[name]
            case Extremum(flow, _, _):
                return ring.fresh(self._course(flow).extremum(expr))
        raise TypeError(type(expr))

    def _outputs(self, application: Application) -> list[Form]:
        if id(application) not in self._applied:
            inputs = [self.form(e) for e in application.inputs]
            self._applied[id(application)] = through(self.ring, application.network, inputs)
        return self._applied[id(application)]

    def _course(self, flow: Flow) -> Course:
        if id(flow) not in self._courses:
            start = {v.name: self.form(v) for v in flow.variables}
            self._courses[id(flow)] = Course(self.ring, flow, start, self.form, self.fine)
        return self._courses[id(flow)]

    def _greatest(self, forms: Sequence[Form]) -> Form:
        """``max(x, y) = y + max(x - y, 0)``, operand by operand."""
        ring, best = self.ring, forms[0]
        for form in forms[1:]:
            best = ring.add(form, ring.apply("relu", ring.add(best, ring.scale(form, Fraction(-1)))))
        return best

    def _options(self, node: Expr | Condition, able: Bools) -> Bools:
        """Which options of a choice are possible, one in each box unless nothing is assumed and none is forked."""
        if id(node) in self.assumed:
            return np.asarray(self.assumed[id(node)][:, None] == np.arange(able.shape[1]))
        if self.forking and (able.sum(1) > 1).any():
            raise OpenChoiceError(id(node), able)
        return able

    def _winners(self, scores: Sequence[Form]) -> Bools:
        """(B, n): which scores can be the greatest, the first of those that are equal."""
        able = np.ones((self.ring.size, len(scores)), dtype=bool)
        for i, left in enumerate(scores):
            for j, right in enumerate(scores):
                if i != j:
                    low, _ = self.ring.rest_of(right, left).ends
                    able[:, i] &= ~((low > 0) | ((low == 0) & (j < i)))
        able[~able.any(1)] = True  # bounds that contradict each other: any superset is right
        return able

    def _chosen(self, forms: Sequence[Form], able: Bools) -> Form:
        """One of several forms in each box, or anything that a possible one takes."""
        width = max(form.z.shape[1] for form in forms) - 1
        first = able.argmax(1)
        rows = np.arange(self.ring.size)
        z = np.stack([form.wide(width) for form in forms])[first, rows]
        e = np.stack([form.e for form in forms])[first, rows]
        if (able.sum(1) > 1).any():
            low, high = (np.stack([form.ends[end] for form in forms], 1) for end in (0, 1))
            several = able.sum(1) > 1
            flat = self.ring.between(np.where(able, low, np.inf).min(1), np.where(able, high, -np.inf).max(1))
            z = np.where(several[:, None], flat.wide(width), z)
            e = np.where(several, flat.e, e)
        return Form(z, e)

    def truth(self, condition: Condition) -> tuple[Bools, Bools]:
        """Where a condition certainly holds, and where it certainly does not: (B,) twice."""
        match condition:
            case Truth(value):
                return np.full(self.ring.size, value), np.full(self.ring.size, not value)
            case Compare(expr, relation):
                return certain(self.form(expr), relation)
            case All(parts) | Any(parts):
                found = [self.truth(part) for part in parts]
                join, meet = np.logical_or.reduce, np.logical_and.reduce
                if isinstance(condition, Any):
                    join, meet = meet, join
                return np.asarray(meet([y for y, _ in found])), np.asarray(join([n for _, n in found]))
        raise TypeError(type(condition))


def certain(form: Form, relation: Relation) -> tuple[Bools, Bools]:
    """Where ``form relation 0`` certainly holds, and where it certainly does not."""
    lo, hi = form.ends
    return relation.certain(lo, hi), relation.negated.certain(lo, hi)
