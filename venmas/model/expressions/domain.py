"""Integrality and possible values of expressions, for all states of the declared box."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import inf, lcm
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.model.expressions.expr import ArgMax, Constant, Expr, Maximum, Output, Sum, Switch, Variable, Where
from venmas.nn import Network

End: TypeAlias = Fraction | float
"""A rational, or an infinity."""

MAX_DOMAIN = 4096
"""Finite domains above this size are treated as infinite."""


class Domains:
    """Static typing of expressions over variables whose finite ranges are given (name -> values)."""

    def __init__(self, variables: Mapping[str, tuple[Fraction, ...]]) -> None:
        self._variables = variables
        self._values: dict[int, tuple[Fraction, ...] | None] = {}
        self._kept: list[Expr] = []

    def __reduce__(self) -> tuple[type[Domains], tuple[Mapping[str, tuple[Fraction, ...]]]]:
        return Domains, (self._variables,)  # what is remembered by id means nothing to the copies of the nodes

    def values(self, expr: Expr) -> tuple[Fraction, ...] | None:
        """Sorted superset of the values that `expr` can take, or None when that is no small finite set."""
        key = id(expr)
        if key not in self._values:
            self._kept.append(expr)
            result = self._compute(expr)
            self._values[key] = tuple(sorted(result)) if result is not None and len(result) <= MAX_DOMAIN else None
        return self._values[key]

    def _compute(self, expr: Expr) -> set[Fraction] | None:
        match expr:
            case Constant(value):
                return {value}
            case Variable(name, _):
                known = self._variables.get(name)
                return None if known is None else set(known)
            case ArgMax(scores):
                return {Fraction(i) for i in range(len(scores))}
            case Switch(_, cases):
                return self._union([c for _, c in cases])
            case Where(_, then, otherwise):
                return self._union([then, otherwise])
            case Maximum(operands):
                return self._union(operands)
            case Sum(terms, constant):
                total = {constant}
                for coefficient, part in terms:
                    values = self.values(part)
                    if values is None or len(total) * len(values) > MAX_DOMAIN:
                        return None
                    total = {t + coefficient * v for t in total for v in values}
                return total
        return None

    def _union(self, parts: list[Expr] | tuple[Expr, ...]) -> set[Fraction] | None:
        union: set[Fraction] = set()
        for part in parts:
            values = self.values(part)
            if values is None:
                return None
            union.update(values)
        return union


class Ranges:
    """Ranges that expressions keep to by their form, over variables whose own are given: a clip keeps to its ends."""

    def __init__(self, variables: Mapping[str, tuple[Fraction, Fraction]]) -> None:
        self._variables = variables
        self._known: dict[int, tuple[End, End]] = {}

    def of(self, expr: Expr) -> tuple[End, End]:
        """Least and greatest value that are possible for a node, which outlives this object."""
        if id(expr) not in self._known:
            self._known[id(expr)] = self._find(expr)
        return self._known[id(expr)]

    def _find(self, expr: Expr) -> tuple[End, End]:
        match expr:
            case Constant(value):
                return value, value
            case Variable(name, _):
                return self._variables[name]
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


def is_integral(expr: Expr, known: set[int] | None = None) -> bool:
    """True when `expr` is an integer in every state, by its form.

    `known` collects the ids of nodes found integral, so that parts shared by several expressions are looked at once.
    """
    known = set() if known is None else known
    seen: set[int] = set()
    stack = [expr]
    while stack:
        node = stack.pop()
        if id(node) in known or id(node) in seen:
            continue
        seen.add(id(node))
        match node:
            case Constant(value) if value.denominator == 1:
                pass
            case Variable(_, True) | ArgMax():
                pass
            case Sum(terms, constant) if constant.denominator == 1 and all(c.denominator == 1 for c, _ in terms):
                stack.extend(e for _, e in terms)
            case Maximum(operands):
                stack.extend(operands)
            case Switch(_, cases):
                stack.extend(e for _, e in cases)
            case Where(_, then, otherwise):
                stack.extend((then, otherwise))
            case _:
                return False
    known |= seen
    return True


def granularity(expr: Expr) -> Fraction | None:
    """The least positive value that an expression over integers can take at all; None where it may be any real."""
    if _whole(expr):
        return Fraction(1)
    if isinstance(expr, Sum) and all(_whole(e) for _, e in expr.terms):
        return Fraction(1, lcm(*(c.denominator for c, _ in expr.terms), expr.constant.denominator))
    return None


def _whole(expr: Expr) -> bool:
    """The same as `is_integral`, and of outputs of networks with whole weights."""
    if isinstance(expr, Output):
        return _integral(expr.application.network) and all(map(is_integral, expr.application.inputs))
    return is_integral(expr)


@lru_cache(maxsize=8)
def _integral(network: Network) -> bool:
    """Are all outputs integers where all inputs are?"""
    return all(
        layer.divisor is None and layer.activation in ("relu", "linear") and _round(layer.weight) and _round(layer.bias)
        for layer in network.layers
    )


def _round(values: NDArray[Any]) -> bool:
    return bool((np.rint(values) == values).all())
