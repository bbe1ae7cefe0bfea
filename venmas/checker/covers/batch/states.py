"""Sets of states in batches, and what expressions, conditions and steps make of them (`flowpipes.state`, many at once).

A truth is two masks: of the sets in which it holds in all states, and of those in which it does in none. A choice that
is open in some of the sets makes a row of each of its outcomes, kept to the states that have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from venmas.checker.covers.batch.flow import Moved
from venmas.checker.covers.batch.forms import Bools, Form, Forms, between, not_negative, together
from venmas.checker.covers.batch.networks import apply_network
from venmas.checker.covers.batch.reduce import reduced
from venmas.checker.flowpipes.curves import BeyondError
from venmas.logic.linear import Comparison, Relation
from venmas.model.evaluation.cuts import Fineness
from venmas.model.evaluation.evaluation import Evaluation
from venmas.model.expressions.expr import (
    All,
    ArgMax,
    Compare,
    Condition,
    Expr,
    Product,
    Quotient,
    Smooth,
    Switch,
    Variable,
    Where,
)
from venmas.model.expressions.smooth_nodes import Apply, Flow
from venmas.model.system.parts import Branch
from venmas.model.system.system import System
from venmas.nn import Network

Ints = NDArray[np.int64]
Truth = tuple[Bools, Bools]

_MOST = 64
"""Sets that a step makes of one, at most."""
_SIDES = {Relation.GT: (1,), Relation.GE: (1,), Relation.LT: (-1,), Relation.LE: (-1,), Relation.EQ: (1, -1)}


class _OpenError(Exception):
    """A choice that has several outcomes in some sets. possible: (B, outcomes)."""

    def __init__(self, node: Expr, possible: Bools) -> None:
        self.node, self.possible = node, possible


class Sets(Evaluation[Form, Truth, list[Form]]):
    """A batch of sets. forms: of the variables, over `symbols` symbols. fine: of flows.

    assumed: the outcome of a choice in each set, (B,); None: an open choice gives all that it may. single: networks in
    any float32 evaluation. Raises `BeyondError`, `UnsupportedError`.
    """

    def __init__(
        self,
        system: System,
        ring: Forms,
        forms: Mapping[str, Form],
        fine: Fineness,
        single: bool,
        assumed: Mapping[Expr, Ints] | None = None,
    ) -> None:
        super().__init__()
        self.system, self.ring, self.forms = system, ring, forms
        self.fine, self.single, self.assumed, self.symbols = fine, single, assumed, ring.symbols

    def __len__(self) -> int:
        return self.ring.size

    def having(
        self, forms: Mapping[str, Form], symbols: int | None = None, assumed: Mapping[Expr, Ints] | None = None
    ) -> Sets:
        """As many sets of other states."""
        ring = Forms(self.ring.size, self.ring.bits, self.symbols if symbols is None else symbols)
        return Sets(self.system, ring, forms, self.fine, self.single, assumed)

    def rows(self, rows: Ints) -> Sets:
        """Some of the sets."""
        if len(rows) == len(self) and bool((rows == np.arange(len(rows))).all()):
            return self
        ring = Forms(len(rows), self.ring.bits, self.symbols)
        return Sets(self.system, ring, {n: f.rows(rows) for n, f in self.forms.items()}, self.fine, self.single)

    # -- values --------------------------------------------------------------------------------------------------------

    def value(self, expr: Expr) -> Form:
        """The value of an expression."""
        return self.forms[expr.name] if type(expr) is Variable else super().value(expr)

    def _constant(self, value: Fraction) -> Form:
        return self.ring.constant(value)

    def _variable(self, name: str) -> Form:
        return self.forms[name]

    def _linear(self, terms: Sequence[tuple[Fraction, Form]], constant: Fraction) -> Form:
        return self.ring.combine(terms, constant)

    def _network(self, network: Network, inputs: Sequence[Form]) -> list[Form]:
        return apply_network(network, inputs, self.ring, self.single)

    def _output(self, outputs: list[Form], index: int) -> Form:
        return outputs[index]

    def _maximum(self, operands: Iterable[Form]) -> Form:
        return reduce(lambda one, other: self.ring.fresh(self.ring.maximum(one, other)), operands)

    def _argmax(self, node: ArgMax) -> Form:
        possible = self._outcomes(node, self._winners(node.scores))
        first, last = possible.argmax(1), possible.shape[1] - 1 - possible[:, ::-1].argmax(1)
        return between(first << self.ring.bits, last << self.ring.bits)

    def _switch(self, node: Switch) -> Form:
        low, high = self.value(node.selector).ends
        bits = self.ring.bits
        first, last = -(-low >> bits), high >> bits
        return self._chosen(
            [e for _, e in node.cases], np.stack([(first <= i) & (i <= last) for i, _ in node.cases], 1)
        )

    def _where(self, node: Where) -> Form:
        yes, no = self.truth(node.condition)
        possible = self._outcomes(node, np.stack([~yes, ~no], 1))
        return self._chosen([node.otherwise, node.then], possible)

    def _smooth(self, node: Smooth) -> Form:
        match node:
            case Product(left, right):
                return self.ring.fresh(self.ring.multiply(self.value(left), self.value(right)))
            case Quotient(left, right):
                return self.ring.fresh(self.ring.divide(self.value(left), self.value(right)))
            case Apply(function, operand):
                return self.ring.fresh(self.ring.apply(function, self.value(operand)))
        return super()._smooth(node)

    def _flow(self, flow: Flow) -> Moved:
        start = {name: self.forms[name] for name in flow.names}
        return Moved(self.ring, flow, start, self.value, self.fine)

    def _outcomes(self, node: Expr, possible: Bools) -> Bools:
        """Those of a choice that are to be looked at. Raises `_OpenError` where each is to be assumed by itself."""
        if self.assumed is None:
            return possible
        if node in self.assumed:
            return np.asarray(self.assumed[node][:, None] == np.arange(possible.shape[1]))
        if (possible.sum(1) > 1).any():
            raise _OpenError(node, possible)
        return possible

    def _winners(self, scores: Sequence[Expr]) -> Bools:
        """Indices that may have the greatest score: (B, scores)."""
        forms = [self.value(s) for s in scores]
        possible = np.ones((len(self), len(forms)), dtype=bool)
        for i, form in enumerate(forms):
            for j in range(i):
                low, high = self.ring.difference(forms[j], form).ends
                possible[:, i] &= low < 0  # of those that are equal the first one wins
                possible[:, j] &= high >= 0
        possible[~possible.any(1)] = True  # such sets are empty
        return possible

    def _chosen(self, options: Sequence[Expr], possible: Bools) -> Form:
        """The option that is possible, or all values of several."""
        places = np.flatnonzero(possible.any(0)).tolist()
        if not possible.any(1).all():
            raise BeyondError("a selector may be none of its cases")
        forms, possible = [self.value(options[i]) for i in places], possible[:, places]
        if len(forms) == 1 or all(form is forms[0] for form in forms):
            return self.ring.fresh(forms[0])
        one = self.ring.chosen(possible.argmax(1), forms)
        several = possible.sum(1) > 1
        if not several.any():
            return self.ring.fresh(one)
        far = np.int64(1 << 61)
        low = np.stack([form.ends[0] for form in forms], 1)
        high = np.stack([form.ends[1] for form in forms], 1)
        every = between(np.where(possible, low, far).min(1), np.where(possible, high, -far).max(1))
        return self.ring.fresh(self.ring.chosen(several.astype(np.int64), [one, every]))

    # -- truth ---------------------------------------------------------------------------------------------------------

    def _known(self, value: bool) -> Truth:
        return np.full(len(self), value), np.full(len(self), not value)

    def _compare(self, node: Compare) -> Truth:
        return _decided(self.value(node.expr), node.relation)

    def _every(self, truths: Iterable[Truth]) -> Truth:
        both = list(truths)
        return _all([yes for yes, _ in both], len(self)), _some([no for _, no in both], len(self))

    def _some(self, truths: Iterable[Truth]) -> Truth:
        both = list(truths)
        return _some([yes for yes, _ in both], len(self)), _all([no for _, no in both], len(self))

    def atom(self, comparison: Comparison) -> Truth:
        """The truth of a comparison of a formula."""
        terms = [(factor, self.forms[name]) for name, factor in comparison.expr.terms]
        return _decided(self.ring.combine(terms, comparison.expr.constant), comparison.relation)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def after(self, branch: Branch, most: int | None) -> tuple[Sets, Ints] | None:
        """The sets that follow by a branch, and which one each follows; None where no state can take it.

        most: symbols of a form that are kept; None: all.
        """
        origin = np.arange(len(self))
        start = self
        if not branch.always:
            origin = np.flatnonzero(~self.truth(branch.guard)[1])
            if not len(origin):
                return None
            start = self.rows(origin)._meeting(branch.guard)
        at, assumed = start, dict[Expr, Ints]()
        while True:
            made = at.having(at.forms, assumed=assumed)
            try:
                return made._followed(branch, most), origin
            except _OpenError as choice:
                rows, outcomes = np.nonzero(choice.possible)
                if int(np.bincount(origin[rows]).max()) > _MOST:
                    raise BeyondError("too many outcomes") from None
                forms = made._having(choice.node, rows, outcomes)
                at, origin = (
                    Sets(self.system, Forms(len(rows), self.ring.bits, at.symbols), forms, self.fine, self.single),
                    origin[rows],
                )
                assumed = {node: taken[rows] for node, taken in assumed.items()} | {choice.node: outcomes}

    def _having(self, node: Expr, rows: Ints, outcomes: Ints) -> dict[str, Form]:
        """Forms of the states of some sets where a choice has an outcome, and maybe of others."""
        ring, guards = Forms(len(rows), self.ring.bits, self.ring.symbols), list[Form]()
        match node:
            case ArgMax(scores):
                values = [self.value(score).rows(rows) for score in scores]
                ahead = ring.chosen(outcomes, values)
                for k in range(len(scores) - 1):  # none of the others is greater
                    guards.append(ring.difference(ahead, ring.chosen(k + (k >= outcomes), values)))
            case Where(condition=Compare(expr, relation)):
                form = self.value(expr).rows(rows)
                sides = [_SIDES.get(one, ()) for one in (relation.negated, relation)]
                for k in range(max(map(len, sides))):
                    sign = np.array([side[k] if k < len(side) else 0 for side in sides])[outcomes]
                    guards.append(Form(form.z * sign[:, None], form.e * np.abs(sign), form.bound))
        forms = {name: form.rows(rows) for name, form in self.forms.items()}
        return _kept(forms, guards)

    def _meeting(self, condition: Condition) -> Sets:
        """The states where a condition holds, and maybe others."""
        match condition:
            case All(parts):
                states = self
                for part in parts:
                    states = states._meeting(part)
                return states
            case Compare(expr, relation) if relation is not Relation.NE:
                states = self
                for side in _SIDES[relation]:
                    form = states.value(expr)
                    guard = form if side > 0 else Form(-form.z, form.e, form.bound)
                    states = self.having(not_negative(states.forms, guard))
                return states
        return self

    def _followed(self, branch: Branch, most: int | None) -> Sets:
        updates = dict(branch.updates)
        forms = {
            name: self.value(updates[name]) if name in updates else self.forms[name] for name in self.system.variables
        }
        if most is None:
            return self.having(forms, self.ring.symbols)
        made, symbols = reduced(forms, self.ring, most)
        return self.having(made, symbols)


def joined(sets: Sequence[Sets]) -> Sets:
    """Several batches in one."""
    if len(sets) == 1:
        return sets[0]
    first = sets[0]
    ring = Forms(sum(map(len, sets)), first.ring.bits, max(part.symbols for part in sets))
    forms = {name: together([part.forms[name] for part in sets]) for name in first.forms}
    return Sets(first.system, ring, forms, first.fine, first.single)


def _kept(forms: Mapping[str, Form], guards: Sequence[Form]) -> dict[str, Form]:
    """The forms where none of some others is negative."""
    every = {**forms, **{f" {i}": guard for i, guard in enumerate(guards)}}  # no names of variables
    for i in range(len(guards)):
        every = not_negative(every, every[f" {i}"])
    return {name: every[name] for name in forms}


def _decided(form: Form, relation: Relation) -> Truth:
    low, high = form.ends
    return relation.certain(low, high), relation.negated.certain(low, high)


def _all(masks: Sequence[Bools], size: int) -> Bools:
    return np.logical_and.reduce(masks) if masks else np.ones(size, dtype=bool)


def _some(masks: Sequence[Bools], size: int) -> Bools:
    return np.logical_or.reduce(masks) if masks else np.zeros(size, dtype=bool)
