"""Booleans of JANI as conditions: negation, equality, and the 0 or 1 that a Boolean variable is assigned."""

from __future__ import annotations

from venmas.logic.linear import Relation
from venmas.model.expressions.expr import (
    Any,
    Compare,
    Condition,
    Constant,
    Expr,
    Truth,
    Variable,
    compare,
    conjunction,
    disjunction,
)
from venmas.model.expressions.functions import where


class Booleans:
    """Negations of conditions, each node's made once: nothing recurses, and the negation of a negation is the first."""

    def __init__(self) -> None:
        self._negations: dict[int, Condition] = {}
        self._numbers: dict[int, Expr] = {}
        self._kept: list[Condition] = []

    def variable(self, node: Variable) -> Condition:
        """The condition that a Boolean variable is true: it equals 1, and its negation is that it equals 0."""
        yes, no = compare(node, Relation.EQ, 1), Compare(node, Relation.EQ)
        self._pair(yes, no)
        self._numbers[id(yes)], self._numbers[id(no)] = node, 1 - node
        return yes

    def negation(self, condition: Condition) -> Condition:
        """The condition that it does not hold."""
        stack = [condition]
        while stack:
            node = stack[-1]
            if id(node) in self._negations:
                stack.pop()
                continue
            below: tuple[Condition, ...] = getattr(node, "operands", ())
            waiting = [part for part in below if id(part) not in self._negations]
            stack += waiting
            if not waiting:
                self._pair(stack.pop(), self._opposite(node, below))
        return self._negations[id(condition)]

    def _opposite(self, node: Condition, below: tuple[Condition, ...]) -> Condition:
        match node:
            case Truth(value):
                return Truth(not value)
            case Compare(expr, relation):
                return Compare(expr, relation.negated)
        join = conjunction if isinstance(node, Any) else disjunction
        return join(self._negations[id(part)] for part in below)

    def _pair(self, one: Condition, other: Condition) -> None:
        self._negations.setdefault(id(one), other)
        self._negations.setdefault(id(other), one)
        self._kept += (one, other)

    def number(self, value: Expr | Condition) -> Expr:
        """The number, 1 for a condition that holds and 0 for one that does not."""
        if isinstance(value, Expr):
            return value
        known = self._numbers.get(id(value))
        return where(value, 1, 0) if known is None else known

    def equal(self, left: Condition, right: Condition) -> Condition:
        """The condition that both hold or neither does."""
        sides = [self.number(side) for side in (left, right)]
        if all(id(c) in self._numbers or isinstance(s, Constant) for c, s in zip((left, right), sides, strict=True)):
            return compare(sides[0], Relation.EQ, sides[1])
        both = conjunction((left, right))
        return disjunction((both, conjunction((self.negation(left), self.negation(right)))))
