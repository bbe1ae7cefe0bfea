"""Queries with room: comparisons loosened by what outputs may be off, and boxes with ends rounded to float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from venmas.formats.vnnlib.query import Box, Case, Query
from venmas.logic.formula import TRUE, And, Atom, Formula, Or, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation


def loosened(query: Query, errors: Sequence[Fraction]) -> Query:
    """The query that is met by all outputs which some move of each by at most its error makes meet the given one.

    Comparisons of products stay as they are: what decides these moves the outputs (`venmas.engine.query.products`).
    """
    cases = tuple(replace(case, condition=loose(case.condition, errors)) for case in query.cases)
    return replace(query, assertion=loose(query.assertion, errors), cases=cases)


def loose(condition: Formula, errors: Sequence[Fraction]) -> Formula:
    """A condition in negation normal form, loosened so; errors: by output, none for no error."""
    match condition:
        case And(parts):
            return conjunction([loose(part, errors) for part in parts])
        case Or(parts):
            return disjunction([loose(part, errors) for part in parts])
        case Atom(comparison):
            return _loose(comparison, errors)
    return condition


def _loose(comparison: Comparison, errors: Sequence[Fraction]) -> Formula:
    expr, relation = comparison.expr, comparison.relation
    room = sum((abs(c) * errors[int(name[2:])] for name, c in expr.terms if name.startswith("Y_") and errors), _NONE)
    if not room:
        return Atom(comparison)
    if relation is Relation.NE:
        return TRUE
    sides = []
    if relation not in (Relation.GE, Relation.GT):
        sides.append(Comparison(expr + LinearExpr((), -room), Relation.LE if relation is Relation.EQ else relation))
    if relation not in (Relation.LE, Relation.LT):
        sides.append(Comparison(expr + LinearExpr((), room), Relation.GE if relation is Relation.EQ else relation))
    return conjunction(map(Atom, sides))


_NONE = Fraction(0)


def as_float32(query: Query) -> Query:
    """The query with bounds of inputs as written or rounded to float32, whichever leaves more."""
    cases = tuple(Case(tuple(map(_rounded, case.boxes)), _read(case.condition)) for case in query.cases)
    return replace(query, assertion=_read(query.assertion), cases=cases)


def _rounded(box: Box) -> Box:
    return tuple((min(low, nearest_float32(low)), max(high, nearest_float32(high))) for low, high in box)


def nearest_float32(value: Fraction) -> Fraction:
    """The nearest float32; the number itself where none is near."""
    with np.errstate(over="ignore"):
        near = np.float32(float(value))
    return Fraction(float(near)) if np.isfinite(near) else value


def _read(condition: Formula) -> Formula:
    match condition:
        case And(parts):
            return conjunction(map(_read, parts))
        case Or(parts):
            return disjunction(map(_read, parts))
        case Atom(comparison) if len(comparison.expr.terms) == 1 and comparison.relation is not Relation.NE:
            (name, factor), relation = comparison.expr.terms[0], comparison.relation
            if not name.startswith("X_"):
                return condition
            end = -comparison.expr.constant / factor
            sides = (end, nearest_float32(end)) if nearest_float32(end) != end else (end,)
            atoms = [
                Atom(Comparison((LinearExpr.variable(name) + LinearExpr((), -v)).scaled(factor), relation))
                for v in sides
            ]
            if relation is Relation.EQ and len(sides) == 2:
                low, high = (LinearExpr.variable(name) + LinearExpr((), -v) for v in sorted(sides))
                return conjunction([Atom(Comparison(low, Relation.GE)), Atom(Comparison(high, Relation.LE))])
            return disjunction(atoms)
    return condition
