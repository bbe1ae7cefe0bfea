"""Bound propagation in exact rationals: the box around a polytope, and initial sets inside their ranges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.linear import Comparison, Relation, format_number
from venmas.model.variables import Box, Region, VariableDecl

_ROUNDS = 8


def propagate(
    variables: Mapping[str, VariableDecl], rows: Iterable[Comparison], start: Mapping[str, tuple[Fraction, Fraction]]
) -> Box | None:
    """What several rounds of exact bound propagation leave of the box `start`; None: no point of it satisfies the rows.

    Bounds of integers are rounded inward, those of strict rows are closed. Exact where every row has one variable, and
    is neither strict nor ``!=``.
    """
    box: Box = {}
    for name, (low, high) in start.items():
        box[name] = (Fraction(ceil(low)), Fraction(floor(high))) if variables[name].integral else (low, high)
        if box[name][0] > box[name][1]:
            return None
    rows = list(rows)
    # one round is enough for intersections of closed intervals
    exact = all(len(r.expr.terms) == 1 and not r.relation.strict and r.relation is not Relation.NE for r in rows)
    for row in rows if exact else ():
        ask()
        ((name, c),) = row.expr.terms
        at = -row.expr.constant / c
        ends = [(at, upper) for upper in (True, False) if _bounding(row, upper)]
        box[name] = _cut(box[name], ends, False, variables[name].integral)
        if box[name][0] > box[name][1]:
            return None
    for _ in range(0 if exact else _ROUNDS):
        changed = False
        for row in rows:
            ask()
            low, high = row.expr.range_over(box)
            if row.decide(low, high) is False:
                return None
            if row.relation is Relation.NE or not _may_cut(row, low, high, box):
                continue
            for name, c in row.expr.terms:
                old = box[name]
                rest_low = low - min(c * old[0], c * old[1])
                rest_high = high - max(c * old[0], c * old[1])
                ends = list[tuple[Fraction, bool]]()  # c * x + rest <= 0 for the least rest, >= 0 for the greatest
                if row.relation in (Relation.LT, Relation.LE, Relation.EQ):
                    ends.append((-rest_low / c, c > 0))
                if row.relation in (Relation.GT, Relation.GE, Relation.EQ):
                    ends.append((-rest_high / c, c < 0))
                new = _cut(old, ends, row.relation.strict, variables[name].integral)
                if new[0] > new[1]:
                    return None
                if new != old:
                    box[name], changed = new, True
                    low, high = rest_low + min(c * new[0], c * new[1]), rest_high + max(c * new[0], c * new[1])
        if not changed:
            break
    return box


def _may_cut(row: Comparison, low: Fraction, high: Fraction, box: Box) -> bool:
    """False when every value of any one variable goes with some values of the others; saves time on long rows."""
    widest = max((abs(c) * (box[name][1] - box[name][0]) for name, c in row.expr.terms), default=Fraction(0))
    below = row.relation in (Relation.LT, Relation.LE, Relation.EQ) and low + widest >= 0
    above = row.relation in (Relation.GT, Relation.GE, Relation.EQ) and high - widest <= 0
    return (below and (low + widest > 0 or row.relation.strict)) or (
        above and (high - widest < 0 or row.relation.strict)
    )


def _cut(
    old: tuple[Fraction, Fraction], ends: list[tuple[Fraction, bool]], strict: bool, integral: bool
) -> tuple[Fraction, Fraction]:
    low, high = old
    for end, upper in ends:
        if upper:
            high = min(high, Fraction(ceil(end) - 1 if strict else floor(end)) if integral else end)
        else:
            low = max(low, Fraction(floor(end) + 1 if strict else ceil(end)) if integral else end)
    return low, high


def check_inside(system: str, variables: Mapping[str, VariableDecl], regions: Sequence[Region]) -> None:
    """Refuse initial sets that the declared ranges would cut in silence (design S1).

    Raises `ModelError` where a bound of a region lies outside the declared range of its variable.
    """
    for region in regions:
        single: dict[str, list[Comparison]] = {}
        for row in region:
            if len(row.expr.terms) == 1 and row.relation is not Relation.NE:
                single.setdefault(row.expr.terms[0][0], []).append(row)
        for name, rows in single.items():
            decl = variables[name]
            for upper in (False, True):
                ends = [(-row.expr.constant / c, row.relation.strict) for row in rows for c in _bounding(row, upper)]
                told = decl.upper if upper else decl.lower
                if not ends or (min(ends)[0] <= told if upper else max(ends)[0] >= told):
                    continue
                low, high = min([told, *(e for e, _ in ends)]) - 1, max([told, *(e for e, _ in ends)]) + 1
                for end, strict in ends:
                    low, high = _cut((low, high), [(end, upper)], strict, decl.integral)
                if ends and (high > told if upper else low < told):
                    raise ModelError(
                        f"the initial states of system {system!r} reach outside the declared range of {name} "
                        f"([{format_number(decl.lower)}, {format_number(decl.upper)}]): "
                        f"{' & '.join(map(str, rows))}; change one of the two"
                    )


def _bounding(row: Comparison, upper: bool) -> tuple[Fraction, ...]:
    """The coefficient of a row of one variable, where the row bounds it from above (or from below); else nothing."""
    c = row.expr.terms[0][1]
    below = row.relation is Relation.EQ or (row.relation in (Relation.LT, Relation.LE)) == (c > 0)
    above = row.relation is Relation.EQ or not below
    return (c,) if (below if upper else above) else ()
