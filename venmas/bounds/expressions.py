"""Bounds of expressions and conditions, for a batch of abstract states at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.exact import AbstractState, exact_range, middle
from venmas.bounds.linear_forms import (
    Quantity,
    affine,
    constant,
    finite,
    join,
    pinned,
    relu,
    settle,
    size_of,
    widen,
)
from venmas.bounds.methods import Activations, BoundMethod, beaten
from venmas.bounds.rounding import SMALLEST_NORMAL, Bools, Floats, gamma
from venmas.budget import ask
from venmas.logic.linear import Comparison, LinearExpr
from venmas.model.evaluation.evaluation import Evaluation
from venmas.model.expressions.domain import is_integral
from venmas.model.expressions.expr import (
    ArgMax,
    Compare,
    Condition,
    Constant,
    Expr,
    Maximum,
    Output,
    Sum,
    Switch,
    Where,
    add,
    scale,
)
from venmas.model.system.system import System
from venmas.nn import Network

Truths = NDArray[np.int8]
"""Three-valued truth by state: 1 true, 0 false, -1 open."""

Assumptions = tuple[tuple[ArgMax | Compare, int], ...]
"""Outcomes of choices: the index of the winner, or 1 for true and 0 for false."""

MAX_VALUES = 128
"""Value sets above this size are not tracked."""

_BORDER = 1e-6


class Interpreter(Evaluation[Quantity, Truths, Activations]):
    """Expressions and conditions over the variables' quantities in `env`.

    `members` are the single states of the batch; they answer what floats leave open at a threshold exactly.
    """

    def __init__(self, system: System, method: BoundMethod, env: Mapping[str, Quantity], size: int, roots: int) -> None:
        super().__init__()
        self.system, self.method, self.size, self.roots = system, method, size, roots
        self.env = dict(env)
        self.members: Sequence[AbstractState] = []
        self.source: tuple[Interpreter, NDArray[np.intp]] | None = None  # where the rows of a batch of cases come from
        # a choice with its outcomes by row, -1 where nothing is assumed
        self._assumed: dict[int, tuple[ArgMax | Compare, NDArray[np.int64]]] = {}
        self._truths: dict[int, tuple[Condition, Truths]] = {}
        self._atoms: dict[Comparison, Truths] = {}
        self._expressions: dict[Comparison, Expr] = {}

    def assume(self, row: int, choice: ArgMax | Compare, outcome: int) -> None:
        """Let a choice be decided in a row, before anything is evaluated."""
        if id(choice) not in self._assumed:
            self._assumed[id(choice)] = choice, np.full(self.size, -1, dtype=np.int64)
        self._assumed[id(choice)][1][row] = outcome

    def _compute(self, expr: Expr) -> Quantity:
        match expr:  # these are bounded by more than the bounds of their operands
            case Sum():
                return self._sum(expr)
            case Maximum(operands):
                best = self._maximum(self.value(o) for o in operands)
                mean = middle(operands)
                return best if mean is None else settle(best.low, best.upp, np.maximum(best.lo, mean), best.hi)
        return super()._compute(expr)

    def _constant(self, value: Fraction) -> Quantity:
        return constant(value, self.size, self.roots)

    def _variable(self, name: str) -> Quantity:
        return self.env[name]

    def _network(self, network: Network, inputs: Sequence[Quantity]) -> Activations:
        return self.method.propagate(network, inputs)

    def _output(self, outputs: Activations, index: int) -> Quantity:
        return outputs.output(index)

    def _argmax(self, node: ArgMax) -> Quantity:
        values = tuple(Fraction(i) for i in range(len(node.scores)))
        whole = Quantity(*self._flat(0.0, len(values) - 1.0))
        possible = self._winners(node)
        if id(node) in self._assumed:
            outcome = self._assumed[id(node)][1][:, None]
            possible = np.where(outcome >= 0, np.arange(len(values)) == outcome, possible)
        return finite(whole, values, possible)

    def _switch(self, node: Switch) -> Quantity:
        chosen, cases = self.value(node.selector), node.cases
        if chosen.values is None or chosen.possible is None:
            masks = [(chosen.lo <= k) & (chosen.hi >= k) for k, _ in cases]
        else:
            position = {v: i for i, v in enumerate(chosen.values)}
            none = np.zeros(self.size, dtype=bool)
            masks = [chosen.possible[:, position[Fraction(k)]] if k in position else none for k, _ in cases]
        return self._cases([e for _, e in cases], np.stack(masks, 1))

    def _where(self, node: Where) -> Quantity:
        truth = self.truth(node.condition)
        return self._cases([node.then, node.otherwise], np.stack([truth != 0, truth != 1], 1))

    def _flat(self, lo: float, hi: float) -> tuple[Floats, Floats, Floats, Floats]:
        low, upp = np.zeros((self.size, self.roots + 1)), np.zeros((self.size, self.roots + 1))
        low[:, 0], upp[:, 0] = lo, hi
        return low, upp, np.full(self.size, lo), np.full(self.size, hi)

    def _sum(self, expr: Sum) -> Quantity:
        terms: list[tuple[Fraction, Quantity]] = []
        outputs: dict[int, list[tuple[Fraction, Output]]] = {}
        for coefficient, part in expr.terms:
            if isinstance(part, Output):
                outputs.setdefault(id(part.application), []).append((coefficient, part))
            else:
                terms.append((coefficient, self.value(part)))
        for group in outputs.values():
            if len(group) == 1:
                terms.append((group[0][0], self.value(group[0][1])))
                continue
            row = np.zeros((1, group[0][1].application.network.output_size))
            for coefficient, part in group:
                row[0, part.index] += float(coefficient)
            low, upp, lo, hi = self.outputs(group[0][1].application).combine(row, np.zeros(1))
            # each coefficient of the row is rounded, and so are sums of those of one output
            parts = [(max(abs(float(c)), SMALLEST_NORMAL), self.value(p)) for c, p in group]
            slack = gamma(2 * len(group)) * np.sum([c * size_of(q.low, q.upp, q.lo, q.hi) for c, q in parts], axis=0)
            widen(low[:, 0], upp[:, 0], slack)
            terms.append((Fraction(1), settle(low[:, 0], upp[:, 0], lo[:, 0] - slack, hi[:, 0] + slack)))
        total = affine(terms, expr.constant)
        choices = [q for _, q in terms]
        count = int(np.prod([len(q.values) if q.values is not None else MAX_VALUES + 1 for q in choices]))
        if 0 < count <= MAX_VALUES:
            return _combined(total, terms, expr.constant)
        return rounded(total) if is_integral(expr) else total

    def _maximum(self, operands: Iterable[Quantity]) -> Quantity:
        best, *rest = operands
        for q in rest:
            ask()
            wins, loses = best.lo >= q.hi, best.hi <= q.lo
            difference = affine([(Fraction(1), best), (Fraction(-1), q)], Fraction(0))
            low, upp = relu(difference.low, difference.upp, difference.lo, difference.hi)
            total = affine(
                [(Fraction(1), settle(low, upp, np.maximum(difference.lo, 0.0))), (Fraction(1), q)], Fraction(0)
            )
            low = np.where(wins[:, None], best.low, np.where(loses[:, None], q.low, total.low))
            upp = np.where(wins[:, None], best.upp, np.where(loses[:, None], q.upp, total.upp))
            best = settle(low, upp, np.maximum(best.lo, q.lo), np.maximum(best.hi, q.hi))
        return best

    def _winners(self, node: ArgMax) -> Bools:
        if self.source is not None:
            cached = self.source[0].value(node).possible
            assert cached is not None
            return cached[self.source[1]]
        network = node.whole
        if network is not None:
            possible = self.outputs(network).winners()
        else:
            n = len(node.scores)
            hi = np.zeros((self.size, n, n))
            for i in range(n):
                for j in range(n):
                    if i != j:
                        ask()
                        difference = add(node.scores[i], scale(node.scores[j], Fraction(-1)))
                        hi[:, i, j] = self.value(difference).hi
            possible = beaten(hi)
        for row in np.flatnonzero(possible.sum(1) > 1) if self.members else ():
            forms = takewhile(_is_number, (self.members[int(row)].affine(s) for s in node.scores))
            numbers = [f.constant for f in forms if f is not None]
            if len(numbers) == len(node.scores):  # a point: decided exactly, ties included
                possible[row] = False
                possible[row, numbers.index(max(numbers))] = True
        return possible

    def _cases(self, exprs: list[Expr], mask: Bools) -> Quantity:
        mask[~mask.any(1)] = True
        used = np.flatnonzero(mask.any(0))
        if len(used) == 1:
            return self.value(exprs[used[0]])
        cases = [self.value(exprs[i]) for i in used]
        hull = join(cases, mask[:, used])
        if any(c.values is None for c in cases):
            return hull
        values = tuple(sorted({v for c in cases for v in c.values or ()}))
        if len(values) > MAX_VALUES:
            return hull
        possible = np.zeros((self.size, len(values)), dtype=bool)
        for i, c in zip(used, cases, strict=True):
            ask()
            assert c.values is not None and c.possible is not None
            columns = [values.index(v) for v in c.values]
            possible[:, columns] |= c.possible & mask[:, i, None]
        return finite(hull, values, possible)

    # -- conditions ----------------------------------------------------------------------------------------------------

    def truth(self, condition: Condition) -> Truths:
        """Three-valued truth of a condition in every state."""
        key = id(condition)
        if key not in self._truths:
            truth = super().truth(condition)
            if key in self._assumed:
                _, outcome = self._assumed[key]
                truth = np.where(outcome >= 0, outcome, truth).astype(np.int8)
            self._truths[key] = condition, truth
        return self._truths[key][1]

    def atom(self, comparison: Comparison) -> Truths:
        """Three-valued truth of a comparison of state variables."""
        if comparison not in self._atoms:
            self._atoms[comparison] = self._compare(Compare(self.expression(comparison), comparison.relation))
        return self._atoms[comparison]

    def expression(self, comparison: Comparison) -> Expr:
        """The left side of a comparison of state variables as an expression of the system."""
        if comparison not in self._expressions:
            expr: Expr = Constant(comparison.expr.constant)
            for name, coefficient in comparison.expr.terms:
                expr = add(expr, scale(self.system[name], coefficient))
            self._expressions[comparison] = expr
        return self._expressions[comparison]

    def _known(self, value: bool) -> Truths:
        return np.full(self.size, int(value), dtype=np.int8)

    def _every(self, truths: Iterable[Truths]) -> Truths:
        parts = np.stack(list(truths))
        return np.where((parts == 0).any(0), 0, np.where((parts == 1).all(0), 1, -1)).astype(np.int8)

    def _some(self, truths: Iterable[Truths]) -> Truths:
        parts = np.stack(list(truths))
        return np.where((parts == 1).any(0), 1, np.where((parts == 0).all(0), 0, -1)).astype(np.int8)

    def _compare(self, node: Compare) -> Truths:
        expr, relation = node.expr, node.relation
        q = self.value(expr)
        if q.values is not None and q.possible is not None:
            holds = np.array([relation.holds(v) for v in q.values])
            some, every = (q.possible & holds).any(1), (~q.possible | holds).all(1)
            return np.where(every, 1, np.where(some, -1, 0)).astype(np.int8)
        yes, no = relation.certain(q.lo, q.hi), relation.negated.certain(q.lo, q.hi)
        truth = np.where(yes, 1, np.where(no, 0, -1)).astype(np.int8)
        border = _BORDER * (1 + np.maximum(np.abs(q.lo), np.abs(q.hi)))
        close = (truth == -1) & ((np.abs(q.lo) <= border) | (np.abs(q.hi) <= border))
        for row in np.flatnonzero(close) if self.members else ():
            # the float bounds touch the threshold: decide in rationals
            answer = Comparison(LinearExpr(), relation).decide(*exact_range(self.members[int(row)], expr))
            truth[row] = -1 if answer is None else int(answer)
        return truth


def _is_number(form: LinearExpr | None) -> bool:
    return form is not None and not form.terms


def rounded(q: Quantity) -> Quantity:
    """Bounds of an integer: its interval shrinks to integers, and a single one replaces the forms."""
    lo, hi = np.ceil(q.lo), np.floor(q.hi)
    lo, hi = np.where(lo <= hi, lo, q.lo), np.where(lo <= hi, hi, q.hi)
    return Quantity(*pinned(q.low, q.upp, lo, hi, lo == hi), lo, hi, q.values, q.possible)


def _combined(total: Quantity, terms: list[tuple[Fraction, Quantity]], offset: Fraction) -> Quantity:
    """All sums of finitely many values."""
    if len(terms) == 1:
        factor, only = terms[0]
        assert only.values is not None and only.possible is not None
        if factor > 0:
            return finite(total, tuple(factor * v + offset for v in only.values), only.possible)
    sums: dict[Fraction, Bools] = {offset: np.ones(len(total.lo), dtype=bool)}
    for coefficient, q in terms:
        ask()
        assert q.values is not None and q.possible is not None
        following: dict[Fraction, Bools] = {}
        for value, mask in sums.items():
            for at, v in enumerate(q.values):
                new = value + coefficient * v
                reach = mask & q.possible[:, at]
                following[new] = following[new] | reach if new in following else reach
        sums = following
    values = tuple(sorted(sums))
    return finite(total, values, np.stack([sums[v] for v in values], 1))
