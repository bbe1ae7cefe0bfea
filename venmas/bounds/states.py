"""Abstract states: the bounds interpreter of the expression graph.

`States` is a batch of abstract states of one system, each reached from the initial set by a path of branches, and
evaluates expressions for the whole batch at once; `State` is one of them, with its successors and, where a path makes a
variable an exact affine function of the initial state, that function in rationals. Linear bounds stay linear in the
initial state over any number of steps. A batch makes its successors in chunks, so that
a depth-first walk over b^k paths keeps a bounded number of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.exact import affine_form, exact_range
from venmas.bounds.expressions import MAX_VALUES, Assumptions, Interpreter, Truths, rounded
from venmas.bounds.linear_forms import Quantity, constant, finite, join
from venmas.bounds.methods import METHODS, BoundMethod
from venmas.bounds.rounding import ball
from venmas.budget import ask
from venmas.logic.linear import Comparison, LinearExpr
from venmas.model.expressions.expr import Condition, Expr, Truth
from venmas.model.system.system import System

CHUNK = 64
"""Greatest number of successors made at once."""


@dataclass(eq=False)
class Findings:
    """Side conditions that bounds left open while states were made; the engine decides them (design S1, S4)."""

    may_leave_box: set[str] = field(default_factory=set)
    may_deadlock: bool = False


@dataclass(eq=False)
class State:
    """One abstract state: a row of a batch, how it was reached, and its exact side.

    `branches` are the indices of the branches that lead here from `parent`: one, or several that answer identically. A
    hull lists all its `origins` instead, states and branches, and is exact only where they agree. `base` is the state
    that this one is, under the assumptions of its batch (`States.split`).
    """

    batch: States
    row: int
    parent: State | None
    branches: tuple[int, ...]
    box: Mapping[str, tuple[Fraction, Fraction]]
    step: int
    origins: tuple[tuple[State, int], ...] = ()
    base: State | None = None
    forms: dict[str, LinearExpr | None] = field(default_factory=dict)
    ranges: dict[str, tuple[Fraction, Fraction]] = field(default_factory=dict)

    def sources(self, name: str) -> list[tuple[State, Expr]]:
        """Sources of a variable's value here: an expression in the parent, or in each of the origins."""
        system = self.batch.system
        origins = self.origins or ([] if self.parent is None else [(self.parent, self.branches[0])])
        return [(state, dict(system.branches[i].updates).get(name, system[name])) for state, i in origins]

    def bounds(self, expr: Expr) -> tuple[float, float]:
        """Rigorous interval of an expression."""
        q = self.batch.value(expr)
        return float(q.lo[self.row]), float(q.hi[self.row])

    def possible(self, expr: Expr) -> tuple[Fraction, ...] | None:
        """The values an expression may take, when they are finitely many and tracked."""
        q = self.batch.value(expr)
        if q.values is None or q.possible is None:
            return None
        return tuple(v for v, p in zip(q.values, q.possible[self.row], strict=True) if p)

    def truth(self, condition: Condition) -> bool | None:
        """Truth of a condition, None where it is open."""
        return _BOOL[int(self.batch.truth(condition)[self.row])]

    def decide(self, comparison: Comparison) -> bool | None:
        """Truth of a comparison of state variables, None where it is open."""
        return _BOOL[int(self.batch.atom(comparison)[self.row])]

    def affine(self, expr: Expr) -> LinearExpr | None:
        """`expr` as an exact affine function of the initial state, where the path and the bounds make it one."""
        return affine_form(self, expr)

    def successors(self) -> tuple[Step, ...]:
        """The branches that may be taken here, identical ones merged."""
        return self.batch.steps(self.row)


_BOOL: dict[int, bool | None] = {1: True, 0: False, -1: None}


@dataclass(frozen=True, eq=False)
class Step:
    """A possible step: the merged branches, whether the guard is certain, and the state it leads to."""

    branches: tuple[int, ...]
    certain: bool
    state: State

    def guard(self, system: System) -> Condition:
        """The condition under which one of the branches is possible."""
        return Truth(True) if self.certain else system.branches[self.branches[0]].guard


class States(Interpreter):
    """A batch of abstract states; see the module's docstring."""

    members: list[State]

    def __init__(
        self, system: System, method: BoundMethod, env: Mapping[str, Quantity], size: int, roots: int, found: Findings
    ) -> None:
        super().__init__(system, method, env, size, roots)
        self.found = found
        self._moves: list[tuple[int, Truths, dict[str, Quantity]]] | None = None
        self._chunk: tuple[int, list[tuple[Step, ...]]] = (-1, [])

    @staticmethod
    def initial(
        system: System, boxes: Sequence[Mapping[str, tuple[Fraction, Fraction]]], method: str = "symbolic"
    ) -> States:
        """One abstract state per initial region, given by bounding boxes in rationals."""
        how = METHODS[method]
        free = [n for n in system.variables if any(b[n][0] != b[n][1] for b in boxes)] if how.uses_roots else []
        size, roots = len(boxes), len(free)
        env: dict[str, Quantity] = {}
        for name, decl in system.variables.items():
            ends = [(constant(b[name][0], 1, roots), constant(b[name][1], 1, roots)) for b in boxes]
            lo = np.array([float(low.lo[0]) for low, _ in ends])
            hi = np.array([float(high.hi[0]) for _, high in ends])
            low, upp = np.zeros((size, roots + 1)), np.zeros((size, roots + 1))
            if name in free:
                low[:, 0], low[:, 1 + free.index(name)] = ball(lo, hi)
                upp[:] = low
            else:
                low[:, 0], upp[:, 0] = lo, hi
            env[name] = _variable(Quantity(low, upp, lo, hi), decl.integral, decl.values)
        states = States(system, how, env, size, roots, Findings())
        states.members = [State(states, i, None, (), dict(box), 0) for i, box in enumerate(boxes)]
        return states

    # -- steps ---------------------------------------------------------------------------------------------------------

    def steps(self, row: int) -> tuple[Step, ...]:
        """Possible steps from one state; those of its neighbours are made along with it."""
        if self._moves is None:
            moves = []
            for index, branch in enumerate(self.system.branches):
                truth = self.truth(branch.guard)
                if (truth != 0).any():
                    updates = dict(branch.updates)
                    env = {n: self.value(updates[n]) if n in updates else self.env[n] for n in self.system.variables}
                    moves.append((index, truth, env))
            self._moves = moves  # all of them: a limit may have ended the loop before
        width = max(1, CHUNK // max(1, len(self._moves)))
        number = row // width
        if self._chunk[0] != number:
            self._chunk = (number, self._make(range(number * width, min(self.size, (number + 1) * width))))
        return self._chunk[1][row - number * width]

    def _make(self, rows: range) -> list[tuple[Step, ...]]:
        assert self._moves is not None
        plan: list[tuple[int, tuple[int, ...], int, bool]] = []  # row, merged branches, position in _moves, certain
        for row in rows:
            certain_here = False
            kept: list[tuple[int, list[int]]] = []
            for position, (index, truth, _) in enumerate(self._moves):
                ask()
                if truth[row] == 0:
                    continue
                certain_here |= truth[row] == 1
                twin = next((k for k in kept if self._identical(row, k[0], position)), None)
                if twin is None:
                    kept.append((position, [index]))
                else:
                    twin[1].append(index)
            plan += [(row, tuple(b), p, bool(self._moves[p][1][row] == 1)) for p, b in kept]
            self.found.may_deadlock |= not certain_here
        if not plan:
            return [() for _ in rows]
        size = len(plan)
        picked_rows = np.array([p[0] for p in plan], dtype=np.intp)
        picked_moves = np.array([p[2] for p in plan], dtype=np.intp)
        env = {
            n: self._gather(n, [m[2][n] for m in self._moves], picked_moves, picked_rows) for n in self.system.variables
        }
        child = States(self.system, self.method, env, size, self.roots, self.found)
        steps: dict[int, list[Step]] = {row: [] for row in rows}
        for at, (row, branches, _, certain) in enumerate(plan):
            ask()
            here = self.members[row]
            child.members.append(State(child, at, here, branches, here.box, here.step + 1))
            steps[row].append(Step(branches, certain, child.members[-1]))
        return [tuple(steps[row]) for row in rows]

    # -- cases and hulls -----------------------------------------------------------------------------------------------

    def split(self, rows: Sequence[int], assumptions: Sequence[Assumptions]) -> States:
        """The states of `rows`, each under its assumptions about choices that are open in it."""
        index = np.array(rows, dtype=np.intp)
        env = {n: q.rows(index) for n, q in self.env.items()}
        child = States(self.system, self.method, env, len(rows), self.roots, self.found)
        child.source = self, index
        for at, assumed in enumerate(assumptions):
            for choice, outcome in assumed:
                child.assume(at, choice, outcome)
        for at, row in enumerate(rows):
            state = self.members[row]
            child.members.append(replace(state, batch=child, row=at, base=state.base or state))
        return child

    @staticmethod
    def merge(groups: Sequence[Sequence[tuple[State, Step]]]) -> States:
        """A state for each group of steps, given with the states they leave: the hull of where they lead."""
        first = groups[0][0][1].state.batch
        distinct = [_different([step.state for _, step in group]) for group in groups]
        width = max(map(len, distinct))
        batches = list({id(s.batch): s.batch for states in distinct for s in states}.values())
        offsets = dict(zip(map(id, batches), np.cumsum([0, *(b.size for b in batches)]).tolist(), strict=False))
        index = np.array([[offsets[id(s.batch)] + s.row for s in (g * width)[:width]] for g in distinct], dtype=np.intp)
        mask = np.array([[i < len(g) for i in range(width)] for g in distinct])
        env: dict[str, Quantity] = {}
        for name, decl in first.system.variables.items():
            below = _stacked([b.env[name] for b in batches])
            columns = [below.rows(index[:, i]) for i in range(width)]
            hull = columns[0] if width == 1 else join(columns, mask)
            if (values := columns[0].values) is not None:
                either = np.stack([c.possible for c in columns if c.possible is not None], 1) & mask[:, :, None]
                hull = finite(hull, values, either.any(1))
            env[name] = _variable(hull, decl.integral, decl.values)
        merged = States(first.system, first.method, env, len(groups), first.roots, first.found)
        for at, (group, states) in enumerate(zip(groups, distinct, strict=True)):
            parent, step = group[0]
            origins = tuple((state, s.branches[0]) for state, s in group) if len(group) > 1 else ()
            node = State(merged, at, parent, step.branches, parent.box, parent.step + 1, origins)
            for name, variable in first.system.nodes_by_name.items():
                form = states[0].affine(variable)
                node.forms[name] = form if all(s.affine(variable) == form for s in states[1:]) else None
            merged.members.append(node)
        return merged

    def _identical(self, row: int, first: int, second: int) -> bool:
        """Do two branches certainly lead to the same state from here, under the same condition?"""
        assert self._moves is not None
        (i, truth_i, env_i), (j, truth_j, env_j) = self._moves[first], self._moves[second]
        left, right = self.system.branches[i], self.system.branches[j]
        if not (truth_i[row] == truth_j[row] == 1 or left.guard is right.guard):
            return False
        new_left, new_right = dict(left.updates), dict(right.updates)
        for name in self.system.variables:
            a, b = new_left.get(name, self.system[name]), new_right.get(name, self.system[name])
            if a is b:
                continue
            q, p = env_i[name], env_j[name]
            if not (np.array_equal(q.low[row], p.low[row]) and np.array_equal(q.upp[row], p.upp[row])):
                return False
            form = self.members[row].affine(a)
            if form is None or form != self.members[row].affine(b):
                return False
        return True

    def _gather(self, name: str, sources: list[Quantity], moves: NDArray[np.intp], rows: NDArray[np.intp]) -> Quantity:
        decl = self.system.variables[name]
        picked = Quantity(
            np.stack([q.low for q in sources])[moves, rows],
            np.stack([q.upp for q in sources])[moves, rows],
            np.stack([q.lo for q in sources])[moves, rows],
            np.stack([q.hi for q in sources])[moves, rows],
        )
        if decl.values is not None and all(q.values is not None and set(q.values) <= set(decl.values) for q in sources):
            masks = np.zeros((len(sources), self.size, len(decl.values)), dtype=bool)
            for at, q in enumerate(sources):
                assert q.values is not None
                masks[at][:, [decl.values.index(v) for v in q.values]] = q.possible
            picked = finite(picked, decl.values, masks[moves, rows])
        outside = bool((picked.lo < float(decl.lower)).any() or (picked.hi > float(decl.upper)).any())
        if outside and self._leaves(name, moves, rows, picked):
            self.found.may_leave_box.add(name)
        return _variable(picked, decl.integral, decl.values)

    def _leaves(self, name: str, moves: NDArray[np.intp], rows: NDArray[np.intp], picked: Quantity) -> bool:
        """Do the bounds leave the declared range by more than rounding? Decided in rationals."""
        assert self._moves is not None
        decl = self.system.variables[name]
        for at in np.flatnonzero((picked.lo < float(decl.lower)) | (picked.hi > float(decl.upper))):
            ask()
            index = self._moves[moves[at]][0]
            update = dict(self.system.branches[index].updates).get(name, self.system[name])
            state = self.members[rows[at]]
            low, high = exact_range(state, update)
            if low < decl.lower or high > decl.upper:
                return True
        return False


def _different(states: list[State]) -> list[State]:
    """The states without those that are the same exact function of the initial one as another."""
    distinct: dict[object, State] = {}
    for state in states:
        forms = tuple(state.affine(node) for node in state.batch.system.nodes_by_name.values())
        distinct.setdefault(id(state) if None in forms else forms, state)
    return list(distinct.values())


def _stacked(parts: Sequence[Quantity]) -> Quantity:
    """The rows of several batches below each other; values stay tracked where all of them are tracked alike."""
    values, possible = parts[0].values, None
    if values is not None and all(p.values == values for p in parts):
        possible = np.concatenate([p.possible for p in parts if p.possible is not None])
    low, upp, lo, hi = (np.concatenate([getattr(p, side) for p in parts]) for side in ("low", "upp", "lo", "hi"))
    return Quantity(low, upp, lo, hi, None if possible is None else values, possible)


def _variable(q: Quantity, integral: bool, values: tuple[Fraction, ...] | None) -> Quantity:
    """Round the bounds of an integer variable and track its values where its declared range is small."""
    if not integral:
        return Quantity(q.low, q.upp, q.lo, q.hi)
    q = rounded(q)
    if values is None or len(values) > MAX_VALUES:
        return q
    if q.values == values or q.lo.min() < float(values[0]) or q.hi.max() > float(values[-1]):
        return q if q.values == values else Quantity(q.low, q.upp, q.lo, q.hi)
    return finite(q, values, np.ones((len(q.lo), len(values)), dtype=bool))
