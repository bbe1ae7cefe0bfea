"""Expressions and conditions of a system over affine forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from venmas.bounds.affine.flow import Course
from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.networks import through
from venmas.bounds.evaluation import Bounding
from venmas.bounds.rounding import Bools, Floats, Ints
from venmas.model.evaluation.cuts import Fineness
from venmas.model.expressions.conditions import All, Any, Compare, Condition, Truth
from venmas.model.expressions.expr import (
    ArgMax,
    Constant,
    Expr,
    Maximum,
    Output,
    Product,
    Quotient,
    Smooth,
    Sum,
    Switch,
    Variable,
    Where,
)
from venmas.model.expressions.smooth_nodes import Apply, End, Extremum, Flow, Held
from venmas.model.expressions.walk import walk
from venmas.nn import Network

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


class Values(Bounding[Form, list[Form]]):
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
        super().__init__()
        self.ring, self.state, self.fine, self.size = ring, state, fine, ring.size
        self.assumed, self.forking = assumed or {}, forking

    def _constant(self, value: Fraction) -> Form:
        return self.ring.constant(value)

    def _variable(self, name: str) -> Form:
        return self.state[name]

    def _linear(self, terms: Sequence[tuple[Fraction, Form]], constant: Fraction) -> Form:
        return self.ring.combine(terms, constant)

    def _network(self, network: Network, inputs: Sequence[Form]) -> list[Form]:
        return through(self.ring, network, inputs)

    def _output(self, outputs: list[Form], index: int) -> Form:
        return outputs[index]

    def _maximum(self, operands: Iterable[Form]) -> Form:
        """``max(x, y) = y + max(x - y, 0)``, operand by operand."""
        ring, (best, *rest) = self.ring, operands
        for form in rest:
            best = ring.add(form, ring.apply("relu", ring.add(best, ring.scale(form, Fraction(-1)))))
        return best

    def _argmax(self, node: ArgMax) -> Form:
        possible = self._options(node, self._winners([self.value(e) for e in node.scores]))
        places = np.arange(len(node.scores), dtype=float)
        return self.ring.between(np.where(possible, places, np.inf).min(1), np.where(possible, places, -np.inf).max(1))

    def _switch(self, node: Switch) -> Form:
        low, high = self.value(node.selector).ends
        possible = np.stack([(low <= value) & (value <= high) for value, _ in node.cases], 1)
        possible[~possible.any(1)] = True  # the range of the selector is checked where it is assigned
        return self._chosen([self.value(e) for _, e in node.cases], self._options(node, possible))

    def _where(self, node: Where) -> Form:
        yes, no = self.truth(node.condition)
        possible = self._options(node.condition, np.stack([~yes, ~no], 1))
        return self._chosen([self.value(node.otherwise), self.value(node.then)], possible)

    def _smooth(self, node: Smooth) -> Form:
        match node:
            case Product(left, right):
                return self.ring.multiply(self.value(left), self.value(right))
            case Quotient(left, right):
                return self.ring.divide(self.value(left), self.value(right))
            case Apply(function, operand):
                return self.ring.fresh(self.ring.apply(function, self.value(operand)))
        return super()._smooth(node)

    def _flow(self, flow: Flow) -> Course:
        start = {v.name: self.value(v) for v in flow.variables}
        return Course(self.ring, flow, start, self.value, self.fine)

    def _options(self, node: Expr | Condition, able: Bools) -> Bools:
        """Possible options of a choice, one in each box unless nothing is assumed and none is forked."""
        if id(node) in self.assumed:
            return np.asarray(self.assumed[id(node)][:, None] == np.arange(able.shape[1]))
        if self.forking and (able.sum(1) > 1).any():
            raise OpenChoiceError(id(node), able)
        return able

    def _winners(self, scores: Sequence[Form]) -> Bools:
        """(B, n): which scores can be the greatest, the first of those that are equal."""
        possible = np.ones((self.size, len(scores)), dtype=bool)
        for i, left in enumerate(scores):
            for j, right in enumerate(scores):
                if i != j:
                    low, _ = self.ring.rest_of(right, left).ends
                    possible[:, i] &= ~((low > 0) | ((low == 0) & (j < i)))
        possible[~possible.any(1)] = True  # bounds that contradict each other: any superset is right
        return possible

    def _chosen(self, forms: Sequence[Form], able: Bools) -> Form:
        """One of several forms in each box, or anything that a possible one takes."""
        width = max(form.z.shape[1] for form in forms) - 1
        first = able.argmax(1)
        rows = np.arange(self.size)
        z = np.stack([form.wide(width) for form in forms])[first, rows]
        e = np.stack([form.e for form in forms])[first, rows]
        if (able.sum(1) > 1).any():
            low, high = (np.stack([form.ends[end] for form in forms], 1) for end in (0, 1))
            several = able.sum(1) > 1
            flat = self.ring.between(np.where(able, low, np.inf).min(1), np.where(able, high, -np.inf).max(1))
            z = np.where(several[:, None], flat.wide(width), z)
            e = np.where(several, flat.e, e)
        return Form(z, e)

    def _ends(self, value: Form) -> tuple[Floats, Floats]:
        return value.ends
