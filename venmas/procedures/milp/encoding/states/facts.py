"""Comparisons that exclude each other exactly, which rows in floats can not tell from comparisons that touch.

``x < 0`` and ``x >= 0`` have the common point 0 once the first is written as ``x <= 0``. Every comparison that a
program asks for, under its gate, is noted here over exact linear combinations; two on the same combination that have
no common value get a row that keeps their gates apart. These rows follow from what gates mean: they cut off no point.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import TypeAlias

from venmas.bounds.exact import exact_range
from venmas.bounds.states import State
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.expressions.expr import Expr, Sum, Variable
from venmas.solvers.milp.terms import GatedBuilder, Term, total

_Atom: TypeAlias = tuple[int, object]
_Parts: TypeAlias = tuple[dict[_Atom, Fraction], Fraction]
_Limit: TypeAlias = tuple[Fraction | float, bool]  # where a range ends, and whether the end is left out
_Fact: TypeAlias = tuple[_Limit, _Limit, Term]

_CLOSE = Fraction(1, 1000)
_MOST = 200
"""Facts kept about one combination: the rows between them are quadratic in number."""


class Facts:
    """The comparisons of one program."""

    def __init__(self, builder: GatedBuilder) -> None:
        self.builder = builder
        self.ends: set[int] = set()
        """States whose variables are not followed to the states before: what led there depends on the program."""
        self._facts: dict[frozenset[tuple[_Atom, Fraction]], list[_Fact]] = {}
        self._parts: dict[tuple[int, int], _Parts] = {}
        self._kept: list[object] = []

    def note(self, state: State, expr: Expr, relation: Relation, gate: Term) -> None:
        """``gate == 1 implies expr relation 0``. Raises `Contradiction` where it excludes one that holds for sure."""
        if relation is Relation.NE or (not gate.columns and gate.constant < 0.5):
            return
        touches = min(map(abs, state.bounds(expr))) < _CLOSE
        if touches and Comparison(LinearExpr(), relation).decide(*exact_range(state, expr)) is False:
            self.builder.row(gate, 0.0, 0.0)
            return
        parts, constant = self._combination(state, expr)
        if not parts:
            return
        leading = parts[min(parts, key=repr)]
        threshold = -constant / leading
        relation = relation.mirrored if leading < 0 else relation
        low: _Limit = (-inf, False) if relation in (Relation.LT, Relation.LE) else (threshold, relation.strict)
        high: _Limit = (inf, False) if relation in (Relation.GT, Relation.GE) else (threshold, relation.strict)
        known = self._facts.setdefault(frozenset((a, c / leading) for a, c in parts.items()), [])
        for other_low, other_high, other in known:
            if _apart(low, other_high) or _apart(other_low, high):
                self.builder.row(total([gate, other]), -inf, 1.0)
        if len(known) < _MOST:
            known.append((low, high, gate))

    def _combination(self, state: State, expr: Expr) -> _Parts:
        """`expr` over initial variables and over nodes that are not known to be affine, in the state they belong to."""
        key = id(state), id(expr)
        if key not in self._parts:
            self._kept += [state, expr]
            self._parts[key] = self._expand(state, expr)
        return self._parts[key]

    def _expand(self, state: State, expr: Expr) -> _Parts:
        form = state.affine(expr)
        if form is not None:
            return {(0, name): c for name, c in form.terms}, form.constant
        match expr:
            case Sum(terms, constant):
                found: dict[_Atom, Fraction] = {}
                for coefficient, part in terms:
                    inner, offset = self._combination(state, part)
                    constant += coefficient * offset
                    for atom, c in inner.items():
                        found[atom] = found.get(atom, Fraction(0)) + coefficient * c
                return {a: c for a, c in found.items() if c}, constant
            case Variable() if state.base is not None:
                return self._combination(state.base, expr)
            case Variable(name, _) if id(state) not in self.ends and len(sources := state.sources(name)) == 1:
                return self._combination(*sources[0])
        return {(id(state), id(expr)): Fraction(1)}, Fraction(0)


def _apart(low: _Limit, high: _Limit) -> bool:
    """No value is above `low` and below `high`, though the two are close; others the solver tells apart by itself."""
    start, end = low[0], high[0]
    if not (isinstance(start, Fraction) and isinstance(end, Fraction)) or start > end + _CLOSE * (1 + abs(end)):
        return False
    return start > end or (start == end and (low[1] or high[1]))
