"""Ranges that expressions keep to by their form, whatever the state: a clip, say, never leaves its ends."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import TypeAlias

from venmas.model.expr import ArgMax, Constant, Expr, Maximum, Sum, Switch, Variable, Where
from venmas.model.system import System, VariableDecl

End: TypeAlias = Fraction | float
"""A rational, or an infinity."""


class Ranges:
    """Ranges of the expressions of a system, exact."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._known: dict[int, tuple[End, End]] = {}

    def of(self, expr: Expr) -> tuple[End, End]:
        """Least and greatest value that are possible by the form of a node of the system."""
        if id(expr) not in self._known:
            self._known[id(expr)] = self._find(expr)
        return self._known[id(expr)]

    def within(self, expr: Expr, decl: VariableDecl) -> bool:
        """Does an expression keep to the declared range of a variable?"""
        low, high = self.of(expr)
        return decl.lower <= low and high <= decl.upper

    def _find(self, expr: Expr) -> tuple[End, End]:
        match expr:
            case Constant(value):
                return value, value
            case Variable(name, _):
                decl = self._system.variables[name]
                return decl.lower, decl.upper
            case Sum(terms, constant):
                low: End = constant
                high: End = constant
                for factor, part in terms:
                    ends = [_times(factor, end) for end in self.of(part)]
                    low, high = low + min(ends), high + max(ends)
                return low, high
            case Maximum(operands):
                ranges = [self.of(o) for o in operands]
                return max(low for low, _ in ranges), max(high for _, high in ranges)
            case ArgMax(scores):
                return Fraction(0), Fraction(len(scores) - 1)
            case Switch(_, cases):
                ranges = [self.of(e) for _, e in cases]
            case Where(_, then, otherwise):
                ranges = [self.of(then), self.of(otherwise)]
            case _:
                return -inf, inf
        return min(low for low, _ in ranges), max(high for _, high in ranges)


def _times(factor: Fraction, end: End) -> End:
    if isinstance(end, float):
        return end if factor > 0 else -end
    return factor * end
