"""Exact enumeration: polygons of initial states on which every run is affine, one after the other.

Where the initial set has at most two free dimensions, the parts of it on which a run through networks is affine are
convex polygons, and few as long as choices are few. They are cut where a unit of a network, an argmax or a comparison
changes, so that in contrast to boxes nothing is lost. Formulas are evaluated by what is left of a polygon: ``EX`` keeps
what may hold after some move, ``AX`` what is kept by one move after the other, ``And`` by one operand after the other.
Nothing is merged, so that many branches over many steps are better left to the reach graph.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from math import frexp
from typing import TypeAlias

import numpy as np

from venmas.bounds.forms import _NORMAL, _TINY, UNIT_ROUNDOFF, Floats, gamma
from venmas.linear import Comparison, LinearExpr, Relation
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or
from venmas.model.expr import Application, ArgMax, Constant, Expr, Output, Sum, Variable, children
from venmas.search.polygons import Polygons, cut_at_zero, joined
from venmas.search.residual import Case, Choice, Location, OpenError, Sign, Simplifier, UnsuitableError
from venmas.search.space import Space, Start
from venmas.search.trace import Candidate

_ROWS = 2048
"""Polygons that are taken on at once."""
_MOST = 50_000
"""Polygons that these may come to within a step."""
_PICKED = 4
"""Polygons of a batch whose middles are candidates."""
_FINE = 10
"""Candidates are multiples of 2^-10 of a polygon's size: their numbers stay short."""

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

Steps: TypeAlias = Generator[Polygons | None, None, Polygons]


@dataclass
class _Question:
    """A node of a location's decision tree: a case, or the choice that is asked next, of `exprs` without choices."""

    fixed: dict[int, int]
    case: Case | None = None
    choice: Choice | None = None
    exprs: tuple[Expr, ...] = ()
    after: dict[object, _Question] = field(default_factory=dict)

    @staticmethod
    def of(location: Location, fixed: dict[int, int]) -> _Question:
        """What is open when some choices are fixed."""
        try:
            return _Question(fixed, location.case(fixed))
        except OpenError as error:
            node = error.node
        simplifier = Simplifier({}, fixed)
        while True:  # a choice between things that hang on others: these come first
            choice = location.choices[location.position[id(node)]]
            parts = (choice.expr,) if isinstance(choice, Sign) else tuple(map(_scalar, children(choice)))
            try:
                return _Question(fixed, None, choice, tuple(map(simplifier.expr, parts)))
            except OpenError as error:
                node = error.node

    def outcomes(self) -> list[tuple[object, dict[int, int]]]:
        """The ways to fix the choice, with what they fix."""
        assert self.choice is not None
        if isinstance(self.choice, Sign):
            some = dict.fromkeys(self.choice.truths(o) for o in range(3))
            nodes = [id(c) for c, _ in self.choice.comparisons]
            return [(t, dict(zip(nodes, t, strict=True))) for t in some]
        return [(i, {id(self.choice): i}) for i in range(len(self.exprs))]

    def next(self, location: Location, outcome: object, fixed: dict[int, int]) -> _Question:
        """What is open after that."""
        if outcome not in self.after:
            self.after[outcome] = _Question.of(location, {**self.fixed, **fixed})
        return self.after[outcome]


def _scalar(node: object) -> Expr:
    assert isinstance(node, Expr)
    return node


@dataclass(frozen=True, eq=False)
class _Batch:
    """Polygons in one location; which quantities are those of the state, real by real, and those of expressions."""

    polygons: Polygons
    location: Location
    state: tuple[int, ...]
    known: dict[int, tuple[int, ...]]
    """By id of an expression, or of a network's application."""

    def of(self, polygons: Polygons, key: int | None = None, at: Sequence[int] = ()) -> _Batch:
        """The same with other polygons, and with one more thing that is known."""
        return replace(self, polygons=polygons, known=self.known if key is None else {**self.known, key: tuple(at)})


class Enumeration:
    """What of the initial set is left where `target` may hold; work that goes on where it was left.

    Raises `UnsuitableError` where the initial set has more than two free dimensions.
    """

    def __init__(self, space: Space, target: Formula) -> None:
        self.space, self.target = space, target
        self.over = self.refuted = self.may_deadlock = False
        self.count = 0
        """Polygons that a formula was asked of."""
        self._size = len(space.reals)
        self._questions: dict[int, _Question] = {}
        if any(sum(low < high for low, high in map(s.box.__getitem__, space.reals)) > 2 for s in space.starts):
            raise UnsuitableError("the initial set has more than two free dimensions")
        self._start: Start
        self._steps = self._run()

    def run(self, tick: Callable[[], None]) -> list[Candidate]:
        """Go on until something is left, of which candidates are returned, or to the end; `tick` may raise."""
        while not self.over:
            tick()
            try:
                found = next(self._steps)
            except StopIteration as end:
                self.over, self.refuted = True, not len(end.value)
            except (UnsuitableError, OverflowError):
                self.over = True
            else:
                if found is not None:
                    return list(self._candidates(found))
        return []

    def _run(self) -> Steps:
        left = []
        for start in self.space.starts:
            self._start = start
            state = tuple(range(self._size))
            polygons = self._whole(start)
            for row in start.region:
                polygons = self._atom(polygons, start.values, state, row)
            number = self.space.number(start.values)
            left.append((yield from self._open(polygons, number, state, self.target, 0, True)))
        return joined(left)

    def _whole(self, start: Start) -> Polygons:
        """The box of a start as a polygon."""
        reals = self.space.reals
        free = [i for i, n in enumerate(reals) if start.box[n][0] < start.box[n][1]]
        turns = [(0, 0), (1, 0), (1, 1), (0, 1)] if len(free) == 2 else [(0,), (1,)][: 1 + len(free)]
        x = np.array([[[float(start.box[n][0]) for n in reals]] * len(turns)])
        for vertex, turn in enumerate(turns):
            for i, end in zip(free, turn, strict=False):
                x[0, vertex, i] = float(start.box[reals[i]][end])
        inexact = np.array([any(Fraction(float(end)) != end for end in start.box[n]) for n in reals])
        error = np.where(inexact, np.abs(x[0]).max(0) * 2 * UNIT_ROUNDOFF + _TINY, 0.0)[None]
        path = np.full((1, self.target.depth), -1)
        return Polygons(x, np.array([len(turns)]), np.zeros((1, 0, len(reals))), error, path)

    def _candidates(self, polygons: Polygons) -> Iterator[Candidate]:
        """The middles of the largest of some polygons, with the branches that led there."""
        x = polygons.x[:, :, : self._size]
        extent = x.max(1) - x.min(1)
        for row in np.argsort(-extent.max(1), kind="stable")[:_PICKED]:
            middle = x[row, : polygons.count[row]].mean(0)
            values = dict(zip(self.space.integers, map(Fraction, self._start.values), strict=True))
            for i, name in enumerate(self.space.reals):
                low, high = self._start.box[name]
                unit = Fraction(2) ** (frexp(extent[row, i])[1] - _FINE) if extent[row, i] > 0 else Fraction(0)
                value = round(Fraction(middle[i]) / unit) * unit if unit else Fraction(middle[i])
                values[name] = min(max(value, low), high)
            taken = polygons.path[row]
            branches = taken[: int((taken >= 0).cumprod().sum())]
            yield Candidate({n: values[n] for n in self.space.system.variables}, tuple(map(int, branches)))

    # -- formulas ------------------------------------------------------------------------------------------------------

    def _open(
        self, polygons: Polygons, number: int, state: tuple[int, ...], formula: Formula, step: int, last: bool
    ) -> Steps:
        """The parts in which a formula may hold.

        last: what is left is left of the initial set, and handed to who runs this; its first quantities alone, those of
        the initial state, are returned.
        """
        if len(polygons) > _ROWS:
            parts = []
            for at in range(0, len(polygons), _ROWS):
                some = polygons.take(slice(at, at + _ROWS))
                parts.append((yield from self._open(some, number, state, formula, step, last)))
            return joined(parts)
        found = polygons
        self.count += len(found)
        match formula:
            case Bottom():
                found = found.take(slice(0, 0))
            case Atom(comparison):
                found = self._atom(found, self.space.locations[number].values, state, comparison)
            case And(operands):
                *first, end = sorted(operands, key=lambda f: f.depth)
                for operand in first:
                    found = yield from self._open(found, number, state, operand, step, False)
                return (yield from self._open(found, number, state, end, step, last))
            case Or(operands):
                parts = []
                for operand in sorted(operands, key=lambda f: f.depth):
                    parts.append((yield from self._open(found, number, state, operand, step, last)))
                return joined(parts)
            case EX(operand):
                return (yield from self._some(found, number, state, operand, step, last))
            case AX(operand):
                found = yield from self._every(found, number, state, operand, step)
        found = found.head(self._size, found.r.shape[1]) if last else found
        if last and len(found):
            yield found
        return found

    def _some(
        self, polygons: Polygons, number: int, state: tuple[int, ...], operand: Formula, step: int, last: bool
    ) -> Steps:
        """The parts that some move may lead to where `operand` holds."""
        width, roots = (self._size if last else polygons.width), polygons.r.shape[1]
        after = yield from self._after(polygons, number, state)
        parts = [polygons.take(slice(0, 0)).head(width, roots)]
        for at in range(polygons.width, after.width, 2 + self._size):
            moves = after.x[:, 0, at] >= 0
            found = yield from self._moved(after.take(moves), at, operand, step, last)
            parts.append(found.head(width, roots))
        return joined(parts)

    def _every(self, polygons: Polygons, number: int, state: tuple[int, ...], operand: Formula, step: int) -> Steps:
        """The parts all moves of which may lead to where `operand` holds."""
        after = yield from self._after(polygons, number, state)
        for at in range(polygons.width, after.width, 2 + self._size):
            moves = after.x[:, 0, at] >= 0
            found = yield from self._moved(after.take(moves), at, operand, step, False)
            after = joined([after.take(~moves), found])
        return after.head(polygons.width, polygons.r.shape[1])

    def _moved(self, after: Polygons, at: int, formula: Formula, step: int, last: bool) -> Steps:
        """What may be left of polygons by a formula of the state that one of their moves leads to, from quantity `at`
        on."""
        state = tuple(range(at + 2, at + 2 + self._size))
        target = after.x[:, 0, at]
        parts = [after.take(slice(0, 0))]
        for number in np.unique(target):
            some = after.take(target == number)
            some.path[:, step] = some.x[:, 0, at + 1]
            if last:
                some, here = some.quantities([*range(self._size), *state]), tuple(range(self._size, 2 * self._size))
            else:
                here = state
            found = yield from self._open(some.rooted(here), int(number), here, formula, step + 1, last)
            parts.append(found.head(found.width, after.r.shape[1]))
        return joined(parts)

    def _atom(
        self, polygons: Polygons, values: tuple[int, ...], state: Sequence[int], comparison: Comparison
    ) -> Polygons:
        """The parts in which a comparison of variables may hold."""
        integers = {n: LinearExpr((), Fraction(v)) for n, v in zip(self.space.integers, values, strict=True)}
        weight, bias = self._rows([comparison.expr.substitute(integers)])
        valued = polygons.affine(state, weight, bias, UNIT_ROUNDOFF)
        return valued.may(polygons.width, comparison.relation).head(polygons.width, polygons.r.shape[1])

    def _rows(self, exprs: Sequence[LinearExpr]) -> tuple[Floats, Floats]:
        """Affine expressions of the reals as floats: weights (m, n), off by a rounding each, and constants (m,)."""
        factors = [[e.coefficients.get(n, Fraction(0)) for n in self.space.reals] for e in exprs]
        return _floats(factors), _floats([[e.constant for e in exprs]])[0]

    # -- one step ------------------------------------------------------------------------------------------------------

    def _after(self, polygons: Polygons, number: int, state: tuple[int, ...]) -> Steps:
        """Polygons cut so that all moves of each are affine, with these as further quantities.

        For every move, those are the number of its target (-1 for no move), its branch, and the new reals.
        """
        if not len(polygons):
            return polygons
        width, size = polygons.width, self._size
        cases = yield from self._cases(_Batch(polygons, self.space.locations[number], state, {}), number)
        slots = max((len(case.moves) for _, case in cases), default=0)
        found = []
        for batch, case in cases:
            at = list(range(width))
            self.may_deadlock |= not case.moves
            for move in case.moves:
                self._check(move.integers)
                target = self.space.number(move.integers)
                batch, added = self._numbers(batch, [target, move.branches[0]])
                at += added
                if move.affine is not None:
                    weight, bias = self._rows(move.affine)
                    first = batch.polygons.width
                    batch = batch.of(batch.polygons.affine(batch.state, weight, bias, UNIT_ROUNDOFF))
                    at += range(first, first + size)
                else:
                    for expr in move.reals:
                        batch, column = yield from self._value(batch, expr)
                        at.append(column)
                self._inside(batch.polygons, at[-size:])
            batch, added = self._numbers(batch, [-1.0] + [0.0] * (1 + size))
            at += added * (slots - len(case.moves))
            found.append(batch.polygons.quantities(at))
        return joined(found)

    def _numbers(self, batch: _Batch, values: Sequence[float]) -> tuple[_Batch, list[int]]:
        polygons, first = batch.polygons, batch.polygons.width
        rows = np.repeat(np.array([values], dtype=float), len(polygons), 0)
        return batch.of(polygons.constant(rows)), list(range(first, first + len(values)))

    def _check(self, integers: tuple[int, ...]) -> None:
        for name, value in zip(self.space.integers, integers, strict=True):
            decl = self.space.system.variables[name]
            if not decl.lower <= value <= decl.upper:
                raise UnsuitableError("a state leaves its declared range")

    def _inside(self, polygons: Polygons, state: Sequence[int]) -> None:
        """Raises `UnsuitableError` where a real variable may leave its declared range."""
        low, high = polygons.ranges(state)
        for i, name in enumerate(self.space.reals):
            decl = self.space.system.variables[name]
            if not (low[:, i] >= _up(decl.lower)).all() or not (high[:, i] <= -_up(-decl.upper)).all():
                raise UnsuitableError("a state may leave its declared range")

    def _cases(self, batch: _Batch, number: int) -> Generator[None, None, list[tuple[_Batch, Case]]]:
        """Polygons cut until every choice that matters is decided, with the case that follows."""
        location = batch.location
        if number not in self._questions:
            self._questions[number] = _Question.of(location, {})
        waiting, found = [(self._questions[number], batch)], []
        while waiting:
            question, here = waiting.pop()
            if question.case is not None:
                found.append((here, question.case))
                continue
            columns = []
            for expr in question.exprs:
                here, column = yield from self._value(here, expr)
                columns.append(column)
            assert question.choice is not None
            if isinstance(question.choice, Sign):
                parts = _signs(here.polygons, columns[0], question.choice)
            else:
                parts = _winners(here.polygons, columns, isinstance(question.choice, ArgMax))
            outcomes = question.outcomes()
            for (outcome, fixed), part in zip(outcomes, parts, strict=True):
                if len(part):
                    waiting.append((question.next(location, outcome, fixed), here.of(part)))
            yield
        return found

    def _value(self, batch: _Batch, expr: Expr) -> Generator[None, None, tuple[_Batch, int]]:
        """An expression without choices as a quantity; networks cut polygons."""
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
        weight, bias = _floats([[c for c, _ in terms]]), _floats([[constant]])[0]
        polygons = batch.polygons.affine(at, weight, bias, UNIT_ROUNDOFF)
        return batch.of(polygons, id(expr), [polygons.width - 1]), polygons.width - 1

    def _network(self, batch: _Batch, application: Application) -> Generator[None, None, _Batch]:
        """The outputs of a network as quantities."""
        at = []
        for expr in application.inputs:
            batch, column = yield from self._value(batch, expr)
            at.append(column)
        polygons, width = batch.polygons, batch.polygons.width
        for layer in application.network.layers:
            polygons = polygons.affine(at, layer.weight, layer.bias, layer.weight_error, keep=width)
            at = list(range(width, polygons.width))
            if layer.activation == "relu":
                done = []
                while len(polygons):
                    settled, polygons = cut_at_zero(polygons, slice(width, None))
                    done.append(settled)
                    if sum(map(len, done)) + len(polygons) > _MOST:
                        raise OverflowError("too many polygons")
                    yield
                polygons = joined(done).relu(slice(width, None)) if done else polygons
        return batch.of(polygons, id(application), at)


def _signs(polygons: Polygons, at: int, choice: Sign) -> list[Polygons]:
    """By the truths of its comparisons: the parts where a quantity may have a sign."""
    found: dict[object, list[int]] = {}
    for outcome in range(3):
        found.setdefault(choice.truths(outcome), []).append(outcome)
    relations = [_RELATIONS[tuple(outcomes)] for outcomes in found.values()]
    return [polygons if r is None else polygons.may(at, r) for r in relations]


def _winners(polygons: Polygons, at: Sequence[int], strict: bool) -> list[Polygons]:
    """By index: the parts where a quantity may be the greatest; strict: where it may be so for the first time."""
    x, radius = polygons.x[:, :, at], polygons.radius()[:, at]
    gap = x[:, :, :, None] - x[:, :, None]
    size = np.abs(x).max(1)
    size = size[:, :, None] + size[:, None]
    slack = radius[:, :, None] + radius[:, None] + gamma(8) * size + _TINY
    most, least = gap.max(1) + slack, gap.min(1) - slack
    found = []
    for i, one in enumerate(at):
        rows = ~(most[:, i] < 0).any(1)
        part = polygons.take(rows)
        for j, other in enumerate(at):
            if j != i and not (least[rows, i, j] > 0).all():
                relation = Relation.GT if strict and j < i else Relation.GE
                wider = part.affine([one, other], np.array([[1.0, -1.0]]), np.zeros(1))
                part = wider.may(polygons.width, relation).head(polygons.width, polygons.r.shape[1])
        found.append(part)
    return found


def _floats(values: Sequence[Sequence[Fraction]]) -> Floats:
    """The floats next to rationals; raises `UnsuitableError` where they are not near to them."""
    found = np.array([[float(v) for v in row] for row in values]).reshape(len(values), -1)
    if any(v and abs(f) < _NORMAL for f, v in zip(found.flat, chain(*values), strict=True)):
        raise UnsuitableError("a number of the model is too small for floats")
    return found


def _up(value: Fraction) -> float:
    """A float that is not below a rational."""
    near = float(value)
    return near if Fraction(near) >= value else float(np.nextafter(near, np.inf))
