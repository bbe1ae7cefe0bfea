"""The successors of many states of integers at once: a system compiled to operations on columns of integers.

Every node that is an integer by its form is a column of an integer matrix, one row per state; nodes of one kind and
level are computed together. Networks and what is made of them are floats that only decide (`undecided`), so
that every column is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import lcm
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Bools, Floats, Index
from venmas.budget import ask
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
    Sum,
    Switch,
    Truth,
    Variable,
    Where,
    children,
)
from venmas.model.system.system import System
from venmas.procedures.explicit.states.integers import LARGEST, Integers, NotExplicitError
from venmas.procedures.explicit.states.undecided import StateRows

_Node: TypeAlias = Expr | Condition
_Operation: TypeAlias = Callable[["StateRows"], None]

_CHUNK = 1 << 24
_DENSE = 1 << 24
"""Most variables times branches: what each branch does to each variable is stored."""


class Columns:
    """What the guards and updates of a system compute, compiled; raises `NotExplicitError` where that is not integral.

    Column i of the matrix is variable i; `guards` has the column of each branch's guard, `updates` (branches,
    variables) those of the new values, `safe` (branches, variables) which of these cannot leave their declared ranges.
    `rows` states at once are a good number.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self._bounds: dict[int, tuple[int, int]] = {}
        self._levels: dict[int, int] = {}
        self._kept: list[_Node] = []
        self._compared: dict[int, Expr] = {}
        self.column: dict[int, int] = {}
        variables = list(system.variables.values())
        if len(variables) * len(system.branches) > _DENSE:
            raise NotExplicitError
        for decl in variables:
            if not decl.integral or max(abs(decl.lower), abs(decl.upper)) > LARGEST:
                raise NotExplicitError
        self.ranges = np.array([(-(-d.lower // 1), d.upper // 1) for d in variables], dtype=np.int64).T
        for i, name in enumerate(system.variables):
            node = system.nodes_by_name[name]
            self._add(node, 0, (int(self.ranges[0, i]), int(self.ranges[1, i])))
            self.column[id(node)] = i
        for branch in system.branches:
            self._visit(branch.guard)
            for _, expr in branch.updates:
                self._visit(expr)
        self.fill: list[tuple[int, int]] = []
        self.operations: list[_Operation] = []
        self._schedule()
        self.width = len(self.column)
        low = min(b[0] for b in self._bounds.values())
        high = max(b[1] for b in self._bounds.values())
        self.dtype = np.result_type(np.min_scalar_type(min(low, -1)), np.min_scalar_type(min(-high - 1, -1)))
        self.rows = max(1, min(4096, _CHUNK // (self.width * self.dtype.itemsize)))
        self.guards = [self.column[id(b.guard)] for b in system.branches]
        own = np.arange(len(variables))
        number = {name: i for i, name in enumerate(system.variables)}
        self.updates, self.safe = np.tile(own, (len(self.guards), 1)), np.ones((len(self.guards), len(own)), bool)
        for b, branch in enumerate(system.branches):
            for name, expr in branch.updates:
                i, (least, most) = number[name], self._bounds[id(expr)]
                self.updates[b, i] = self.column[id(expr)]
                self.safe[b, i] = self.ranges[0, i] <= least and most <= self.ranges[1, i]
        self._weights: dict[int, Floats] = {}
        self._transposed: dict[int, Floats] = {}
        self._inputs: dict[int, Index] = {}

    def integral(self, node: _Node) -> bool:
        """True when the node has a column."""
        return id(node) in self._bounds

    def _add(self, node: _Node, level: int, bounds: tuple[int, int] | None) -> None:
        self._kept.append(node)
        self._levels[id(node)] = level
        if bounds is not None:
            if max(abs(bounds[0]), abs(bounds[1])) > LARGEST:
                raise NotExplicitError
            self._bounds[id(node)] = bounds

    def _visit(self, root: _Node) -> None:
        stack: list[tuple[_Node, Iterator[_Node]]] = [(root, iter(children(root)))]
        while stack:
            ask()
            node, rest = stack[-1]
            below = next((c for c in rest if id(c) not in self._levels), None)
            if below is not None:
                stack.append((below, iter(children(below))))
                continue
            stack.pop()
            if id(node) not in self._levels:
                parts: Sequence[_Node] = children(node)
                if isinstance(node, Compare) and not self.integral(node.expr):
                    parts = (self._scaled(node),)
                level = 1 + max((self._levels[id(c)] for c in parts), default=0)
                self._add(node, level, self._range(node))
        if not self.integral(root):
            raise NotExplicitError

    def _scaled(self, node: Compare) -> Expr:
        """What to compare with 0: where the sum is one of integers, its multiple with integral coefficients."""
        if not isinstance(node.expr, Sum) or not all(self.integral(e) for _, e in node.expr.terms):
            return node.expr
        terms, constant = node.expr.terms, node.expr.constant
        by = lcm(constant.denominator, *(c.denominator for c, _ in terms))
        made = Sum(tuple((c * by, e) for c, e in terms), constant * by)
        low, high = self._range(made) or (0, LARGEST + 1)
        if max(abs(low), abs(high)) > LARGEST:
            return node.expr
        self._add(made, 1 + max(self._levels[id(e)] for _, e in terms), (low, high))
        self._compared[id(node)] = made
        return made

    def _range(self, node: _Node) -> tuple[int, int] | None:
        """Integers between which the value lies, or None for what is no integer by its form."""
        match node:
            case Truth(value):
                return int(value), int(value)
            case All(()) | Any(()):
                return int(isinstance(node, All)), int(isinstance(node, All))
            case Condition():
                return 0, 1
            case Constant(number):
                return (int(number), int(number)) if number.denominator == 1 else None
            case ArgMax(scores):
                return 0, len(scores) - 1
            case Sum(terms, offset):
                if not all(c.denominator == 1 and self.integral(e) for c, e in terms) or offset.denominator != 1:
                    return None
                ends = [sorted(int(c) * v for v in self._bounds[id(e)]) for c, e in terms]
                return int(offset) + sum(e[0] for e in ends), int(offset) + sum(e[1] for e in ends)
        parts = self._alternatives(node)
        if not parts or not all(self.integral(p) for p in parts):
            return None
        return min(self._bounds[id(p)][0] for p in parts), max(self._bounds[id(p)][1] for p in parts)

    def _alternatives(self, node: _Node) -> tuple[Expr, ...]:
        """The expressions of which the value is that of one; none where it is no integer by its form."""
        match node:
            case Maximum(operands):
                return operands
            case Switch(selector, cases):
                if not self.integral(selector):
                    raise NotExplicitError
                return tuple(e for _, e in cases)
            case Where(_, then, otherwise):
                return then, otherwise
            case Variable():
                raise NotExplicitError  # of another system
        return ()

    def _schedule(self) -> None:
        """Give columns to the nodes, those of one operation side by side, and list the operations."""
        groups: dict[tuple[object, ...], list[_Node]] = {}
        for node in self._kept:
            if self.integral(node) and not isinstance(node, Variable):
                groups.setdefault((self._levels[id(node)], *self._kind(node)), []).append(node)
        for key in sorted(groups, key=lambda k: k[0]):  # type: ignore[arg-type,return-value]
            start = len(self.column)
            for node in groups[key]:
                self.column[id(node)] = len(self.column)
            self._operate(groups[key], start)

    def _kind(self, node: _Node) -> tuple[object, ...]:
        """Nodes of one kind are computed together."""
        match node:
            case Constant() | Truth() | All(()) | Any(()):
                return (Constant,)
            case Switch(selector, cases):
                return Switch, id(selector), tuple(k for k, _ in cases)
            case Maximum(operands):
                return Maximum, len(operands)
            case ArgMax(scores):
                return (ArgMax, len(scores)) if all(self.integral(s) for s in scores) else (ArgMax, id(node))
            case Compare(expr, relation):
                exact = self.integral(self._compared.get(id(node), expr))
                return (Compare, relation) if exact else (Compare, id(node))
        return (type(node),)

    def _operate(self, nodes: list[_Node], start: int) -> None:
        """List what computes the columns of some nodes of one kind."""
        if isinstance(nodes[0], Constant | Truth) or not children(nodes[0]):
            self.fill += [(start + i, self._bounds[id(n)][0]) for i, n in enumerate(nodes)]
            return
        out = slice(start, start + len(nodes))
        self.operations.append(self._exactly(nodes, out) or self._decided(nodes[0], out))

    def _exactly(self, nodes: list[_Node], out: slice) -> _Operation | None:
        """The operation on integer columns; None where an operand is no integer by its form."""
        match nodes[0]:
            case Sum():
                sums = [n for n in nodes if isinstance(n, Sum)]
                terms = [[(self._at(e), int(c)) for c, e in n.terms] for n in sums]
                return _sums(out, terms, [int(n.constant) for n in sums])
            case All() | Any():
                return _joined(out, isinstance(nodes[0], All), [[self._at(c) for c in children(n)] for n in nodes])
            case Maximum() | ArgMax() if all(self.integral(c) for c in children(nodes[0])):
                parts = np.array([[self._at(c) for c in children(n)] for n in nodes])
                return _greatest(out, isinstance(nodes[0], ArgMax), parts)
            case Switch() | Where():
                return self._chosen(nodes, out)
            case Compare(_, relation):
                compared = [self._compared.get(id(n), n.expr) for n in nodes if isinstance(n, Compare)]
                if self.integral(compared[0]):
                    parts = np.array([self._at(e) for e in compared])
                    return lambda rows: _put(rows, out, relation.truth(rows.matrix[:, parts]))
        return None

    def _chosen(self, nodes: list[_Node], out: slice) -> _Operation:
        """One of several columns."""
        if isinstance(nodes[0], Switch):
            switches = [n for n in nodes if isinstance(n, Switch)]
            keys = [k for k, _ in nodes[0].cases]
            table = {k: np.array([self._at(n.cases[i][1]) for n in switches]) for i, k in enumerate(keys)}
            return _switches(out, self._at(nodes[0].selector), table)
        return _wheres(out, *(np.array([self._at(children(n)[i]) for n in nodes]) for i in range(3)))

    def _decided(self, node: _Node, out: slice) -> _Operation:
        """The operation on floats that decides a comparison or a winner, ties in rationals."""
        match node:
            case Compare(expr, relation):
                return lambda rows: _put(rows, out, rows.compare(expr, relation))
            case ArgMax(scores):
                return lambda rows: _put(rows, out, rows.argmax(scores))
        raise TypeError(type(node))

    def _at(self, node: _Node) -> int:
        return self.column[id(node)]

    def run(self, states: Integers) -> StateRows:
        """Compute every column for states (B, variables)."""
        matrix = np.empty((len(states), self.width), self.dtype)
        matrix[:, : states.shape[1]] = states
        for column, value in self.fill:
            matrix[:, column] = value
        rows = StateRows(self, matrix)
        with np.errstate(all="ignore"):
            for operation in self.operations:
                operation(rows)
        return rows

    def steps(self, states: Integers) -> Iterator[tuple[int, Index, Integers, Bools]]:
        """By branch that is taken in some states (B, variables): where (K,), new values, which leave the box (K,)."""
        matrix = self.run(states).matrix
        for branch, guard in enumerate(self.guards):
            rows = np.flatnonzero(matrix[:, guard])
            if not rows.size:
                continue
            new = (matrix if len(rows) == len(matrix) else matrix[rows]).take(self.updates[branch], axis=1)
            risky = np.flatnonzero(~self.safe[branch])
            outside = ((new[:, risky] < self.ranges[0, risky]) | (new[:, risky] > self.ranges[1, risky])).any(1)
            yield branch, rows, new, outside

    def inputs(self, application: Application) -> Index:
        """The columns that are the inputs of a network."""
        if id(application) not in self._inputs:
            self._inputs[id(application)] = np.array([self.column[id(i)] for i in application.inputs])
        return self._inputs[id(application)]

    def transposed(self, weight: Floats) -> Floats:
        """A weight with its rows side by side, (in, out), copied once."""
        if id(weight) not in self._transposed:
            self._transposed[id(weight)] = np.ascontiguousarray(weight.T)
        return self._transposed[id(weight)]

    def absolute(self, weight: Floats) -> Floats:
        """|weight|, computed once."""
        if id(weight) not in self._weights:
            self._weights[id(weight)] = np.abs(weight)
        return self._weights[id(weight)]


def _put(rows: StateRows, out: slice, values: NDArray[np.generic]) -> None:
    rows.matrix[:, out] = values if values.ndim == 2 else values[:, None]


def _sums(out: slice, terms: Sequence[Sequence[tuple[int, int]]], constants: Sequence[int]) -> _Operation:
    columns = np.array([c for row in terms for c, _ in row])
    factors = np.array([f for row in terms for _, f in row], dtype=np.int64)
    starts = np.cumsum([0, *(len(row) for row in terms)])[:-1]
    offsets = np.array(constants, dtype=np.int64)
    ones = bool(np.all(factors == 1))

    def operate(rows: StateRows) -> None:
        parts, dtype = rows.matrix[:, columns], rows.matrix.dtype
        # in two's complement it does not matter that parts overflow when the whole does not
        parts = parts if ones else parts * factors.astype(dtype)
        rows.matrix[:, out] = np.add.reduceat(parts, starts, axis=1, dtype=dtype) + offsets.astype(dtype)

    return operate


def _joined(out: slice, every: bool, parts: Sequence[Sequence[int]]) -> _Operation:
    columns, starts = np.array(list(chain(*parts))), np.cumsum([0, *map(len, parts)])[:-1]
    reduce = np.minimum if every else np.maximum

    def operate(rows: StateRows) -> None:
        rows.matrix[:, out] = reduce.reduceat(rows.matrix[:, columns], starts, axis=1)

    return operate


def _greatest(out: slice, index: bool, parts: Index) -> _Operation:
    def operate(rows: StateRows) -> None:
        values = rows.matrix[:, parts]
        rows.matrix[:, out] = values.argmax(2) if index else values.max(2)

    return operate


def _switches(out: slice, selector: int, table: dict[int, Index]) -> _Operation:
    def operate(rows: StateRows) -> None:
        chosen = rows.matrix[:, selector]
        for key in np.unique(chosen):
            if int(key) in table:  # others are values of cases that no row takes
                here = np.flatnonzero(chosen == key)
                rows.matrix[here, out] = rows.matrix[here].take(table[int(key)], axis=1)

    return operate


def _wheres(out: slice, condition: Index, then: Index, otherwise: Index) -> _Operation:
    def operate(rows: StateRows) -> None:
        matrix = rows.matrix
        matrix[:, out] = np.where(matrix[:, condition] != 0, matrix[:, then], matrix[:, otherwise])

    return operate
