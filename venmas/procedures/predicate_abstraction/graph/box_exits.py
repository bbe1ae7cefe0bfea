"""Leaving the declared box (design S1) as a state to reach: one more variable, and operators that set it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from venmas.bounds.rounding import Ints
from venmas.logic import Atom, Formula, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.procedures.predicate_abstraction.graph.successors import may_leave
from venmas.procedures.predicate_abstraction.states.predicates import Predicate, at_least
from venmas.procedures.predicate_abstraction.states.task import Operator, Task

OUTSIDE = "!outside"
"""The name of the variable; no name of a system is one like it."""


def with_exits(task: Task, unsafe: Formula) -> tuple[Task, Formula]:
    """The task in which leaving the box is unsafe as well; as it is where no operator may leave."""
    exits = [e for o in task.operators for v in np.flatnonzero(may_leave(o, task)).tolist() for e in _exits(o, v, task)]
    if not exits:
        return task, unsafe
    names = (*task.names, OUTSIDE)
    low, high = np.append(task.low, 0), np.append(task.high, 1)
    operators = [_wider(o, 0) for o in task.operators] + [_wider(o, 1) for o in exits]
    outside = LinearExpr.variable(OUTSIDE)
    inside = Atom(Comparison(outside, Relation.LE))
    found = replace(
        task,
        names=names,
        low=low,
        high=high,
        operators=tuple(operators),
        starts=conjunction([task.starts, inside]),
        points=None if task.points is None else np.column_stack([task.points, np.zeros(len(task.points), np.int64)]),
    )
    return found, disjunction([unsafe, Atom(Comparison(outside, Relation.GT))])


def _exits(operator: Operator, v: int, task: Task) -> Iterator[Operator]:
    """The operator where it takes v below and above its range; nothing changes but that this is told."""
    terms, constant = operator.pull({v: 1}, 0)
    n = len(task.low)
    for sign, added in ((-1, int(task.low[v]) - 1 - constant), (1, constant - int(task.high[v]) - 1)):
        row = np.zeros(n, np.int64)
        for u, c in terms.items():
            row[u] = sign * c
        least = int(np.maximum(row, 0) @ operator.high + np.minimum(row, 0) @ operator.low) + added
        if least < 0:
            continue  # it cannot be met
        low, high = operator.low.copy(), operator.high.copy()
        rows, constants = operator.rows, operator.constants
        places = np.flatnonzero(row)
        if len(places) == 1:
            u, c = int(places[0]), int(row[places[0]])
            if c > 0:
                low[u] = max(int(low[u]), -(added // c))
            else:
                high[u] = min(int(high[u]), added // -c)
        elif len(places):
            rows, constants = np.concatenate([rows, row[None]]), np.append(constants, added)
        atoms = {**dict(operator.atoms), **_atom(row, added)}
        yield replace(
            operator, low=low, high=high, rows=rows, constants=constants, atoms=tuple(atoms.items()), sums={},
            source=np.arange(n), factor=np.ones(n, np.int64), offset=np.zeros(n, np.int64),
        )  # fmt: skip


def _atom(row: Ints, added: int) -> dict[Predicate, bool]:
    terms = {v: int(row[v]) for v in np.flatnonzero(row).tolist()}
    found = at_least(terms, -added)
    return {} if found is None else {found: next(iter(terms.values())) > 0}


def _wider(o: Operator, value: int) -> Operator:
    """The operator over one variable more, which it sets to `value` (and needs to be 0)."""
    n = len(o.low)
    return replace(
        o,
        low=np.append(o.low, 0),
        high=np.append(o.high, 0),
        rows=np.concatenate([o.rows, np.zeros((len(o.rows), 1), np.int64)], axis=1),
        source=np.append(o.source, n),
        factor=np.append(o.factor, 0),
        offset=np.append(o.offset, value),
        sums={v: (np.append(c, 0), k) for v, (c, k) in o.sums.items()},
    )
