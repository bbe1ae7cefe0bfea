"""Applicability filtering (``--masking``): the policy picks the greatest score among labels whose condition holds.

`argmax(scores, among=conditions)` is a chain of cases: index i where its condition holds and it loses to no other index
whose condition holds, and the argmax of all where no condition does. The chain is read back here, and is refused where
any comparison is missing or is another one.
"""

from __future__ import annotations

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


def filtered(node: Expr) -> tuple[ArgMax, tuple[Formula, ...]] | None:
    """The argmax that a chain of cases filters, with the condition of each index; None for any other expression."""
    cases: dict[int, Condition] = {}
    while isinstance(node, Where) and isinstance(node.then, Constant):
        value = node.then.value
        if value.denominator != 1 or int(value) in cases:
            return None
        cases[int(value)], node = node.condition, node.otherwise
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
