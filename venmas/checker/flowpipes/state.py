"""Sets of states as affine forms of all variables over common symbols, and what expressions, conditions, steps make of
them.

Noise of later steps has no symbol: it is a radius, until it is that of a step. After a step all other radii become
symbols of their own. Where there are more than are allowed besides one a variable, those
with the greatest sum less maximum of |g_i| by the size of the form, over the variables, are kept; of the others each
variable has one. Of the states of a set those where a guard holds are enough: each comparison in it, by itself or as
one of several that all have to hold, says of a form, or of its negative, that it is not negative (``==`` of both,
``!=`` of none): with u the upper end of its range, s_i is ``sign(g_i) (1 - p_i) + p_i t_i`` for a new symbol t_i,
where p_i is min(1, u / (2 |g_i|)) rounded up to a multiple of 2^-16.

Everything encloses. Where a step depends on a choice that is open (an argmax, or a where), each of its outcomes makes a
set of its own from the states that have it, told as by a guard: of an argmax no other score is greater, of a where that
makes one comparison this holds, or its negation. Where sets become too many, and in guards, a choice gives all that it
may.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.checker.flowpipes import rows
from venmas.checker.flowpipes.flow import Moved
from venmas.checker.flowpipes.forms import Form, Forms, between, not_negative
from venmas.checker.flowpipes.networks import apply_network
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.logic.linear import Comparison, Relation
from venmas.model.evaluation.cuts import Fineness
from venmas.model.evaluation.elementary.function import Pair
from venmas.model.evaluation.evaluation import Evaluation, every, some
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
    children,
)
from venmas.model.expressions.smooth_nodes import Apply, Extremum, Flow
from venmas.model.system.disturbances import ahead
from venmas.model.system.parts import Branch
from venmas.model.system.system import System
from venmas.nn import Network

_MOST = 64
"""Sets that a step makes of one, at most."""
Outcomes = Mapping[Expr, int]
_SIDES = {Relation.GT: (1,), Relation.GE: (1,), Relation.LT: (-1,), Relation.LE: (-1,), Relation.EQ: (1, -1)}


class _OpenError(Exception):
    """A choice with several outcomes."""

    def __init__(self, node: Expr, outcomes: Sequence[int]) -> None:
        self.node, self.outcomes = node, outcomes


class States(Evaluation[Form, bool | None, list[Form]]):
    """A set of states. forms: one a variable, over `symbols` symbols. A truth is None where states differ in it.

    Raises `OutsideError` where an expression may have no value.
    assumed: outcomes of choices, for all states; None: an open choice gives all that it may. single: networks in any
    float32 evaluation.
    """

    def __init__(
        self,
        system: System,
        forms: Mapping[str, Form],
        symbols: int,
        bits: int,
        fine: Fineness,
        assumed: Outcomes | None = None,
        single: bool = False,
    ) -> None:
        super().__init__()
        self.system, self.forms, self.fine, self.assumed, self.single = system, forms, fine, assumed, single
        self.ring, self.symbols = Forms(bits, symbols), symbols
        self._next: dict[str, list[States]] = {}

    def having(self, forms: Mapping[str, Form], symbols: int | None = None, assumed: Outcomes | None = None) -> States:
        """A set of other states, told in the same way."""
        count = self.symbols if symbols is None else symbols
        return States(self.system, forms, count, self.ring.bits, self.fine, assumed, self.single)

    # -- values --------------------------------------------------------------------------------------------------------

    def value(self, expr: Expr) -> Form:
        """The value of an expression: there may be many variables, such as noise that only comes a step nearer."""
        return self.forms[expr.name] if type(expr) is Variable else super().value(expr)

    def _constant(self, value: Fraction) -> Form:
        return self.ring.constant(value)

    def _variable(self, name: str) -> Form:
        return self.forms[name]

    def _linear(self, terms: Sequence[tuple[Fraction, Form]], constant: Fraction) -> Form:
        parts = [self.ring.scale(part, factor) for factor, part in terms]
        if constant or not parts:
            parts.insert(0, self.ring.constant(constant))
        return reduce(self.ring.add, parts)

    def _network(self, network: Network, inputs: Sequence[Form]) -> list[Form]:
        return apply_network(network, inputs, self.ring, self.single)

    def _output(self, outputs: list[Form], index: int) -> Form:
        return outputs[index]

    def _maximum(self, operands: Iterable[Form]) -> Form:
        return reduce(lambda one, other: self.ring.fresh(self.ring.maximum(one, other)), operands)

    def _argmax(self, node: ArgMax) -> Form:
        winners = self._outcomes(node, self._winners(node.scores))
        return between(winners[0] << self.ring.bits, winners[-1] << self.ring.bits)

    def _switch(self, node: Switch) -> Form:
        low, high = self._integers(node.selector)
        return self.ring.fresh(_hull([self.value(e) for i, e in node.cases if low <= i <= high]))

    def _where(self, node: Where) -> Form:
        truth = self.truth(node.condition)
        outcomes = self._outcomes(node, [1, 0] if truth is None else [int(truth)])
        return self.ring.fresh(_hull([self.value(node.then if outcome else node.otherwise) for outcome in outcomes]))

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
        extrema = [n for n in _extrema(self.system) if n.flow is flow]
        return Moved(self.ring, flow, start, self.value, extrema, self.fine)

    def _outcomes(self, node: Expr, possible: Sequence[int]) -> Sequence[int]:
        """Those of a choice that are to be looked at. Raises `_OpenError` where each is to be assumed by itself."""
        if len(possible) == 1 or self.assumed is None:
            return possible
        if node not in self.assumed:
            raise _OpenError(node, possible)
        return [self.assumed[node]]

    def _winners(self, scores: Sequence[Expr]) -> list[int]:
        """Indices that may have the greatest score, in order."""
        forms = [self.value(s) for s in scores]

        def beaten(i: int, j: int) -> bool:
            ahead = self.ring.add(forms[j], self.ring.scale(forms[i], Fraction(-1))).range[0]
            return ahead > 0 or (ahead == 0 and j < i)

        return [i for i in range(len(forms)) if not any(beaten(i, j) for j in range(len(forms)) if j != i)]

    def _integers(self, expr: Expr) -> Pair:
        """The integers that an integer expression may be, from the first to the last."""
        low, high = self.value(expr).range
        bits = self.ring.bits
        return -(-low >> bits), high >> bits

    # -- truth ---------------------------------------------------------------------------------------------------------

    def _known(self, value: bool) -> bool | None:
        return value

    def _compare(self, node: Compare) -> bool | None:
        return node.relation.decide(*self.value(node.expr).range)

    def _every(self, truths: Iterable[bool | None]) -> bool | None:
        return every(truths)

    def _some(self, truths: Iterable[bool | None]) -> bool | None:
        return some(truths)

    def atom(self, comparison: Comparison) -> bool | None:
        """The truth of a comparison of a formula."""
        terms, constant = comparison.expr.terms, comparison.expr.constant
        if len(terms) == 1 and terms[0][1] in (1, -1):
            name, factor = terms[0]
            return comparison.relation.decide(*self.ring.ends(self.forms[name], factor.numerator, constant))
        total = self._linear([(factor, self.forms[name]) for name, factor in terms], constant)
        return comparison.relation.decide(*total.range)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def after(self, branch: Branch) -> list[States]:
        """The states that follow by a branch: a set for each outcome of what the step has to choose."""
        return self.follow(branch, _MOST)

    def follow(self, branch: Branch, most: int) -> list[States]:
        """The same, with at most so many sets where that was not asked before."""
        if branch.name not in self._next:
            self._next[branch.name] = [made._followed(branch) for made in self._assuming(branch, min(most, _MOST))]
        return self._next[branch.name]

    def take(self, branch: Branch, after: list[States]) -> None:
        """Let sets that have all states which follow by a branch be those that do."""
        self._next[branch.name] = after

    def _assuming(self, branch: Branch, most: int) -> list[States]:
        """The states that can take a branch, and maybe others, under assumptions that cover all its outcomes."""
        found: list[States] = []
        start = self._meeting(branch.guard)
        left: list[tuple[Mapping[str, Form], dict[Expr, int]]] = [(start.forms, {})]
        while left:
            forms, assumed = left.pop()
            if len(found) + len(left) >= most:
                return [start]
            made = self.having(forms, assumed=assumed)
            try:
                for _, update in branch.updates:
                    made.value(update)
                found.append(made)
            except _OpenError as choice:
                node = choice.node
                left += [(made._having(node, outcome), {**assumed, node: outcome}) for outcome in choice.outcomes]
        return found

    def _having(self, node: Expr, outcome: int) -> dict[str, Form]:
        """Forms of the states where a choice has an outcome, and maybe of others."""
        ring, guards = self.ring, list[Form]()
        match node:
            case ArgMax(scores):
                ahead = self.value(scores[outcome])
                others = [score for i, score in enumerate(scores) if i != outcome]
                guards = [ring.add(ahead, ring.scale(self.value(other), Fraction(-1))) for other in others]
            case Where(condition=Compare(expr, relation)):
                told = relation if outcome else relation.negated
                guards = [ring.scale(self.value(expr), Fraction(side)) for side in _SIDES.get(told, ())]
        forms = {**self.forms, **{f" {i}": guard for i, guard in enumerate(guards)}}  # no names of variables
        for i in range(len(guards)):
            forms = not_negative(forms, forms[f" {i}"])
        return {name: forms[name] for name in self.forms}

    def _meeting(self, condition: Condition) -> States:
        """The states where a condition holds, and maybe others."""
        match condition:
            case All(parts):
                states = self
                for part in parts:
                    states = states._meeting(part)
                return states
            case Compare(expr, relation) if relation is not Relation.NE:
                forms = self.forms
                for side in _SIDES[relation]:
                    states = self.having(forms)
                    forms = not_negative(forms, self.ring.scale(states.value(expr), Fraction(side)))
                return self.having(forms)
        return self

    def _followed(self, branch: Branch) -> States:
        updates = dict(branch.updates)
        forms, waiting = dict[str, Form](), dict[str, Form]()
        for name in self.system.variables:
            update = updates.get(name)
            (waiting if ahead(name) else forms)[name] = self.forms[name] if update is None else self.value(update)
        forms, symbols = _reduced(forms, self.ring, self.fine.symbols)
        forms |= waiting
        return self.having(forms, symbols)


def _hull(forms: Sequence[Form]) -> Form:
    """All values of several forms; a single one keeps its symbols."""
    if not forms:
        raise OutsideError("a selector may be none of its cases")
    if all(form is forms[0] for form in forms):
        return forms[0]
    ends = [form.range for form in forms]
    return between(min(low for low, _ in ends), max(high for _, high in ends))


def _extrema(system: System) -> Sequence[Extremum]:
    return system.once("extrema", lambda: _found_extrema(system))


def _found_extrema(system: System) -> list[Extremum]:
    stack: list[Expr | Condition] = [b.guard for b in system.branches]
    stack += [e for b in system.branches for _, e in b.updates]
    found: list[Extremum] = []
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            stack += children(node)
            if isinstance(node, Extremum):
                found.append(node)
    return found


def _reduced(forms: Mapping[str, Form], ring: Forms, most: int) -> tuple[dict[str, Form], int]:
    """The forms with every radius as a symbol, and at most so many symbols besides one a variable, and their number.

    Those stay that matter to several variables most, as parts of the variables' ranges (Girard, HSCC 2005); the others
    are put into boxes. Any choice would be right.
    """
    whole = {n: ring.fresh(f) for n, f in forms.items()}
    count = ring.symbols
    table = rows.table([f.g for f in whole.values()], count)
    size = np.abs(table)
    used = np.flatnonzero(size.any(0))
    kept, left = used, used[:0]
    if len(used) > most + len(table):
        order = np.argsort(-_weights(size, [f.size for f in whole.values()])[used], kind="stable")
        kept, left = np.sort(used[order[:most]]), np.sort(used[order[most:]])
    found = Forms(ring.bits, len(kept))
    made = {
        name: found.fresh(
            Form(form.c, rows.row(table[k, kept], rows.most(form.g)), rows.total(rows.row(size[k, left])), form.known)
        )
        for k, (name, form) in enumerate(whole.items())
    }
    return made, found.symbols


def _weights(parts: NDArray[Any], sizes: Sequence[int]) -> NDArray[Any]:
    """The sum less the greatest of parts of sizes, (rows, n), by column; each in units of 2^-22, of 40 bits of both."""
    downs = [max(size.bit_length() - 40, 0) for size in sizes]
    whole = np.array([(size >> down) + 1 for size, down in zip(sizes, downs, strict=True)], dtype=parts.dtype)
    shares = ((parts >> np.array(downs, dtype=parts.dtype)[:, None]) << 22) // whole[:, None]
    return np.asarray(shares.sum(0) - shares.max(0))
