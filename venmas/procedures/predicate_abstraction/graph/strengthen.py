"""Invariants of the model alone: sums of variables that no operator changes, conjoined to every abstract state.

A sum ``c . x`` is constant along all runs where c is in the null space of what operators add to the state. Such facts
relate many variables at once (``sum of loads = 15``), which refinement would have to find one predicate at a time.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np

from venmas.bounds.rounding import Ints
from venmas.budget import ask
from venmas.procedures.predicate_abstraction.states.box_condition import BoxCondition
from venmas.procedures.predicate_abstraction.states.conditions import first_point
from venmas.procedures.predicate_abstraction.states.predicates import Predicate, at_least
from venmas.procedures.predicate_abstraction.states.task import Operator, Task

_MOST = 400
"""Variables up to which the null space is computed."""

Sums = list[tuple[Ints, int]]


def constant_sums(task: Task) -> Sums:
    """Sums (n,) with the value that each has in all reachable states: those that no operator changes."""
    n = len(task.low)
    if n > _MOST:
        return []
    wanted: dict[tuple[int, ...], None] = {}
    for o in task.operators:
        for row in _change(o, n):
            if row.any():
                wanted[tuple(row.tolist())] = None
    starts = BoxCondition(task.starts, task.columns, task.low, task.high)
    nowhere = np.zeros((0, n), np.int64), np.zeros(0, np.int64)
    start = first_point(starts, task.low, task.high, *nowhere)
    found: Sums = []
    for c in _null_space([[Fraction(x) for x in row] for row in wanted], n):
        if start is None or np.count_nonzero(c) < 2:
            continue
        value = int(c @ start)
        beside = ((c, -value - 1), (-c, value - 1))
        others = (first_point(starts, task.low, task.high, row[None], np.array([k])) for row, k in beside)
        if all(point is None for point in others):
            found.append((c, value))
    return found


def strengthened(task: Task, sums: Sums) -> Task:
    """The task with the sums in every guard: its reachable states are the same."""
    if not sums:
        return task
    rows = np.array([row for c, _ in sums for row in (c, -c)])
    constants = np.array([k for _, value in sums for k in (-value, value)])
    operators = tuple(
        replace(o, rows=np.concatenate([o.rows, rows]), constants=np.concatenate([o.constants, constants]))
        for o in task.operators
    )
    return replace(task, operators=operators)


def literals(sums: Sums) -> list[tuple[Predicate, bool]]:
    """The sums as predicates with their truths."""
    found: list[tuple[Predicate, bool]] = []
    for c, value in sums:
        for row, bound in ((c, value), (-c, -value)):
            terms = {v: int(row[v]) for v in np.flatnonzero(row).tolist()}
            p = at_least(terms, bound)
            assert p is not None
            found.append((p, next(iter(terms.values())) > 0))
    return found


def _change(operator: Operator, n: int) -> Ints:
    """What the operator adds to the state, as columns of coefficients: row u is what it takes of x[u]: (n + 1, n)."""
    matrix = np.zeros((n, n), np.int64)
    matrix[np.arange(n), operator.source] = operator.factor
    offset = operator.offset.copy()
    for v, (coefficients, constant) in operator.sums.items():
        matrix[v], offset[v] = coefficients, constant
    return np.concatenate([(matrix - np.eye(n, dtype=np.int64)).T, offset[None]])


def _null_space(rows: list[list[Fraction]], n: int) -> list[Ints]:
    """Integer vectors that span what all rows take to 0 (Gauss and Jordan)."""
    pivots: dict[int, list[Fraction]] = {}
    for row in rows:
        ask()
        for column, other in pivots.items():
            if row[column]:
                factor = row[column]
                row = [a - factor * b for a, b in zip(row, other, strict=True)]
        lead = next((i for i, c in enumerate(row) if c), None)
        if lead is None:
            continue
        row = [c / row[lead] for c in row]
        for column, other in pivots.items():
            if other[lead]:
                pivots[column] = [a - other[lead] * b for a, b in zip(other, row, strict=True)]
        pivots[lead] = row
    found = []
    for free in (i for i in range(n) if i not in pivots):
        vector = [Fraction(0)] * n
        vector[free] = Fraction(1)
        for column, row in pivots.items():
            vector[column] = -row[free]
        scale = lcm(*(c.denominator for c in vector))
        if max(abs(c) for c in vector) * scale < 2**20:
            found.append(np.array([int(c * scale) for c in vector], dtype=np.int64))
    return found
