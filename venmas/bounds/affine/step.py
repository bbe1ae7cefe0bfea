"""Expressions and conditions of a system over affine forms."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

import numpy as np

from venmas.bounds.affine.flow import Course
from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.laws import Laws, between
from venmas.bounds.affine.networks import through
from venmas.bounds.affine.pieces import in_pieces
from venmas.bounds.evaluation import Bounding
from venmas.bounds.rounding import Bools, Floats, Index, Ints
from venmas.logic.linear import Relation
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


def unknown(*nodes: Expr | Condition) -> str | None:
    """The kind of a node in a graph that is not known here, None where all are."""
    strange = (here for here in walk(nodes) if not isinstance(here, (*KNOWN, Compare, All, Any, Truth)))
    return next((type(here).__name__.lower() for here in strange), None)


Guards: TypeAlias = Callable[[Index, Ints], list[Form]]


class OpenChoiceError(Exception):
    """A choice that forms leave open in some boxes.

    key: of its node. able: (B, options), which are possible. guards: by rows (R,) and their options (R,), forms of R
    rows none of which is negative where these are taken; of an option -1, any of them.
    """

    def __init__(self, key: int, able: Bools, guards: Guards) -> None:
        super().__init__(key)
        self.key, self.able, self.guards = key, able, guards


def _picked(forms: Sequence[Form], rows: Index, options: Ints) -> Form:
    """One of several forms in each of some rows; 0 for an option -1."""
    width = max(form.z.shape[1] for form in forms) - 1
    z, e = np.zeros((len(rows), 1 + width)), np.zeros(len(rows))
    for option, form in enumerate(forms):
        at = np.flatnonzero(options == option)
        z[at, : form.z.shape[1]], e[at] = form.z[rows[at]], form.e[rows[at]]
    return Form(z, e)


class Values(Bounding[Form, list[Form]]):
    """Forms of expressions in one state of each box; what is read twice has one form.

    A condition or an argmax has the option that is `assumed` of it, (B,) by the id of the node; -1: any that is
    possible. Where it is open else,
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
        laws: MutableMapping[Hashable, Laws] | None = None,
        single: bool = False,
    ) -> None:
        """state: forms of the variables. ring: new symbols are made in it; it is told where values may not exist. laws:
        those that are known, by policy and actions, where actions are to follow such ones. single: networks in any
        float32 evaluation."""
        super().__init__()
        self.ring, self.state, self.fine, self.size = ring, state, fine, ring.size
        self.assumed, self.forking, self.laws, self.single = assumed or {}, forking, laws, single

    def _constant(self, value: Fraction) -> Form:
        return self.ring.constant(value)

    def _variable(self, name: str) -> Form:
        return self.state[name]

    def _linear(self, terms: Sequence[tuple[Fraction, Form]], constant: Fraction) -> Form:
        return self.ring.combine(terms, constant)

    def _network(self, network: Network, inputs: Sequence[Form]) -> list[Form]:
        if self.fine.pieces and not self.single:
            return in_pieces(self.ring, network, inputs, self.fine.pieces)
        return through(self.ring, network, inputs, self.single)

    def _output(self, outputs: list[Form], index: int) -> Form:
        return outputs[index]

    def _maximum(self, operands: Iterable[Form]) -> Form:
        """``max(x, y) = y + max(x - y, 0)``, operand by operand."""
        ring, (best, *rest) = self.ring, operands
        for form in rest:
            ends = [np.maximum(one, other) for one, other in zip(best.ends, form.ends, strict=True)]
            best = ring.add(form, ring.apply("relu", ring.add(best, ring.scale(form, Fraction(-1)))))
            best.known = ends[0], ends[1]
        return best

    def _argmax(self, node: ArgMax) -> Form:
        scores = [self.value(e) for e in node.scores]

        def guards(rows: Index, options: Ints) -> list[Form]:
            ring, taken, made = Forms(len(rows)), _picked(scores, rows, options), list[Form]()
            for place in range(len(scores) - 1):  # beside each winner, all others in order
                form = ring.rest_of(taken, _picked(scores, rows, place + (place >= options)))
                form.z[options < 0], form.e[options < 0] = 0.0, 0.0
                made.append(form)
            return made

        possible = self._options(node, self._winners(scores), guards)
        places = np.arange(len(node.scores), dtype=float)
        return self.ring.between(np.where(possible, places, np.inf).min(1), np.where(possible, places, -np.inf).max(1))

    def _switch(self, node: Switch) -> Form:
        if self.laws is not None and (law := self._law(node)) is not None:
            return law
        low, high = self.value(node.selector).ends
        possible = np.stack([(low <= value) & (value <= high) for value, _ in node.cases], 1)
        possible[~possible.any(1)] = True  # the range of the selector is checked where it is assigned
        return self._chosen([e for _, e in node.cases], self._options(node, possible, lambda _rows, _options: []))

    def _law(self, node: Switch) -> Form | None:
        """The action of a policy as laws; None where it is no policy, or there is no law in some box."""
        assert self.laws is not None
        scores = node.selector.scores if isinstance(node.selector, ArgMax) else ()
        outputs = [score for score in scores if isinstance(score, Output)]
        cases = {label: expr.value for label, expr in node.cases if isinstance(expr, Constant)}
        policies = {id(score.application): score.application for score in outputs}
        if len(policies) != 1 or len(outputs) < len(scores) or not cases.keys() >= set(range(len(scores))):
            return None
        (policy,) = policies.values()
        if [score.index for score in outputs] != list(range(policy.network.output_size)):
            return None
        actions = tuple(cases[label] for label in range(len(scores)))
        if (laws := self.laws.get((policy, actions))) is None:
            laws = self.laws[policy, actions] = Laws(policy.network, np.array(actions, dtype=float))
        inputs = [self.value(e) for e in policy.inputs]
        y = np.stack([form.wide(self.ring.symbols) for form in inputs], 1)
        e = np.stack([form.e for form in inputs], 1)
        taken = [law for b in range(self.size) if (law := laws.of(y[b, :, 0], y[b, :, 1:], e[b])) is not None]
        if len(taken) < self.size:
            return None
        form = between(taken, inputs, self.ring.symbols)
        ends = self.ring.constant(min(actions)).ends[0], self.ring.constant(max(actions)).ends[1]
        return self.ring.fresh(Form(form.z, form.e, known=ends))

    def _where(self, node: Where) -> Form:
        yes, no = self.truth(node.condition)

        def guards(rows: Index, options: Ints) -> list[Form]:
            side = _side(node.condition)
            if side is None:
                return []
            form = self.value(side[0])
            turned = Form(-form.z, form.e)
            return [_picked([turned, form] if side[1] > 0 else [form, turned], rows, options)]

        possible = self._options(node.condition, np.stack([~yes, ~no], 1), guards)
        return self._chosen([node.otherwise, node.then], possible)

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

    def _options(self, node: Expr | Condition, able: Bools, guards: Guards) -> Bools:
        """Possible options of a choice, one in each box unless nothing is assumed and none is forked."""
        if id(node) in self.assumed:
            taken = self.assumed[id(node)][:, None]
            return np.where(taken < 0, able, taken == np.arange(able.shape[1]))
        if self.forking and (able.sum(1) > 1).any():
            raise OpenChoiceError(id(node), able, guards)
        return able

    def _winners(self, scores: Sequence[Form]) -> Bools:
        """(B, n): which scores can be the greatest, the first of those that are equal."""
        possible = np.ones((self.size, len(scores)), dtype=bool)
        for (i, left), (j, right) in combinations(enumerate(scores), 2):
            low, high = self.ring.rest_of(right, left).ends
            possible[:, i] &= ~(low > 0)
            possible[:, j] &= ~(high <= 0)
        possible[~possible.any(1)] = True  # bounds that contradict each other: any superset is right
        return possible

    def _chosen(self, options: Sequence[Expr], able: Bools) -> Form:
        """One of several options in each box, or anything that a possible one takes.

        What is possible in no box is not evaluated: of nine networks that a state chooses from, mostly one is asked.
        """
        possible = able | ~able.any(1, keepdims=True)  # bounds that contradict each other: any superset is right
        places = np.flatnonzero(possible.any(0)).tolist() if self.size else [0]
        forms, possible = [self.value(options[i]) for i in places], possible[:, places]
        if len(forms) == 1:
            return self.ring.fresh(forms[0])
        width = max(form.z.shape[1] for form in forms) - 1
        first = possible.argmax(1)
        rows = np.arange(self.size)
        z = np.stack([form.wide(width) for form in forms])[first, rows]
        e = np.stack([form.e for form in forms])[first, rows]
        low, high = (np.stack([form.ends[end] for form in forms], 1) for end in (0, 1))
        known = np.where(possible, low, np.inf).min(1), np.where(possible, high, -np.inf).max(1)
        if (possible.sum(1) > 1).any():
            several = possible.sum(1) > 1
            flat = self.ring.between(*known)
            z = np.where(several[:, None], flat.wide(width), z)
            e = np.where(several, flat.e, e)
        return self.ring.fresh(Form(z, e, known=known))

    def _ends(self, value: Form) -> tuple[Floats, Floats]:
        return value.ends


def _side(condition: Condition) -> tuple[Expr, int] | None:
    """The expression of a comparison, and the sign that it has, if any, where that holds; else it has the other one."""
    if not isinstance(condition, Compare) or condition.relation in (Relation.EQ, Relation.NE):
        return None
    return condition.expr, 1 if condition.relation in (Relation.GT, Relation.GE) else -1
