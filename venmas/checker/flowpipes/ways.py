"""Which branches can be taken from each state of a set, all of one group: guards are looked at together.

Of ``x > 0`` and ``x <= 0`` neither is sure in a set that meets both, and yet one of them holds in each state. So every
state is told by the signs of what guards compare: of several that differ by a factor, each has the sign of one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

from venmas.checker.flowpipes.state import States
from venmas.model.expressions.expr import All, Any, Compare, Condition, Expr, Truth
from venmas.model.system.parts import Branch

_TOGETHER = 256
"""Combinations of signs that are looked at, at most."""
Sign = int


def ways(states: States, branches: Sequence[Branch]) -> list[list[Branch]]:
    """Branches in groups: from every state of the set, all those of one of the groups can be taken."""
    signs: dict[Hashable, set[Sign]] = {}
    for branch in branches:
        for expr in _compared(branch.guard):
            key, turned = _told(expr)
            low, high = states.value(expr).range
            here = {turned * s for s, may in ((-1, low < 0), (0, low <= 0 <= high), (1, high > 0)) if may}
            signs[key] = signs.get(key, here) & here
    count = 1
    for each in signs.values():
        count *= len(each)
    if count > _TOGETHER:
        return [[branch for branch in branches if states.truth(branch.guard) is True]]
    found = (dict(zip(signs, told, strict=True)) for told in product(*signs.values()))
    return [[branch for branch in branches if _holds(branch.guard, told)] for told in found]


def _compared(condition: Condition) -> Iterator[Expr]:
    """The expressions that a condition compares with 0."""
    match condition:
        case Compare(expr):
            yield expr
        case All(parts) | Any(parts):
            for part in parts:
                yield from _compared(part)
        case Truth():
            pass
        case _:
            raise TypeError(type(condition))


def _told(expr: Expr) -> tuple[Hashable, Sign]:
    """What an expression is a multiple of, the same for all multiples, and the sign of the factor."""
    linear = expr.linear()
    if linear is None or not linear.terms:
        return id(expr), 1
    first = linear.terms[0][1]
    return linear.scaled(1 / first), 1 if first > 0 else -1


def _holds(condition: Condition, signs: Mapping[Hashable, Sign]) -> bool:
    match condition:
        case Truth(value):
            return value
        case Compare(expr, relation):
            key, turned = _told(expr)
            return relation.holds(Fraction(turned * signs[key]))
        case All(parts):
            return all(_holds(part, signs) for part in parts)
        case Any(parts):
            return any(_holds(part, signs) for part in parts)
    raise TypeError(type(condition))
