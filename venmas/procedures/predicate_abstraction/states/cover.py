"""A condition as a union of cases: boxes of integers with rows, and the predicates that say what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.bounds.rounding import Ints
from venmas.budget import ask
from venmas.logic import And, Atom, Bottom, Formula, Or, Top, conjunction, nnf
from venmas.logic.linear import Comparison, Relation
from venmas.procedures.predicate_abstraction.states.predicates import (
    Predicate,
    at_least,
    integral,
    of_comparison,
    open_over,
)


class TooManyError(Exception):
    """More cases than asked for."""


@dataclass(frozen=True, eq=False)
class Case:
    """low, high: (n,); rows: (R, n) and constants: (R,), at least 0. atoms: predicates that make it up, and truths."""

    low: Ints
    high: Ints
    rows: Ints
    constants: Ints
    atoms: tuple[tuple[Predicate, bool], ...]


def cover(condition: Formula, columns: Mapping[str, int], low: Ints, high: Ints, most: int) -> list[Case]:
    """Cases whose union is the condition within the box; raises `TooManyError` beyond `most`.

    A part with ``|`` is cut at thresholds of single variables first, so that its cases are disjoint boxes; what
    compares several variables is multiplied out.
    """
    found: list[Case] = []
    waiting: list[tuple[Formula, Ints, Ints, tuple[Comparison, ...]]] = [(nnf(condition), low, high, ())]
    while waiting:
        ask()
        formula, a, b, taken = waiting.pop()
        while True:
            formula = _known(formula, columns, a, b)
            parts = formula.operands if isinstance(formula, And) else (formula,)
            sure = [p.comparison for p in parts if isinstance(p, Atom) and p.comparison.relation is not Relation.NE]
            rest = [p for p in parts if not (isinstance(p, Atom) and p.comparison.relation is not Relation.NE)]
            taken += tuple(sure)
            formula = conjunction(rest)
            before, a, b = (a, b), *_tightened(sure, columns, a, b)
            if (a > b).any() or not rest or ((a == before[0]).all() and (b == before[1]).all()):
                break
        if (a > b).any() or isinstance(formula, Bottom):
            continue
        if isinstance(formula, Top):
            found.append(_case(taken, columns, a, b))
            if len(found) > most:
                raise TooManyError
            continue
        if len(waiting) > 4 * most:
            raise TooManyError
        waiting.extend((*piece, taken) for piece in _pieces(formula, columns, a, b))
    return found


def _known(formula: Formula, columns: Mapping[str, int], low: Ints, high: Ints) -> Formula:
    """The formula without what the box decides."""
    match formula:
        case Atom(comparison):
            truth = comparison.decide(*_range(comparison, columns, low, high))
            return formula if truth is None else Top() if truth else Bottom()
        case And(parts) | Or(parts):
            settles, neutral = (Bottom(), Top()) if isinstance(formula, And) else (Top(), Bottom())
            kept: list[Formula] = []
            for part in parts:
                new = _known(part, columns, low, high)
                if new is settles:
                    return settles
                if new is not neutral:
                    kept.extend(new.operands if type(new) is type(formula) else (new,))
            if not kept:
                return neutral
            return kept[0] if len(kept) == 1 else type(formula)(tuple(kept))
    return formula


def _range(comparison: Comparison, columns: Mapping[str, int], low: Ints, high: Ints) -> tuple[Fraction, Fraction]:
    places = [(name, columns[name]) for name, _ in comparison.expr.terms]
    return comparison.expr.range_over({name: (Fraction(int(low[v])), Fraction(int(high[v]))) for name, v in places})


def _tightened(sure: list[Comparison], columns: Mapping[str, int], low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """The box within the comparisons of one variable."""
    low, high = low.copy(), high.copy()
    for comparison in sure:
        if len(comparison.expr.terms) == 1:
            for terms, constant in integral(comparison, columns):
                ((v, c),) = terms.items()
                if c > 0:
                    low[v] = max(low[v], -(constant // c))
                else:
                    high[v] = min(high[v], constant // -c)
    return low, high


def _pieces(
    formula: Formula, columns: Mapping[str, int], low: Ints, high: Ints
) -> Iterator[tuple[Formula, Ints, Ints]]:
    """The formula on both sides of a threshold that it mentions; else each operand of a disjunction in it."""
    cut = _threshold(formula, columns, low, high)
    if cut is not None:
        v, bound = cut
        left, right = high.copy(), low.copy()
        left[v], right[v] = bound - 1, bound
        yield formula, low, left
        yield formula, right, high
        return
    parts = formula.operands if isinstance(formula, And) else (formula,)
    either = next(p for p in parts if isinstance(p, Or | Atom))
    others = [p for p in parts if p is not either]
    if isinstance(either, Atom):
        expr = either.comparison.expr
        options: tuple[Formula, ...] = tuple(Atom(Comparison(expr, r)) for r in (Relation.LT, Relation.GT))
    else:
        assert isinstance(either, Or)
        options = either.operands
    for option in options:
        yield conjunction([option, *others]), low, high


def _threshold(formula: Formula, columns: Mapping[str, int], low: Ints, high: Ints) -> tuple[int, int] | None:
    """A threshold of one variable, within the box, in a formula all of whose atoms are open."""
    match formula:
        case Atom(comparison) if len(comparison.expr.terms) == 1:
            found = open_over(of_comparison(comparison, columns), low.tolist(), high.tolist())
            return found[0].terms[0][0], found[0].bound
        case And(parts) | Or(parts):
            return next((t for p in parts if (t := _threshold(p, columns, low, high)) is not None), None)
    return None


def _case(taken: tuple[Comparison, ...], columns: Mapping[str, int], low: Ints, high: Ints) -> Case:
    rows, constants, atoms = [], [], {}
    for comparison in dict.fromkeys(taken):
        for terms, constant in integral(comparison, columns):
            predicate = at_least(terms, -constant)
            if predicate is None or predicate.unary:
                continue
            row = np.zeros(len(low), np.int64)
            for v, c in terms.items():
                row[v] = c
            rows.append(row)
            constants.append(constant)
            atoms[predicate] = next(c for _, c in sorted(terms.items()) if c) > 0
    unary = {Predicate(((v, 1),), int(low[v])): True for v in range(len(low))}
    unary |= {Predicate(((v, 1),), int(high[v]) + 1): False for v in range(len(low))}
    return Case(
        low,
        high,
        np.array(rows, np.int64).reshape(len(rows), len(low)),
        np.array(constants, np.int64),
        (*unary.items(), *atoms.items()),
    )
