"""Systems of finitely many states, state by state: what can be reached is found once, formulas are decided backward.

The answers of the environment do not depend on the step, so a state is expanded once whatever the horizon; a formula
then costs one pass over the states for each of its operators. For every subformula and state the cost of showing it is
kept (the length of the longest run that must be looked at; `NEVER` where it is false), so that witnesses are short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import lcm

import numpy as np
from numpy.typing import NDArray

from venmas.linear import Relation
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top, subformulas
from venmas.model.simulate import Step
from venmas.model.system import System
from venmas.model.trace import Witness
from venmas.model.witness import collect, explain
from venmas.search.columns import LARGEST, RELATIONS, Bools, Columns, Integers, NotExplicitError
from venmas.search.points import integer_points

Costs = NDArray[np.unsignedinteger]

MAX_BYTES = 1 << 28
"""Most memory for the states, and for the truth of the atoms."""

MAX_KEPT = 1 << 28
"""Most memory for the costs that lead a witness; beyond it, the witness is searched for."""

_MOST_JOINS = 64

_ABSENT, _OUTSIDE = -2, -1
"""Successors that are no state: the guard does not hold; the box is left, or the state was not expanded."""


@dataclass(frozen=True, eq=False)
class Explored:
    """What `explore` found. `violating` is an initial state that meets the target, of those with a shortest witness.

    states, expanded: how many states were found, and how many of them were stepped from. deadlock: a state without
    successors among the latter. left_box: a transition (state, index of the branch) that leaves the declared box.
    """

    violating: dict[str, Fraction] | None
    states: int
    expanded: int
    may_deadlock: dict[str, Fraction] | None
    left_box: tuple[dict[str, Fraction], int] | None
    show: Callable[[], Witness] | None = None

    def witness(self) -> Witness | None:
        """The witness that `violating` meets the target, built without a search; None where nothing does."""
        return None if self.show is None else self.show()


def explore(system: System, target: Formula, tick: Callable[[], None], limit: int = 200_000) -> Explored | None:
    """Decide whether an initial state meets the core formula `target`, by all states within its depth.

    None when the system is not explicit: a real variable, numbers beyond 2**53, more than `limit` states (or more than
    `MAX_BYTES` of them), or initial sets whose points are hard to find. tick: called between two pieces of work; what
    it raises ends the search.

    Raises `ModelError` where nothing meets the target and a state within its depth leaves the declared box (design S1).
    """
    try:
        graph = _Graph(system, limit, tick)
        graph.reach(target.depth)
        found = _Evaluation(graph, target)
    except NotExplicitError:
        return None
    violating = found.shortest()
    if violating is None and graph.left is not None:
        state, branch = graph.state(graph.left[0]), graph.left[1]
        Step(system, state).successor(branch)  # says what is left, and how
        raise AssertionError(f"branch {branch} stays in the box in exact numbers: {state}")
    return Explored(
        None if violating is None else graph.state(violating),
        len(graph.keys),
        graph.expanded,
        None if graph.deadlock is None else graph.state(graph.deadlock),
        None if graph.left is None else (graph.state(graph.left[0]), graph.left[1]),
        None if violating is None else lambda: found.witness(violating),
    )


class _Packing:
    """States as bytes: a bit for each variable in {0, 1}, the smallest fitting integers for the others."""

    def __init__(self, ranges: NDArray[np.int64]) -> None:
        bits = (ranges[0] >= 0) & (ranges[1] <= 1)
        self.bits, self.rest = np.flatnonzero(bits), np.flatnonzero(~bits)
        self.bit_bytes = -(-len(self.bits) // 8)
        ends = ranges[:, self.rest]
        kinds = [np.min_scalar_type(int(v)) for v in (ends.min(initial=-1), -ends.max(initial=0) - 1)]
        self.kind = np.result_type(*kinds)
        self.size = self.bit_bytes + len(self.rest) * self.kind.itemsize
        self.width = ranges.shape[1]

    def keys(self, states: Integers) -> list[bytes]:
        """(B, variables) -> B texts."""
        bits = np.packbits((states if len(self.bits) == self.width else states[:, self.bits]).astype(bool), axis=1)
        rest = np.frombuffer(states[:, self.rest].astype(self.kind).tobytes(), np.uint8)
        whole = np.concatenate([bits, rest.reshape(len(states), self.size - self.bit_bytes)], axis=1).tobytes()
        return [whole[i : i + self.size] for i in range(0, len(whole), self.size)]

    def states(self, keys: Sequence[bytes]) -> NDArray[np.int64] | Integers:
        """B texts -> (B, variables)."""
        whole = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), self.size)
        found = np.empty((len(keys), self.width), self.kind)
        found[:, self.bits] = np.unpackbits(whole[:, : self.bit_bytes], axis=1, count=len(self.bits))
        rest = np.frombuffer(whole[:, self.bit_bytes :].tobytes(), self.kind)
        found[:, self.rest] = rest.reshape(len(keys), len(self.rest))
        return found


class _Graph:
    """The states that are reached, and for each branch the numbers of the successors of those that were expanded."""

    def __init__(self, system: System, limit: int, tick: Callable[[], None]) -> None:
        self.system, self.tick = system, tick
        self.columns = Columns(system)
        self.packing = _Packing(self.columns.ranges)
        self.limit = min(limit, MAX_BYTES // max(self.packing.size, 4 * len(system.branches)))
        self.index: dict[bytes, int] = {}
        self.keys: list[bytes] = []
        self.expanded = 0
        self.deadlock: int | None = None
        self.left: tuple[int, int] | None = None
        self._found: list[NDArray[np.int32]] = []
        for region in system.regions:
            waiting: list[Integers] = []
            for block in integer_points(system, region, self.columns.ranges, self.limit, tick):
                waiting.append(block)
                if sum(map(len, waiting)) >= self.columns.rows:
                    self._number(np.concatenate(waiting))
                    waiting = []
            if waiting:
                self._number(np.concatenate(waiting))
        self.initial = len(self.keys)

    def state(self, number: int) -> dict[str, Fraction]:
        """A state by name."""
        values = self.packing.states([self.keys[number]])[0].tolist()
        return {name: Fraction(v) for name, v in zip(self.system.variables, values, strict=True)}

    def chunks(self, start: int, end: int) -> Iterator[tuple[int, Integers]]:
        """The states from `start` to `end`, some at a time, with the number of the first."""
        for first in range(start, end, self.columns.rows):
            self.tick()
            yield first, self.packing.states(self.keys[first : min(end, first + self.columns.rows)])

    def _number(self, states: Integers) -> list[int]:
        numbers = []
        for key in self.packing.keys(states):
            number = self.index.setdefault(key, len(self.keys))
            if number == len(self.keys):
                self.keys.append(key)
            numbers.append(number)
        if len(self.keys) > self.limit:
            raise NotExplicitError
        return numbers

    def reach(self, depth: int) -> None:
        """Expand the states that are reached in fewer than `depth` steps."""
        for _ in range(depth):
            start, self.expanded = self.expanded, len(self.keys)
            for first, states in self.chunks(start, self.expanded):
                self._found.append(self._expand(first, states))
            if start == self.expanded:
                break

    def _expand(self, first: int, states: Integers) -> NDArray[np.int32]:
        """(B, variables) -> (branches, B)."""
        columns = self.columns
        matrix = columns.run(states).matrix
        found = np.full((len(columns.guards), len(states)), _ABSENT, np.int32)
        for b, guard in enumerate(columns.guards):
            rows = np.flatnonzero(matrix[:, guard])
            new = (matrix if len(rows) == len(matrix) else matrix[rows]).take(columns.updates[b], axis=1)
            unsafe = np.flatnonzero(~columns.safe[b])
            outside = ((new[:, unsafe] < columns.ranges[0, unsafe]) | (new[:, unsafe] > columns.ranges[1, unsafe])).any(
                1
            )
            if outside.any():
                found[b, rows[outside]] = _OUTSIDE
                self.left = self.left or (first + int(rows[outside][0]), b)
                rows, new = rows[~outside], new[~outside]
            found[b, rows] = self._number(new)
        if self.deadlock is None and (stuck := np.flatnonzero((found == _ABSENT).all(0))).size:
            self.deadlock = first + int(stuck[0])
        return found

    def successors(self) -> NDArray[np.int64]:
        """(branches, states); -1 and -2 address the places behind the last state."""
        unknown = np.full((len(self.columns.guards), len(self.keys) - self.expanded), _OUTSIDE, np.int32)
        return np.concatenate([*self._found, unknown], axis=1).astype(np.intp)


class _Evaluation:
    """The costs of showing the subformulas, and what a witness follows; keys are the numbers of states."""

    def __init__(self, graph: _Graph, target: Formula) -> None:
        self.graph, self.target = graph, target
        short = target.depth < 2**16 - 2
        self.kind, self.never = np.dtype(np.uint16 if short else np.uint32), 2 ** (16 if short else 32) - 1
        self.next = graph.successors()
        self._atoms = self._truth([f for f in subformulas(target) if isinstance(f, Atom)])
        self._costs: dict[Formula, Costs] = {}
        self._joins: dict[tuple[bool, tuple[Atom, ...]], Costs] = {}
        self._whole = True
        self._decide()

    def _truth(self, atoms: Sequence[Atom]) -> dict[Formula, Bools]:
        """The truth of atoms (states,), exactly."""
        if len(atoms) * len(self.graph.keys) > MAX_BYTES:
            raise NotExplicitError
        number = {name: i for i, name in enumerate(self.graph.system.variables)}
        ranges = np.abs(self.graph.columns.ranges).max(0).tolist()
        truth = np.empty((len(atoms), len(self.graph.keys)), bool)
        rows: list[tuple[list[int], list[int], int]] = []
        for atom in atoms:
            expr = atom.comparison.expr
            by = lcm(expr.constant.denominator, *(c.denominator for _, c in expr.terms))
            index, factors = [number[n] for n, _ in expr.terms], [int(c * by) for _, c in expr.terms]
            largest = sum(abs(f) * ranges[i] for i, f in zip(index, factors, strict=True))
            if largest + abs(expr.constant * by) > LARGEST:
                raise NotExplicitError
            rows.append((index or [0], factors or [0], int(expr.constant * by)))
        starts = np.cumsum([0, *(len(index) for index, _, _ in rows)])[:-1]
        columns = np.array(list(chain(*(index for index, _, _ in rows))), dtype=np.intp)
        factors_ = np.array(list(chain(*(factors for _, factors, _ in rows))), dtype=np.int64)
        constants = np.array([constant for _, _, constant in rows], dtype=np.int64)
        kinds = {r: [i for i, a in enumerate(atoms) if a.comparison.relation is r] for r in Relation}
        if atoms:
            for first, states in self.graph.chunks(0, len(self.graph.keys)):
                values = np.add.reduceat(states[:, columns] * factors_, starts, axis=1) + constants
                for relation, which in kinds.items():
                    truth[which, first : first + len(states)] = RELATIONS[relation](values[:, which], 0).T
        return dict(zip(atoms, truth, strict=True))

    def _decide(self) -> None:
        order = list(subformulas(self.target))
        uses: dict[Formula, int] = dict.fromkeys(order, 0)
        for formula in order:
            for child in formula.children:
                uses[child] += 1
        kept = len(order) * (len(self.graph.keys) + 2) * self.kind.itemsize <= MAX_KEPT
        for formula in order:
            self.graph.tick()
            if not isinstance(formula, Atom):
                self._costs[formula] = self._compute(formula)
            for child in formula.children:
                uses[child] -= 1
                if not kept and not uses[child]:
                    self._costs.pop(child, None)
        self._whole = kept

    def costs(self, formula: Formula) -> Costs:
        """(states + 2,): what it costs to show the formula, `never` where it is false; the last two are free to use."""
        if isinstance(formula, Atom):
            found = np.empty(len(self.graph.keys) + 2, self.kind)
            found[:-2] = np.where(self._atoms[formula], 0, self.never)
            return found
        return self._costs[formula]

    def _cost(self, formula: Formula, key: int) -> int:
        return (
            self.never * (not self._atoms[formula][key])
            if isinstance(formula, Atom)
            else int(self._costs[formula][key])
        )

    def _compute(self, formula: Formula) -> Costs:
        match formula:
            case Top() | Bottom():
                return np.full(len(self.graph.keys) + 2, 0 if isinstance(formula, Top) else self.never, self.kind)
            case And(operands) | Or(operands):
                total = self._joined(isinstance(formula, And), tuple(o for o in operands if isinstance(o, Atom)))
                for operand in operands:
                    if not isinstance(operand, Atom):
                        (np.maximum if isinstance(formula, And) else np.minimum)(total, self.costs(operand), out=total)
                return total
            case EX(operand) | AX(operand):
                below, every = self.costs(operand), isinstance(formula, AX)
                below[_ABSENT], below[_OUTSIDE] = 0 if every else self.never, self.never
                join = np.maximum if every else np.minimum
                total = np.empty_like(below)
                join.reduce(below[self.next], axis=0, out=total[:-2])
                total[:-2] += total[:-2] < self.never
                return total
        raise TypeError(f"{type(formula).__name__} is no core formula: pass it through nnf() first")

    def _joined(self, every: bool, atoms: tuple[Atom, ...]) -> Costs:
        """The costs of a conjunction or disjunction of atoms; the steps of a long formula share it."""
        if (every, atoms) not in self._joins:
            if len(self._joins) > _MOST_JOINS:
                self._joins.clear()
            truth = np.full(len(self.graph.keys) + 2, every)
            for atom in atoms:
                (np.logical_and if every else np.logical_or)(truth[:-2], self._atoms[atom], out=truth[:-2])
            self._joins[every, atoms] = np.where(truth, 0, self.never).astype(self.kind)
        return self._joins[every, atoms].copy()

    def shortest(self) -> int | None:
        """The initial state with the least cost, if one meets the target."""
        costs = self.costs(self.target)[: self.graph.initial]
        best = int(np.argmin(costs)) if len(costs) else 0
        return best if len(costs) and int(costs[best]) < self.never else None

    # -- what a witness is collected from ------------------------------------------------------------------------------

    def witness(self, initial: int) -> Witness:
        """The witness that an initial state meets the target."""
        if self._whole:
            return collect(self.graph.system, self, self.target, initial)
        found = explain(self.graph.system, self.target, self.graph.state(initial))
        if found is None:
            raise AssertionError("the exact system does not meet the target where its graph of states does")
        return found

    def step(self, key: int) -> Step:
        """The exact step from a state."""
        return Step(self.graph.system, self.graph.state(key))

    def state(self, key: int) -> Mapping[str, Fraction]:
        """A state."""
        return self.graph.state(key)

    def chosen(self, formula: Formula, key: int) -> tuple[Formula, ...]:
        """The operands of And and Or that show it."""
        if isinstance(formula, And):
            return formula.children
        return (min(formula.children, key=lambda f: self._cost(f, key)),)

    def followed(self, formula: Formula, key: int) -> tuple[tuple[int, int], ...]:
        """The steps (branch, successor) of EX and AX that show it."""
        steps = [(b, int(s)) for b, s in enumerate(self.next[:, key]) if s >= 0]
        if isinstance(formula, AX):
            return tuple(steps)
        return (min(steps, key=lambda step: self._cost(formula.children[0], step[1])),)
