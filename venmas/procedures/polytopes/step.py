"""One step of polytopes of initial states: they are cut until every move of each of them is affine."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import TypeAlias

import numpy as np

from venmas.bounds.polytopes import Polytopes, joined, settled
from venmas.bounds.rounding import SMALLEST_NORMAL, TINY, UNIT_ROUNDOFF, Floats, float_beside, gamma
from venmas.logic.linear import LinearExpr, Relation
from venmas.model.expressions.domain import Ranges
from venmas.model.expressions.expr import Application, ArgMax, Constant, Expr, Output, Sum, Variable
from venmas.model.transform.cases import Case, Decision, Location, Move, Sign, UnsuitableError
from venmas.procedures.hybrid.view import Space

_RELATIONS: dict[tuple[int, ...], Relation | None] = {
    (0,): Relation.LT,
    (1,): Relation.EQ,
    (2,): Relation.GT,
    (0, 1): Relation.LE,
    (1, 2): Relation.GE,
    (0, 2): Relation.NE,
    (0, 1, 2): None,
}
"""What the sign of an expression is to be, for outcomes 0, 1, 2."""

Rows: TypeAlias = tuple[Floats, Floats, float, Floats]
"""Weights and constants, and by how much they are off, as `Polytopes.affine` takes them."""


@dataclass(frozen=True, eq=False)
class _Batch:
    """Polytopes in one location; which quantities are those of the state, real by real, and those of expressions."""

    polytopes: Polytopes
    location: Location
    state: tuple[int, ...]
    known: dict[int, tuple[int, ...]]
    """By id of an expression, or of a network's application."""

    def of(self, polytopes: Polytopes, key: int | None = None, at: Sequence[int] = ()) -> _Batch:
        """The same with other polytopes, and with one more thing that is known."""
        return replace(self, polytopes=polytopes, known=self.known if key is None else {**self.known, key: tuple(at)})


class Partition:
    """Steps of polytopes, whose first quantities are anything and some of which are a state."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._size = len(space.reals)
        self._decisions: dict[int, Decision] = {}
        self._ranges = Ranges({d.name: (d.lower, d.upper) for d in space.system.variables.values()})
        self._moves: dict[Move, Rows] = {}
        self._sums: dict[int, tuple[Rows, Expr]] = {}

    @classmethod
    def of(cls, space: Space) -> Partition:
        """The one of a space, which remembers what it has met."""
        partition = space.beside.get(cls)
        if not isinstance(partition, cls):
            space.beside[cls] = partition = cls(space)
        return partition

    def rows(self, exprs: Sequence[LinearExpr]) -> Rows:
        """Affine expressions of the reals."""
        factors = [[e.coefficients.get(n, Fraction(0)) for n in self.space.reals] for e in exprs]
        return _rows(factors, [e.constant for e in exprs], len(self.space.reals))

    def after(self, polytopes: Polytopes, number: int, state: tuple[int, ...]) -> Generator[None, None, Polytopes]:
        """Polytopes cut so that all moves of each are affine, with these as further quantities.

        For every move, those are the number of its target (-1 for no move), its branch, and the new reals.
        """
        if not len(polytopes):
            return polytopes
        width, size = polytopes.width, self._size
        cases = yield from self._cases(_Batch(polytopes, self.space.locations[number], state, {}), number)
        slots = max((len(case.moves) for _, case in cases), default=0)
        found = []
        for batch, case in cases:
            at = list(range(width))
            for move in case.moves:
                self._check(move.integers)
                target = self.space.number(move.integers)
                batch, added = self._numbers(batch, [target, move.branches[0]])
                at += added
                if move.affine is not None:
                    first = batch.polytopes.width
                    if move not in self._moves:
                        self._moves[move] = self.rows(move.affine)
                    batch = batch.of(batch.polytopes.affine(batch.state, *self._moves[move]))
                    at += range(first, first + size)
                else:
                    for expr in move.reals:
                        batch, column = yield from self._value(batch, expr)
                        at.append(column)
                self._inside(batch.polytopes, at[-size:], move.branches[0])
            batch, added = self._numbers(batch, [-1.0] + [0.0] * (1 + size))
            at += added * (slots - len(case.moves))
            found.append(batch.polytopes.quantities(at))
        return joined(found)

    def _numbers(self, batch: _Batch, values: Sequence[float]) -> tuple[_Batch, list[int]]:
        polytopes, first = batch.polytopes, batch.polytopes.width
        rows = np.repeat(np.array([values], dtype=float), len(polytopes), 0)
        return batch.of(polytopes.constant(rows)), list(range(first, first + len(values)))

    def _check(self, integers: tuple[int, ...]) -> None:
        for name, value in zip(self.space.integers, integers, strict=True):
            decl = self.space.system.variables[name]
            if not decl.lower <= value <= decl.upper:
                raise UnsuitableError("a state leaves its declared range")

    def _inside(self, polytopes: Polytopes, state: Sequence[int], branch: int) -> None:
        """Raises `UnsuitableError` where a real variable may leave its declared range by a move of a branch."""
        system = self.space.system
        updates = dict(system.branches[branch].updates)
        low, high = polytopes.ranges(state)
        for i, name in enumerate(self.space.reals):
            decl = system.variables[name]
            least, most = self._ranges.of(updates.get(name, system[name]))
            if decl.lower <= least and most <= decl.upper:
                continue
            bottom, top = float_beside(decl.lower, 1), float_beside(decl.upper, -1)
            if not (low[:, i] >= bottom).all() or not (high[:, i] <= top).all():
                raise UnsuitableError("a state may leave its declared range")

    def _cases(self, batch: _Batch, number: int) -> Generator[None, None, list[tuple[_Batch, Case]]]:
        """Polytopes cut until every choice that matters is decided, with the case that follows."""
        location = batch.location
        root = self._decisions.setdefault(number, Decision(operands_first=True))
        waiting: list[tuple[Decision, _Batch]] = [(root, batch)]
        found: list[tuple[_Batch, Case]] = []
        while waiting:
            decision, here = waiting.pop()
            reached = decision.reached(location)
            if isinstance(reached, Case):
                found.append((here, reached))
                continue
            columns, choice = [], reached.choice
            for expr in reached.operands:
                here, column = yield from self._value(here, expr)
                columns.append(column)
            if isinstance(choice, Sign):
                parts, outcomes = _signs(here.polytopes, columns[0], choice), range(3)
            else:
                parts = _winners(here.polytopes, columns, isinstance(choice, ArgMax))
                outcomes = range(len(columns))
            for after, part in zip(decision.after(choice, outcomes), parts, strict=True):
                if len(part):
                    waiting.append((after, here.of(part)))
            yield
        return found

    def _value(self, batch: _Batch, expr: Expr) -> Generator[None, None, tuple[_Batch, int]]:
        """An expression without choices as a quantity; networks cut polytopes."""
        if id(expr) in batch.known:
            return batch, batch.known[id(expr)][0]
        match expr:
            case Variable(name, _):
                return batch, batch.state[self.space.reals.index(name)]
            case Output(application, index):
                if id(application) not in batch.known:
                    batch = yield from self._network(batch, application)
                return batch, batch.known[id(application)][index]
            case Constant(value):
                terms: tuple[tuple[Fraction, Expr], ...] = ()
                constant = value
            case Sum():
                terms, constant = expr.terms, expr.constant
            case _:
                raise TypeError(type(expr))
        at = []
        for _, part in terms:
            batch, column = yield from self._value(batch, part)
            at.append(column)
        if id(expr) not in self._sums:
            self._sums[id(expr)] = _rows([[c for c, _ in terms]], [constant], len(terms)), expr
        polytopes = batch.polytopes.affine(at, *self._sums[id(expr)][0])
        return batch.of(polytopes, id(expr), [polytopes.width - 1]), polytopes.width - 1

    def _network(self, batch: _Batch, application: Application) -> Generator[None, None, _Batch]:
        """The outputs of a network as quantities."""
        inputs = []
        for expr in application.inputs:
            batch, column = yield from self._value(batch, expr)
            inputs.append(column)
        polytopes, width = batch.polytopes, batch.polytopes.width
        at: slice | list[int] = inputs
        new = slice(width, None)
        for layer in application.network.layers:
            polytopes = polytopes.affine(at, layer.weight, layer.bias, layer.weight_error, keep=width)
            if layer.rectified:
                polytopes = (yield from settled(polytopes, new)).relu(new)
            at = new
        return batch.of(polytopes, id(application), range(width, polytopes.width))


def _signs(polytopes: Polytopes, at: int, choice: Sign) -> list[Polytopes]:
    """By the truths of its comparisons: the parts where a quantity may have a sign."""
    found: dict[object, list[int]] = {}
    for outcome in range(3):
        found.setdefault(choice.truths(outcome), []).append(outcome)
    relations = [_RELATIONS[tuple(outcomes)] for outcomes in found.values()]
    return [polytopes if r is None else polytopes.may(at, r) for r in relations]


def _winners(polytopes: Polytopes, at: Sequence[int], strict: bool) -> list[Polytopes]:
    """By index: the parts where a quantity may be the greatest; strict: where it may be so for the first time."""
    x, radius = polytopes.x[:, :, at], polytopes.radius()[:, at]
    gap = x[:, :, :, None] - x[:, :, None]
    size = np.abs(x).max(1)
    size = size[:, :, None] + size[:, None]
    slack = radius[:, :, None] + radius[:, None] + gamma(8) * size + TINY
    most, least = gap.max(1) + slack, gap.min(1) - slack
    found = []
    for i, one in enumerate(at):
        rows = ~(most[:, i] < 0).any(1)
        part = polytopes.take(rows)
        for j, other in enumerate(at):
            if j != i and not (least[rows, i, j] > 0).all():
                relation = Relation.GT if strict and j < i else Relation.GE
                wider = part.affine([one, other], np.array([[1.0, -1.0]]), np.zeros(1))
                part = wider.may(polytopes.width, relation).head(polytopes.width, polytopes.r.shape[1])
        found.append(part)
    return found


def _rows(weight: Sequence[Sequence[Fraction]], bias: Sequence[Fraction], width: int) -> Rows:
    """Rationals as floats, rows of so many; raises `UnsuitableError` where they are not near to them."""
    rows = np.array([[float(c) for c in row] for row in weight]).reshape(len(weight), width)
    if any(c and abs(f) < SMALLEST_NORMAL for f, c in zip(rows.flat, chain(*weight), strict=True)):
        raise UnsuitableError("a number of the model is too small for floats")
    near = np.array([float(c) for c in bias])
    off = [0.0 if Fraction(f) == c else abs(f) * 2 * UNIT_ROUNDOFF + TINY for f, c in zip(near, bias, strict=True)]
    return rows, near, UNIT_ROUNDOFF, np.array(off)
