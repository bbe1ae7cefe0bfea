"""Distances of inputs from what a query asks for, and their slopes by reverse-mode differentiation, in floats.

goal: a disjunct of the condition of a case. Its margin at x: the greatest of a conjunction, the least of a
    disjunction, of by how much comparisons are missed
slope: 1 at the comparison that decides (or at each that is missed: the sum of hinges, which has no ridges),
    backward through comparisons, products, and the layers of the networks
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from venmas.bounds.rounding import Bools, Floats, Index
from venmas.engine.query.decide import shares
from venmas.formats.vnnlib.query import Query
from venmas.logic.formula import And, Atom, Bottom, Formula, Or, Top
from venmas.logic.linear import LinearExpr, Relation
from venmas.nn import Network
from venmas.nn.network import SMOOTH

_TINY = float(np.finfo(float).tiny)
_DERIVATIVES = {"tanh": lambda y: 1 - y * y, "sigmoid": lambda y: y * (1 - y)}
"""Of smooth units, by their outputs."""


class Goals:
    """The goals of a query about networks; case (G,): which one each is of."""

    def __init__(self, networks: Sequence[Network], query: Query) -> None:
        pairs = [(goal, k) for k, case in enumerate(query.cases) for goal in _disjuncts(case.condition)]
        self.goals, self.case = [goal for goal, _ in pairs], np.array([k for _, k in pairs], dtype=np.intp)
        self._networks, self._inputs = [*shares(networks)], query.inputs
        names = [f"X_{i}" for i in range(query.inputs)] + [f"Y_{i}" for i in range(query.outputs)]
        names += [f"P_{i}" for i in range(len(query.products))]
        self._place = {name: i for i, name in enumerate(names)}
        self._first_product = query.inputs + query.outputs
        self._products = [(self._row(left), self._row(right)) for left, right in query.products]
        self._atoms = {atom: i for i, atom in enumerate(dict.fromkeys(a for goal in self.goals for a in _atoms(goal)))}
        rows = [self._row(atom.comparison.expr) for atom in self._atoms]
        self._weight = np.array([row for row, _ in rows]).reshape(len(rows), len(names))
        self._bias = np.array([bias for _, bias in rows])
        relations = [atom.comparison.relation for atom in self._atoms]
        self._sign = np.array([-1.0 if r in (Relation.GE, Relation.GT) else 1.0 for r in relations])
        self._strict, self._equal, self._unequal = (
            np.array([r in some for r in relations], dtype=bool)
            for some in ((Relation.LT, Relation.GT), (Relation.EQ,), (Relation.NE,))
        )

    @property
    def width(self) -> int:
        """Numbers that are held for each input."""
        return len(self._bias) + len(self.goals)

    def margins(self, x: Floats, case: Index) -> Floats:
        """Margins (B, G) of inputs x (B, n) as networks in float32 have it, infinite for goals of other cases."""
        outputs = [network.evaluate_float32(x[:, own]).astype(float) for network, own in self._networks]
        with np.errstate(all="ignore"):
            margins = self._goals(self._missed(self._known(x, outputs)))
        return np.where((self.case == case[:, None]) & ~np.isnan(margins), margins, np.inf)

    def slope(self, x: Floats, goal: Index, hinges: Bools) -> tuple[Floats, Floats]:
        """The margins (B,) of one goal for each input, and their slopes (B, n); hinges (B,): where of their sum."""
        with np.errstate(all="ignore"):
            runs = [_forward(network, x[:, own]) for network, own in self._networks]
            known = self._known(x, [run[-1] for run in runs])
            missed = self._missed(known)
            weight = np.zeros_like(missed)
            margin = np.full(len(x), np.inf)
            for g in np.unique(goal):
                rows = np.flatnonzero(goal == g)
                margin[rows] = self._margin(self.goals[g], missed[rows])
                weight[rows] = self._decide(self.goals[g], missed[rows], hinges[rows], np.ones(len(rows)))
            slope = self._backward(known, weight * np.where(self._equal, np.sign(self._value(known)), self._sign))
            at = self._inputs
            for (network, own), run in zip(self._networks, runs, strict=True):
                slope[:, own] += _back(network, run, slope[:, at : at + network.output_size])
                at += network.output_size
        return np.where(np.isnan(margin), np.inf, margin), np.nan_to_num(slope[:, : self._inputs])

    def _row(self, expr: LinearExpr) -> tuple[Floats, float]:
        row = np.zeros(len(self._place))
        for name, factor in expr.terms:
            row[self._place[name]] = float(factor)
        return row, float(expr.constant)

    def _known(self, x: Floats, outputs: Sequence[Floats]) -> Floats:
        known = np.concatenate([x, *outputs, np.zeros((len(x), len(self._products)))], 1)
        for k, ((left, a), (right, b)) in enumerate(self._products, self._first_product):
            known[:, k] = (known @ left + a) * (known @ right + b)
        return known

    def _backward(self, known: Floats, weight: Floats) -> Floats:
        """Slopes by what is known (B, K), of comparisons and products."""
        slope = np.asarray(weight @ self._weight)
        for k in range(len(self._products) - 1, -1, -1):
            (left, a), (right, b) = self._products[k]
            own = slope[:, self._first_product + k, None]
            slope += own * ((known @ right + b)[:, None] * left + (known @ left + a)[:, None] * right)
        return slope

    def _value(self, known: Floats) -> Floats:
        return np.asarray(known @ self._weight.T + self._bias)

    def _missed(self, known: Floats) -> Floats:
        """By how much comparisons are missed: (B, A)."""
        value = self._value(known)
        over = value * self._sign
        over = np.where(self._strict & (value == 0), _TINY, np.maximum(over, 0.0))
        over = np.where(self._equal, np.abs(value), over)
        return np.where(self._unequal, np.where(value == 0, _TINY, 0.0), np.where(np.isnan(value), np.nan, over))

    def _goals(self, missed: Floats) -> Floats:
        return np.stack([self._margin(goal, missed) for goal in self.goals], 1)

    def _margin(self, condition: Formula, missed: Floats) -> Floats:
        match condition:
            case And(parts):
                return reduce(np.maximum, [self._margin(part, missed) for part in parts])
            case Or(parts):
                return reduce(np.minimum, [self._margin(part, missed) for part in parts])
            case Top() | Bottom():
                return np.full(len(missed), 0.0 if isinstance(condition, Top) else np.inf)
            case Atom():
                return missed[:, self._atoms[condition]]
        raise TypeError(type(condition))

    def _decide(self, condition: Formula, missed: Floats, hinges: Bools, weight: Floats) -> Floats:
        """Weights of comparisons (B, A), of which those that decide have that of the condition."""
        total = np.zeros_like(missed)
        if isinstance(condition, Atom):
            total[:, self._atoms[condition]] = weight
        elif isinstance(condition, And | Or):
            margins = np.stack([self._margin(part, missed) for part in condition.operands], 1)
            one = margins.argmax(1) if isinstance(condition, And) else margins.argmin(1)
            all_ = hinges & isinstance(condition, And)
            for k, part in enumerate(condition.operands):
                mine = np.where(all_, margins[:, k] > 0, one == k)
                if mine.any():
                    total += self._decide(part, missed, hinges, weight * mine)
        return total


def _disjuncts(condition: Formula) -> Iterator[Formula]:
    if isinstance(condition, Or):
        for part in condition.operands:
            yield from _disjuncts(part)
    else:
        yield condition


def _atoms(condition: Formula) -> Iterator[Atom]:
    if isinstance(condition, Atom):
        yield condition
    for part in condition.operands if isinstance(condition, And | Or) else ():
        yield from _atoms(part)


def _forward(network: Network, x: Floats) -> list[Floats]:
    """The inputs, and the outputs of each layer."""
    values = [x]
    for layer in network.layers:
        x = x @ layer.weight.T + layer.bias
        if layer.activation in SMOOTH:
            x = SMOOTH[layer.activation](x)
        elif layer.rectified:
            x = np.maximum(x, 0.0)
        values.append(x)
    return values


def _back(network: Network, values: Sequence[Floats], slope: Floats) -> Floats:
    """Slopes by inputs, of those by outputs; values: those of `_forward`."""
    for layer, after in zip(reversed(network.layers), reversed(values), strict=False):
        if layer.activation in SMOOTH:
            slope = slope * _DERIVATIVES[layer.activation](after)
        elif layer.rectified:
            slope = np.where(after > 0, slope, 0.0)
        slope = slope @ layer.weight
    return slope
