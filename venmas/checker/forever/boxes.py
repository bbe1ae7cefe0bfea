"""Unions of boxes whose sides have their ends or not: the same states, said so that a proof has few cases.

A box is a conjunction of comparisons of one variable each. Let v_0 < .. < v_(n-1) be the numbers that a variable is
compared with in all boxes: 2 r stands for the number v_r, 2 r + 1 for the numbers between it and the next, -1 for those
below all. A side is then an interval of whole numbers, each of which stands for all of its numbers or none. A union is
the box around it without the boxes that are missing in it, which are joined where they make one: to leave it is to
leave the box or to be in one of these, a case each, while to be in none of many boxes has a case for each choice of
their faces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.logic import And, Atom, Formula, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.system.boxes import merged_boxes

Bound: TypeAlias = tuple[str, Fraction, Relation]
"""Variable, number, and how the variable compares with it."""
_LARGEST = 1 << 17
"""Parts of the box around a union that are looked at; of larger ones the boxes are joined themselves."""


def union(states: Sequence[Formula]) -> Formula:
    """The disjunction of formulas about one state, said of boxes as above."""
    bounds = [_bounds(formula) for formula in states]
    boxes = [box for box in bounds if box is not None]
    others = [formula for formula, box in zip(states, bounds, strict=True) if box is None]
    return disjunction([_joined(boxes), *others])


def _bounds(formula: Formula) -> list[Bound] | None:
    """The comparisons of a box; None for what is none."""
    made = []
    for part in formula.operands if isinstance(formula, And) else (formula,):
        if not isinstance(part, Atom) or part.comparison.relation is Relation.NE:
            return None
        expr, relation = part.comparison.expr, part.comparison.relation
        if len(expr.terms) != 1:
            return None
        name, factor = expr.terms[0]
        made.append((name, -expr.constant / factor, relation if factor > 0 else relation.mirrored))
    return made


def _joined(boxes: Sequence[list[Bound]]) -> Formula:
    numbers: dict[str, list[Fraction]] = {}
    for name, value, _ in (bound for box in boxes for bound in box):
        numbers.setdefault(name, []).append(value)
    sides = {name: sorted(set(numbers[name])) for name in sorted(numbers)}
    places = [{value: 2 * rank for rank, value in enumerate(values)} for values in sides.values()]
    names, tops = list(sides), np.array([2 * len(place) - 1 for place in places], dtype=np.int64)
    low, high = np.full((len(boxes), len(names)), -1, dtype=np.int64), np.tile(tops, (len(boxes), 1))
    for row, box in enumerate(boxes):
        for name, value, relation in box:
            at = names.index(name)
            place = places[at][value]
            if relation in (Relation.GE, Relation.GT, Relation.EQ):
                low[row, at] = max(low[row, at], place + (relation is Relation.GT))
            if relation in (Relation.LE, Relation.LT, Relation.EQ):
                high[row, at] = min(high[row, at], place - (relation is Relation.LT))
    some = (low <= high).all(1)
    low, high = low[some], high[some]
    if not len(low):
        return disjunction(())
    first, last = low.min(0), high.max(0)
    if np.prod((last - first + 1).astype(float)) > _LARGEST:
        return disjunction(_box(sides, *ends) for ends in zip(*merged_boxes(low, high), strict=True))
    missing = np.ones(tuple((last - first + 1).tolist()), bool)
    for least, most in zip((low - first).tolist(), (high - first).tolist(), strict=True):
        missing[tuple(slice(a, b + 1) for a, b in zip(least, most, strict=True))] = False
    parts = first + np.argwhere(missing)
    holes = zip(*merged_boxes(parts, parts), strict=True) if len(parts) else iter(())
    without = (disjunction(Atom(atom.negated) for atom in _atoms(sides, *hole)) for hole in holes)
    return conjunction([_box(sides, first, last), *without])


def _box(sides: dict[str, list[Fraction]], low: NDArray[np.int64], high: NDArray[np.int64]) -> Formula:
    return conjunction(map(Atom, _atoms(sides, low, high)))


def _atoms(sides: dict[str, list[Fraction]], low: NDArray[np.int64], high: NDArray[np.int64]) -> Iterator[Comparison]:
    """The comparisons of a box that is told by whole numbers."""
    for (name, values), a, b in zip(sides.items(), low.tolist(), high.tolist(), strict=True):
        bounds: list[tuple[Fraction, Relation]] = []
        if a == b and not a % 2:
            bounds.append((values[a // 2], Relation.EQ))
        else:
            if a > -1:
                bounds.append((values[a // 2], Relation.GT if a % 2 else Relation.GE))
            if b < 2 * len(values) - 1:
                bounds.append((values[(b + 1) // 2], Relation.LT if b % 2 else Relation.LE))
        for value, relation in bounds:
            yield Comparison(LinearExpr.variable(name) - LinearExpr((), value), relation)
