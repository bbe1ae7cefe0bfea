"""Applicability filtering (``--masking``): the policy picks the greatest score among labels whose condition holds.

`argmax(scores, among=conditions)` is a chain of cases: index i where its condition holds and it loses to no other index
whose condition holds, and the argmax of all where no condition does. The chain is read back here, and is refused where
any comparison is missing or is another one. For boxes of states the conditions are true, false or open:

    the label's own is false, and some other is true: it is not picked
    it has to win against each label whose condition is true; against all where every condition is false
    open ones are cut, as they matter to what is picked
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from venmas.bounds.crown import Swept
from venmas.bounds.rounding import Bools, Floats, Ints
from venmas.logic import FALSE, Atom, Formula, nnf
from venmas.logic import conjunction as both
from venmas.logic import disjunction as either
from venmas.logic.linear import Comparison, Relation
from venmas.model.expressions.expr import (
    All,
    Any,
    ArgMax,
    Compare,
    Condition,
    Constant,
    Expr,
    Output,
    Sum,
    Truth,
    Where,
    to_linear,
)
from venmas.model.expressions.walk import walk
from venmas.procedures.predicate_abstraction.states import box_condition
from venmas.procedures.predicate_abstraction.states.box_condition import BoxCondition


def filtered(node: Expr) -> tuple[ArgMax, tuple[Formula, ...]] | None:
    """The argmax that a chain of cases filters, with the condition of each index; None for any other expression."""
    cases: dict[int, Condition] = {}
    while isinstance(node, Where) and isinstance(node.then, Constant) and int(node.then.value) not in cases:
        cases[int(node.then.value)], node = node.condition, node.otherwise
    if not cases or not isinstance(node, ArgMax) or node.whole is None:
        return None
    among: list[Formula] = [FALSE] * len(node.scores)
    wins: dict[int, list[Condition]] = {}
    for i, case in cases.items():
        parts = case.operands if isinstance(case, All) else (case,)
        own = [_formula(p) for p in parts if not _scored(p)]
        if i not in range(len(among)) or None in own:
            return None
        among[i] = both(p for p in own if p is not None)
        wins[i] = [p for p in parts if _scored(p)]
    for i, parts_of in wins.items():
        left = {j for j, condition in enumerate(among) if j != i and condition != FALSE}
        for part in parts_of:
            options = part.operands if isinstance(part, Any) else (part,)
            scores = [p for p in options if _scored(p)]
            j = _loser(scores[0], node, i) if len(scores) == 1 else None
            off = [_formula(p) for p in options if not _scored(p)]
            if j not in left or j is None or None in off:
                return None
            if either(p for p in off if p is not None) != nnf(among[j], negate=True):
                return None
            left.remove(j)
        if left:
            return None
    return node, tuple(among)


def _scored(condition: Condition) -> bool:
    return any(isinstance(node, Output) for node in walk([condition]))


def _loser(condition: Condition, node: ArgMax, index: int) -> int | None:
    """The index against which `index` wins where the condition holds, ties as in the argmax; None where it is none."""
    match condition:
        case Compare(Sum(((f, Output() as a), (g, Output() as b)), constant), relation) if f == -g and constant == 0:
            if a.application is not node.application or b.application is not a.application:
                return None
            factor, other = (f, b.index) if a.index == index else (g, a.index)
            if index not in (a.index, b.index) or other == index:
                return None
            wins = Relation.GT if other < index else Relation.GE
            loses = Relation.LT if other < index else Relation.LE
            return other if relation is (wins if factor > 0 else loses) else None
    return None


def _formula(condition: Condition) -> Formula | None:
    """A condition about linear sums as a formula; None for others."""
    match condition:
        case Truth(value):
            return both([]) if value else either([])
        case Compare(expr, relation):
            linear = to_linear(expr)
            return None if linear is None or not linear.terms else Atom(Comparison(linear, relation))
        case All(parts) | Any(parts):
            found = [_formula(p) for p in parts]
            whole = [p for p in found if p is not None]
            if len(whole) < len(found):
                return None
            return both(whole) if isinstance(condition, All) else either(whole)
    return None


class Filter:
    """Conditions of the labels over integers, the first columns of states (`with_exits` adds one)."""

    def __init__(self, conditions: list[BoxCondition]) -> None:
        self.conditions = conditions
        self.width = len(conditions[0].low)
        self.read: Ints = np.unique(np.concatenate([np.flatnonzero((c.rows != 0).any(0)) for c in conditions]))
        """The variables that conditions read."""

    def allowed(self, states: Ints) -> Bools:
        """Which labels compete in states (B, n): (B, labels)."""
        states = states[:, : self.width]
        truths = np.stack([c.over(states, states).truth for c in self.conditions], 1) == box_condition.TRUE
        return np.asarray(truths | ~truths.any(1, keepdims=True))

    def swept(self, label: int, low: Ints, high: Ints, ask: Callable[[tuple[int, ...], Ints], Swept]) -> Swept:
        """What bounds tell of boxes (B, n), where `ask` bounds some of them for rivals of the label."""
        a, b = low[:, : self.width], high[:, : self.width]
        truths = np.stack([c.over(a, b).truth for c in self.conditions], 1)
        sure = truths == box_condition.TRUE
        never = (truths[:, label] == box_condition.FALSE) & sure.any(1)
        rivals = np.where((truths == box_condition.FALSE).all(1)[:, None], True, sure)
        rivals[:, label] = False
        kinds, kind = np.unique(rivals, axis=0, return_inverse=True)
        found: Swept | None = None
        for number, row in enumerate(kinds):
            at = np.flatnonzero(kind.reshape(-1) == number)
            some = tuple(np.flatnonzero(row).tolist())
            # without a rival nothing closes the box: what is bounded tells where to look
            part = ask(some or tuple(j for j in range(len(self.conditions)) if j != label), at)
            if not some:
                part = replace(part, closed=np.zeros(len(at), bool))
            found = _placed(found, part, at, len(low))
        assert found is not None
        return replace(found, closed=found.closed | never)

    def influence(self, low: Ints, high: Ints) -> Floats:
        """(B, n): how many open conditions a variable of a box matters to, as a part of all."""
        found = np.zeros(low.shape)
        for c in self.conditions:
            matter = c.over(low[:, : self.width], high[:, : self.width]).matter
            found[:, : self.width] += ((matter.T.astype(np.float64) @ (c.rows != 0)) > 0) / len(self.conditions)
        return found


def _placed(found: Swept | None, part: Swept, at: Ints, count: int) -> Swept:
    """What is known of all boxes, with that of some."""
    names = ("closed", "lower", "influence", "tried", "worst", "low", "high")
    if found is None:
        empty = {name: np.zeros((count, *getattr(part, name).shape[1:]), getattr(part, name).dtype) for name in names}
        found = replace(part, **empty, opened=np.zeros((count, 0), bool))
    for name in names:
        getattr(found, name)[at] = getattr(part, name)
    return found
