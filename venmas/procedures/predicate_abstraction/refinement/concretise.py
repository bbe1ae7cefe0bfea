"""Is an abstract path real? The first operator that no concrete path takes, else a concrete path and where it deviates.

    for i = 0 .. n: is there a start in the first abstract state from which o_0 .. o_{i-1} can be taken, with guard i
    met (the unsafe condition at n)? no: the path is spurious whatever the policy does
    run such a start: the first i where the policy picks another label, or the path is real

Conditions are pulled back to the start along the affine updates, so that each is a question about one state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from venmas.bounds.rounding import Ints
from venmas.procedures.predicate_abstraction.graph.explore import AbstractPath
from venmas.procedures.predicate_abstraction.states.box_condition import BoxCondition
from venmas.procedures.predicate_abstraction.states.cells import Cells
from venmas.procedures.predicate_abstraction.states.conditions import first_point
from venmas.procedures.predicate_abstraction.states.cover import Case
from venmas.procedures.predicate_abstraction.states.predicates import Predicate
from venmas.procedures.predicate_abstraction.states.queries import FREE
from venmas.procedures.predicate_abstraction.states.task import Operator, Task


@dataclass(frozen=True, eq=False)
class Blocked:
    """No start takes the path up to step i and meets its guard there: points (i + 1, n) of one that comes so far.

    atoms: of what is to be met at step i, with truths. target: it is the unsafe condition.
    """

    step: int
    points: Ints
    atoms: tuple[tuple[Predicate, bool], ...]
    target: bool


@dataclass(frozen=True, eq=False)
class Concrete:
    """A concrete path (n + 1 states) along the operators; deviates: the first step where the policy picks another."""

    points: Ints
    deviates: int | None


class Pulled:
    """The state after some operators as affine sums over the state before them: ``matrix @ x + constant``."""

    def __init__(self, width: int) -> None:
        self.matrix, self.constant = np.eye(width, dtype=np.int64), np.zeros(width, np.int64)

    def after(self, operator: Operator) -> None:
        """One operator more."""
        matrix = self.matrix[operator.source] * operator.factor[:, None]
        constant = self.constant[operator.source] * operator.factor + operator.offset
        for v, (coefficients, added) in operator.sums.items():
            matrix[v], constant[v] = coefficients @ self.matrix, int(coefficients @ self.constant) + added
        self.matrix, self.constant = matrix, constant

    def rows(self, low: Ints, high: Ints, rows: Ints, constants: Ints, task: Task) -> tuple[Ints, Ints]:
        """``low <= state <= high`` and ``rows @ state + constants >= 0``, as rows over the state before."""
        lower, upper = np.flatnonzero(low > task.low), np.flatnonzero(high < task.high)
        found = np.concatenate([self.matrix[lower], -self.matrix[upper], rows @ self.matrix])
        added = np.concatenate(
            [self.constant[lower] - low[lower], high[upper] - self.constant[upper], rows @ self.constant + constants]
        )
        return found, added


class Concretiser:
    """Concrete paths of a task to one of the cases that its unsafe condition is; rng: drawn at random."""

    def __init__(
        self, task: Task, starts: BoxCondition, unsafe: list[Case], rng: np.random.Generator | None = None
    ) -> None:
        self.task, self.starts, self.unsafe, self.rng = task, starts, unsafe, rng

    def check(self, path: AbstractPath, cells: Cells) -> Blocked | Concrete:
        """Whether the path is spurious in itself, else a concrete path."""
        task = self.task
        operators = [task.operators[o] for o in path.operators]
        low, high = cells.box(path.states[:1])
        bits, bit_constants = cells.literals(path.states[:1])
        rows, constants = bits[0], bit_constants[0]
        start = self._point(low[0], high[0], rows, constants)
        assert start is not None, "an abstract start holds an initial state"
        pulled = Pulled(len(task.low))
        for i, operator in enumerate(operators):
            more, added = pulled.rows(operator.low, operator.high, operator.rows, operator.constants, task)
            rows, constants = np.concatenate([rows, more]), np.concatenate([constants, added])
            if not (rows @ start + constants >= 0).all():
                found = self._point(low[0], high[0], rows, constants)
                if found is None:
                    return Blocked(i, self._run(start, operators[:i]), operator.atoms, False)
                start = found
            pulled.after(operator)
        for case in self.unsafe:
            more, added = pulled.rows(case.low, case.high, case.rows, case.constants, task)
            all_rows, all_constants = np.concatenate([rows, more]), np.concatenate([constants, added])
            found = self._point(low[0], high[0], all_rows, all_constants)
            if found is not None:
                points = self._run(found, operators)
                return Concrete(points, self._deviates(points, operators))
        points = self._run(start, operators)
        return Blocked(len(operators), points, self._met(path, cells).atoms, True)

    def _point(self, low: Ints, high: Ints, rows: Ints, constants: Ints) -> Ints | None:
        """A start in the box that meets the rows; drawn: the box is cut at random places as long as it has one."""
        found = first_point(self.starts, low, high, rows, constants)
        if self.rng is None or found is None:
            return found
        for v in self.rng.permutation(np.flatnonzero(low < high)).tolist():
            a, b = low.copy(), high.copy()
            cut = int(self.rng.integers(low[v], high[v]))
            if self.rng.random() < 0.5:
                b[v] = cut
            else:
                a[v] = cut + 1
            other = first_point(self.starts, a, b, rows, constants)
            if other is not None:
                low, high, found = a, b, other
        return found

    def _met(self, path: AbstractPath, cells: Cells) -> Case:
        """The case of the unsafe condition that the last abstract state meets."""
        known = dict(zip(cells.predicates, cells.words(path.states[-1:])[0].tolist(), strict=True))
        return next(c for c in self.unsafe if all(known.get(p, truth) == truth for p, truth in c.atoms))

    def fixed(self, path: AbstractPath, cells: Cells, step: int, variable: int, value: int) -> bool:
        """Has the variable this value at a step of every concrete path?"""
        low, high = cells.box(path.states[:1])
        bits, bit_constants = cells.literals(path.states[:1])
        rows, constants = bits[0], bit_constants[0]
        pulled = Pulled(len(self.task.low))
        for i, o in enumerate(path.operators[: step + 1]):
            operator = self.task.operators[o]
            more, added = pulled.rows(operator.low, operator.high, operator.rows, operator.constants, self.task)
            rows, constants = np.concatenate([rows, more]), np.concatenate([constants, added])
            if i < step:
                pulled.after(operator)
        row, at = pulled.matrix[variable], int(pulled.constant[variable])
        for side, shift in ((row, at - value - 1), (-row, value - 1 - at)):
            beyond = np.concatenate([rows, side[None]]), np.concatenate([constants, [shift]])
            if first_point(self.starts, low[0], high[0], *beyond) is not None:
                return False
        return True

    def _run(self, start: Ints, operators: list[Operator]) -> Ints:
        points = [start[None]]
        for operator in operators:
            points.append(operator.apply(points[-1]))
        return np.concatenate(points)

    def _deviates(self, points: Ints, operators: list[Operator]) -> int | None:
        labels = np.array([o.label for o in operators], np.int64)
        asked = np.flatnonzero(labels != FREE)
        policy = self.task.policy
        if policy is None or not len(asked):
            return None
        picked = policy.choose(points[asked])
        wrong = asked[picked != labels[asked]]
        return int(wrong[0]) if len(wrong) else None
