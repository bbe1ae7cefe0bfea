"""Expressions over many boxes of integers at once: ends of their values in float64, rounded outward.

What is an integer by its form and at most 2^52 in size is exact. A node that is none of those below is unbounded, and a
condition that is none is open: what is not known excludes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.checker.inductive.constraints import LARGEST, Bools, Boxes
from venmas.checker.inductive.zonotopes import MOST_TERMS, Enclosed, Floats, Zonotopes
from venmas.logic.linear import Relation
from venmas.model.expressions.expr import (
    All,
    Any,
    Application,
    ArgMax,
    Compare,
    Condition,
    Constant,
    Expr,
    Maximum,
    Output,
    Sum,
    Switch,
    Truth,
    Variable,
    Where,
    children,
)
from venmas.nn.network import Semantics

Ends: TypeAlias = tuple[Floats, Floats]
Truths: TypeAlias = tuple[Bools, Bools]
"""Where a condition may hold, and where it may not (B,)."""

_MOST_PAIRS = 4096
_MOST_CASES = 1024


class Intervals:
    """Ranges of expressions over `boxes`, each node computed once. number: places of the variables by name."""

    def __init__(self, number: dict[str, int], boxes: Boxes, semantics: Semantics = "real") -> None:
        self._number, self._boxes, self._semantics = number, boxes, semantics
        self._size = len(boxes.low)
        self._values: dict[int, Ends] = {}
        self._truths: dict[int, Truths] = {}
        self._winners: dict[int, NDArray[np.bool_]] = {}
        self._networks: dict[int, Enclosed] = {}
        self._kept: list[object] = []

    def value(self, expr: Expr) -> Ends:
        """Least and greatest value in each box."""
        if id(expr) not in self._values:
            self._kept.append(expr)
            with np.errstate(all="ignore"):
                self._values[id(expr)] = self._compute(expr)
        return self._values[id(expr)]

    def truth(self, condition: Condition) -> Truths:
        """Masks: a condition may hold; it may not."""
        if id(condition) not in self._truths:
            self._kept.append(condition)
            self._truths[id(condition)] = self._decide(condition)
        return self._truths[id(condition)]

    def _compute(self, expr: Expr) -> Ends:
        match expr:
            case Constant(number):
                return _rational(number, self._size)
            case Variable(name, _):
                at = self._number[name]
                return self._boxes.low[:, at].astype(np.float64), self._boxes.high[:, at].astype(np.float64)
            case Sum(terms, constant):
                return self._sum(self._terms(terms), constant)
            case Output(application, index):
                enclosed = self._enclosed(application)
                return self._unbounded() if enclosed is None else enclosed.output(index)
            case Maximum(operands):
                low, high = zip(*(self.value(o) for o in operands), strict=True)
                return np.maximum.reduce(low), np.maximum.reduce(high)
            case ArgMax():
                return self._hull([(w, _rational(Fraction(i), self._size)) for i, w in enumerate(self.winners(expr).T)])
            case Switch(selector, cases):
                chosen = [(self._may_be(selector, key), self.value(case)) for key, case in cases]
                fits = np.logical_or.reduce([may for may, _ in chosen])
                return self._hull([(may | ~fits, ends) for may, ends in chosen])
            case Where(condition, then, otherwise):
                yes, no = self.truth(condition)
                return self._hull([(yes, self.value(then)), (no, self.value(otherwise))])
        return self._unbounded()

    def _unbounded(self) -> Ends:
        return np.full(self._size, -np.inf), np.full(self._size, np.inf)

    def _may_be(self, selector: Expr, key: int) -> Bools:
        if isinstance(selector, ArgMax):
            won = self.winners(selector)
            return won[:, key] if 0 <= key < won.shape[1] else np.zeros(self._size, bool)
        low, high = self.value(selector)
        return ~((low > key) | (high < key))

    def _hull(self, cases: Sequence[tuple[Bools, Ends]]) -> Ends:
        low = np.minimum.reduce([np.where(may, ends[0], np.inf) for may, ends in cases])
        high = np.maximum.reduce([np.where(may, ends[1], -np.inf) for may, ends in cases])
        nowhere = ~np.logical_or.reduce([may for may, _ in cases])
        return np.where(nowhere, -np.inf, low), np.where(nowhere, np.inf, high)

    def _sum(self, terms: Sequence[tuple[Fraction, Ends]], constant: Fraction) -> Ends:
        low, high = _rational(constant, self._size)
        for factor, (least, most) in terms:
            c_low, c_high = _rational(factor, 1)
            ends = [_product(c, v) for c in {float(c_low[0]), float(c_high[0])} for v in (least, most)]
            low = _plus(low, np.minimum.reduce([e[0] for e in ends]), -np.inf)
            high = _plus(high, np.maximum.reduce([e[1] for e in ends]), np.inf)
        return low, high

    def _terms(self, terms: Sequence[tuple[Fraction, Expr]]) -> list[tuple[Fraction, Ends]]:
        """The terms of a sum; of two outputs of one network that are subtracted, their difference."""
        if len(terms) == 2 and terms[0][0] == -terms[1][0]:
            (factor, left), (_, right) = terms
            if isinstance(left, Output) and isinstance(right, Output) and left.application is right.application:
                enclosed = self._enclosed(left.application)
                if enclosed is not None:
                    low, high = enclosed.differences([(left.index, right.index)])
                    return [(factor, (low[:, 0], high[:, 0]))]
        return [(c, self.value(e)) for c, e in terms]

    def _enclosed(self, application: Application) -> Enclosed | None:
        if self._semantics != "real" or max(application.network.sizes) > MOST_TERMS:
            return None
        if id(application) not in self._networks:
            self._kept.append(application)
            low, high = zip(*(self.value(i) for i in application.inputs), strict=True)
            with np.errstate(all="ignore"):
                inputs = Zonotopes.independent(np.stack(low, 1), np.stack(high, 1))
            self._networks[id(application)] = Enclosed(application.network, inputs)
        return self._networks[id(application)]

    def influence(self, application: Application) -> Floats:
        """Influence of each input of a network on the differences of its outputs, at most and roughly: (inputs, B)."""
        enclosed = self._enclosed(application)
        if enclosed is None:
            return np.zeros((len(application.inputs), self._size))
        return enclosed.influence(len(application.inputs))

    def winners(self, node: ArgMax) -> NDArray[np.bool_]:
        """The indices that may be the argmax (B, scores); all of them where none is told to be."""
        if id(node) not in self._winners:
            self._kept.append(node)
            with np.errstate(all="ignore"):
                self._winners[id(node)] = self._able(node)
        return self._winners[id(node)]

    def _able(self, node: ArgMax) -> NDArray[np.bool_]:
        scores, possible = node.scores, np.ones((self._size, len(node.scores)), bool)
        pairs = [(i, j) for j in range(len(scores)) for i in range(j)]
        if children(node) != scores or len(pairs) > _MOST_PAIRS:
            return possible  # the choice rests on more than the scores
        shared, places = node.application, node.places
        enclosed = self._enclosed(shared) if shared is not None else None
        if enclosed is not None:
            low, high = enclosed.differences([(places[i], places[j]) for i, j in pairs])
        else:
            ends = [self.value(s) for s in scores]
            low = np.stack([_plus(ends[i][0], -ends[j][1], -np.inf) for i, j in pairs] or [np.zeros(self._size)], 1)
            high = np.stack([_plus(ends[i][1], -ends[j][0], np.inf) for i, j in pairs] or [np.zeros(self._size)], 1)
        for at, (i, j) in enumerate(pairs):  # on a tie the lower index wins (design S3)
            possible[:, i] &= ~(high[:, at] < 0)
            possible[:, j] &= ~(low[:, at] >= 0)
        possible[~possible.any(1)] = True
        return possible

    # -- conditions ----------------------------------------------------------------------------------------------------

    def _decide(self, condition: Condition) -> Truths:
        match condition:
            case Truth(value):
                return np.full(self._size, value), np.full(self._size, not value)
            case Compare(expr, relation):
                return self._compare(expr, relation)
            case All(parts):
                both = [self.truth(p) for p in parts]
                yes = np.logical_and.reduce([np.ones(self._size, bool), *(b[0] for b in both)])
                return yes, np.logical_or.reduce([np.zeros(self._size, bool), *(b[1] for b in both)])
            case Any(parts):
                both = [self.truth(p) for p in parts]
                yes = np.logical_or.reduce([np.zeros(self._size, bool), *(b[0] for b in both)])
                return yes, np.logical_and.reduce([np.ones(self._size, bool), *(b[1] for b in both)])
        return np.ones(self._size, bool), np.ones(self._size, bool)

    def _compare(self, expr: Expr, relation: Relation) -> Truths:
        match expr:
            case ArgMax() | Switch() | Where():
                return self._chosen(expr, Fraction(1), Fraction(0), relation)
            case Sum(((factor, (ArgMax() | Switch() | Where()) as node),), constant):
                return self._chosen(node, factor, constant, relation)
            case Sum(terms, constant):  # with integral coefficients, so that integers stay exact
                by = lcm(constant.denominator, *(c.denominator for c, _ in terms))
                with np.errstate(all="ignore"):
                    low, high = self._sum([(c * by, ends) for c, ends in self._terms(terms)], constant * by)
            case _:
                low, high = self.value(expr)
        return _told(low, high, relation)

    def _chosen(self, node: Expr, factor: Fraction, constant: Fraction, relation: Relation) -> Truths:
        """``factor * node + constant`` compared with 0, case by case."""
        yes, no = np.zeros(self._size, bool), np.zeros(self._size, bool)
        for may, ends in self._cases(node, np.ones(self._size, bool)):
            with np.errstate(all="ignore"):
                true, false = _told(*self._sum([(factor, ends)], constant), relation)
            yes |= may & true
            no |= may & false
        return yes, no

    def _cases(self, node: Expr, may: Bools) -> Iterator[tuple[Bools, Ends]]:
        """Cases of a choice: the boxes in which each may be taken, and its values there."""
        stack, count = [(node, may)], 0
        while stack:
            at, where = stack.pop()
            count += 1
            if not where.any():
                continue
            match at:
                case _ if count > _MOST_CASES:  # choices that share what they choose from may be very many
                    yield where, self.value(at)
                case Where(condition, then, otherwise):
                    yes, no = self.truth(condition)
                    stack += [(otherwise, where & no), (then, where & yes)]
                case Switch(selector, cases):
                    fits = [self._may_be(selector, key) for key, _ in cases]
                    none = ~np.logical_or.reduce(fits)
                    stack += [(case, where & (fit | none)) for fit, (_, case) in zip(fits, cases, strict=True)]
                case ArgMax():
                    for i, won in enumerate(self.winners(at).T):
                        yield where & won, _rational(Fraction(i), self._size)
                case _:
                    yield where, self.value(at)


def _told(low: Floats, high: Floats, relation: Relation) -> Truths:
    """Masks: a value between ends may stand in a relation to 0; it may not."""
    return ~relation.negated.certain(low, high), ~relation.certain(low, high)


def _rational(value: Fraction, size: int) -> Ends:
    """The floats around a rational."""
    near = value.numerator / value.denominator if abs(value) < 2**1000 else np.inf
    if not np.isfinite(near):
        return np.full(size, -np.inf), np.full(size, np.inf)
    exact = Fraction(near) == value
    low, high = (near, near) if exact else (np.nextafter(near, -np.inf), np.nextafter(near, np.inf))
    return np.full(size, low), np.full(size, high)


def _whole(values: Floats) -> Bools:
    """Mask of exact results: computed from integers, and not large."""
    whole: Bools = (np.abs(values) <= LARGEST) & (np.trunc(values) == values)
    return whole


def _plus(left: Floats, right: Floats, away: float) -> Floats:
    """A sum, rounded away where it may be rounded at all."""
    total = left + right
    exact = (_whole(left) & _whole(right) & _whole(total)) | (right == 0) | (left == 0)
    rounded: Floats = np.where(np.isnan(total), away, np.where(exact, total, np.nextafter(total, away)))
    return rounded


def _product(factor: float, values: Floats) -> Ends:
    """A product, rounded both ways where it may be rounded at all."""
    if factor == 0:
        return np.zeros_like(values), np.zeros_like(values)
    product = factor * values
    exact = (_whole(values) & _whole(product)) if np.isfinite(factor) and factor == int(factor) else values == 0
    exact |= np.abs(values) == 1
    return (
        np.where(exact, product, np.nextafter(product, -np.inf)),
        np.where(exact, product, np.nextafter(product, np.inf)),
    )
