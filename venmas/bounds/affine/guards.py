"""Enabled branches of sets of states: guards over affine forms.

Guards such as ``x > 0`` and ``x <= 0`` are open one by one where a set meets both, and yet one of them holds in every
state. So they are looked at together: by the signs that the compared expressions may have, not by each comparison.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.bounds.affine.step import Values
from venmas.bounds.rounding import Bools
from venmas.model.expressions.conditions import All, Any, Compare, Condition, Truth
from venmas.model.expressions.expr import Expr, Sum
from venmas.model.system.parts import Branch

_OPEN = 4
"""Expressions of open sign in one set that are looked at together, at most."""


@dataclass
class Answers:
    """Branches that the environment may take in the states of some sets.

    may: (B, branches), which branches some state may take. ways: groups of branches, each with the sets (B,) where it
    counts; from every state of a set, all branches of one of the groups that count there can be taken.
    """

    may: Bools
    ways: list[tuple[tuple[int, ...], Bools]]

    @property
    def one(self) -> bool:
        """Has every state one successor, by the same branch as all others of its set?"""
        sure = np.zeros(self.may.shape, dtype=bool)
        for group, sets in self.ways:
            for index in group:
                sure[sets, index] = True
        counted = sum((sets.astype(int) for _, sets in self.ways), np.zeros(len(self.may), dtype=int))
        return bool(np.all((self.may.sum(1) == 1) & (counted == 1) & (sure == self.may).all(1)))


def answers(branches: Sequence[Branch], values: Values) -> Answers:
    """Branches that may be taken in states that have these values; where one is broken, any that there is."""
    size, every = values.ring.size, np.ones(values.ring.size, dtype=bool)
    if all(branch.always for branch in branches):
        return Answers(np.ones((size, len(branches)), dtype=bool), [(tuple(range(len(branches))), every)])
    truths = [values.truth(branch.guard) for branch in branches]
    may = ~np.stack([no for _, no in truths], 1) | values.ring.broken[:, None]
    signs = _signs(branches, values)
    unsure = sum(((possible.sum(1) > 1).astype(int) for possible in signs.values()), np.zeros(size, dtype=int))
    if unsure.max(initial=0) > _OPEN:
        sure = np.stack([yes for yes, _ in truths], 1)
        groups = np.unique(sure, axis=0)
        return Answers(may, [(tuple(np.flatnonzero(g).tolist()), (sure == g).all(1)) for g in groups])
    ways: dict[tuple[int, ...], Bools] = {}
    stack: list[tuple[Bools, dict[Hashable, int]]] = [(every, {})]
    while stack:
        sets, assumed = stack.pop()
        if not sets.any():
            continue
        if len(assumed) < len(signs):
            key = list(signs)[len(assumed)]
            stack += [(sets & signs[key][:, sign + 1], {**assumed, key: sign}) for sign in (-1, 0, 1)]
            continue
        group = tuple(i for i, branch in enumerate(branches) if _holds(branch.guard, assumed))
        ways[group] = ways.get(group, ~every) | sets
    return Answers(may, list(ways.items()))


def _signs(branches: Sequence[Branch], values: Values) -> dict[Hashable, Bools]:
    """(B, 3): which signs the expressions that guards compare may have, negative, zero, positive."""
    signs: dict[Hashable, Bools] = {}
    stack: list[Condition] = [branch.guard for branch in branches]
    while stack:
        match stack.pop():
            case Compare(expr):
                key, turned = _key(expr)
                low, high = values.value(expr).ends
                here = np.stack([low < 0, (low <= 0) & (high >= 0), high > 0], 1)[:, ::turned]
                signs[key] = signs[key] & here if key in signs else here
            case All(parts) | Any(parts):
                stack += parts
            case _:
                pass
    return signs


def _key(expr: Expr) -> tuple[Hashable, int]:
    """The same for what differs by a factor, with the sign of this factor."""
    linear = expr.linear()
    if linear is not None and linear.terms:
        lead = linear.terms[0][1]
        return linear.scaled(1 / lead), 1 if lead > 0 else -1
    if isinstance(expr, Sum) and expr.terms:
        lead = expr.terms[0][0]
        terms = tuple((id(part), factor / lead) for factor, part in expr.terms)
        return (terms, expr.constant / lead), 1 if lead > 0 else -1
    return id(expr), 1


def _holds(condition: Condition, signs: Mapping[Hashable, int]) -> bool:
    match condition:
        case Truth(value):
            return value
        case Compare(expr, relation):
            key, turned = _key(expr)
            return relation.holds(Fraction(turned * signs[key]))
        case All(parts):
            return all(_holds(part, signs) for part in parts)
        case Any(parts):
            return any(_holds(part, signs) for part in parts)
    raise TypeError(type(condition))
