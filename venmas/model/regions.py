"""Exact helpers on initial sets: membership, bounding boxes, exact points near a float point, random points.

A region is a conjunction of linear comparisons inside the declared box of the system, where integers are integers.
Points are found by *diving*: equalities are solved away once (Gaussian elimination), then one variable after another
takes a value, and exact bound propagation says what is left for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

import numpy as np

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.linear import Comparison, LinearExpr, Relation, as_fraction, format_number
from venmas.model.simulate import misfit
from venmas.model.system import Region, System

Box: TypeAlias = dict[str, tuple[Fraction, Fraction]]
_Choice: TypeAlias = Callable[[str, Fraction, Fraction], Iterable[Fraction]]

_ROUNDS = 8
_NUDGE = Fraction(1, 2**30)
_NEAR = 1e-6
_MAX_DIVES = 2000
_GRID = 2**20


def contains(region: Region, point: Mapping[str, Fraction]) -> bool:
    """True when the point satisfies every comparison of the region, exactly."""
    return all(comparison.holds(point) for comparison in region)


def bounding_box(system: System, region: Region) -> Box | None:
    """A closed box around the region, inside the declared one, or None when the region is seen to be empty.

    Exact for constraints of one variable; several rounds of bound propagation through the others. Bounds of integers
    are rounded inward. A box is no proof that the region has a point.
    """
    return _propagate(system, region, system.box)


def check_initial(system: System) -> None:
    """Refuse initial sets that would make every formula hold, or that the declared ranges would cut in silence.

    Raises `ModelError` when no region can have a point, and where a bound of a region lies outside the declared range
    of its variable (design S1).
    """
    for region in system.regions:
        single: dict[str, list[Comparison]] = {}
        for row in region:
            if len(row.expr.terms) == 1 and row.relation is not Relation.NE:
                single.setdefault(row.expr.terms[0][0], []).append(row)
        for name, rows in single.items():
            decl = system.variables[name]
            for upper in (False, True):
                ends = [(-row.expr.constant / c, row.relation.strict) for row in rows for c in _bounding(row, upper)]
                told = decl.upper if upper else decl.lower
                low, high = min([told, *(e for e, _ in ends)]) - 1, max([told, *(e for e, _ in ends)]) + 1
                for end, strict in ends:
                    low, high = _cut((low, high), [(end, upper)], strict, decl.integral)
                if ends and (high > told if upper else low < told):
                    raise ModelError(
                        f"the initial states of system {system.name!r} reach outside the declared range of {name} "
                        f"([{format_number(decl.lower)}, {format_number(decl.upper)}]): "
                        f"{' & '.join(map(str, rows))}; change one of the two"
                    )
    if all(bounding_box(system, region) is None for region in system.regions):
        shown = " & ".join(str(row) for row in system.regions[0])
        raise ModelError(f"system {system.name!r} has no initial states: nothing satisfies {shown}; change its bounds")


def _bounding(row: Comparison, upper: bool) -> tuple[Fraction, ...]:
    """The coefficient of a row of one variable, where the row bounds it from above (or from below); else nothing."""
    c = row.expr.terms[0][1]
    below = row.relation is Relation.EQ or (row.relation in (Relation.LT, Relation.LE)) == (c > 0)
    above = row.relation is Relation.EQ or not below
    return (c,) if (below if upper else above) else ()


def _propagate(
    system: System, rows: Iterable[Comparison], start: Mapping[str, tuple[Fraction, Fraction]]
) -> Box | None:
    box: Box = {}
    for name, (low, high) in start.items():
        box[name] = (Fraction(ceil(low)), Fraction(floor(high))) if system.variables[name].integral else (low, high)
        if box[name][0] > box[name][1]:
            return None
    rows = list(rows)
    # one round is enough for intersections of closed intervals
    exact = all(len(r.expr.terms) == 1 and not r.relation.strict and r.relation is not Relation.NE for r in rows)
    for _ in range(_ROUNDS):
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
                ends = []  # c * x + rest <= 0 for the least rest, >= 0 for the greatest
                if row.relation in (Relation.LT, Relation.LE, Relation.EQ):
                    ends.append((-rest_low / c, c > 0))
                if row.relation in (Relation.GT, Relation.GE, Relation.EQ):
                    ends.append((-rest_high / c, c < 0))
                new = _cut(old, ends, row.relation.strict, system.variables[name].integral)
                if new[0] > new[1]:
                    return None
                if new != old:
                    box[name], changed = new, True
                    low, high = rest_low + min(c * new[0], c * new[1]), rest_high + max(c * new[0], c * new[1])
        if not changed or exact:
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


def snap(system: System, region: Region, point: Mapping[str, float]) -> dict[str, Fraction] | None:
    """The first of `snaps`, or None when there is none."""
    return next(snaps(system, region, point), None)


def snaps(system: System, region: Region, point: Mapping[str, float]) -> Iterator[dict[str, Fraction]]:
    """Exact points of the region near a float point, the most likely ones first; all are exact members.

    Integers are rounded. Other values become a quotient of small integers where one lies within 1e-9, else the
    shortest decimal; then equalities, and in a second attempt inequalities that nearly hold with equality, are solved
    exactly. There may be none although the region has points.
    """
    seen: list[dict[str, Fraction]] = []
    for target in (_neat(point, 1000), _neat(point, 0)):
        near = [Comparison(c.expr, Relation.EQ) for c in region if not c.relation.strict and _nearly(c, point)]
        for extra in ((), tuple(near)):

            def choose(
                name: str, low: Fraction, high: Fraction, wish: Mapping[str, Fraction] = target
            ) -> Iterator[Fraction]:
                integral = system.variables[name].integral
                value = Fraction(round(wish[name])) if integral else wish[name]
                yield (value := min(max(value, low), high))
                inward = Fraction(1) if integral else (high - low) * _NUDGE
                yield from (v for v in (value + inward, value - inward, (low + high) / 2) if low <= v <= high)

            found = _dive(system, region, extra, choose, list(system.variables))
            if found is not None and found not in seen:
                seen.append(found)
                yield found


def _neat(point: Mapping[str, float], denominator: int) -> dict[str, Fraction]:
    target: dict[str, Fraction] = {}
    for name, value in point.items():
        exact = as_fraction(value)
        near = exact.limit_denominator(denominator) if denominator else exact
        target[name] = near if abs(near - exact) <= max(Fraction(1), abs(exact)) / 10**9 else exact
    return target


def _nearly(comparison: Comparison, point: Mapping[str, float]) -> bool:
    scale = abs(float(comparison.expr.constant)) + sum(abs(float(c) * point[n]) for n, c in comparison.expr.terms)
    value = float(comparison.expr.constant) + sum(float(c) * point[n] for n, c in comparison.expr.terms)
    return comparison.relation is not Relation.NE and abs(value) <= _NEAR * max(1.0, scale)


def sample(system: System, region: Region, rng: np.random.Generator, count: int) -> list[dict[str, Fraction]]:
    """Random points of the region (exact members): `count` of them, or fewer where they are hard to find.

    Uniform in boxes; elsewhere every point has a chance, but not the same one.
    """

    def choose(name: str, low: Fraction, high: Fraction) -> Iterator[Fraction]:
        for _ in range(4):
            if system.variables[name].integral:
                yield Fraction(int(rng.integers(int(low), int(high), endpoint=True)))
            else:
                yield low + (high - low) * Fraction(int(rng.integers(0, _GRID, endpoint=True)), _GRID)

    found: list[dict[str, Fraction]] = []
    for _ in range(4 * count):
        if len(found) == count:
            break
        names = [list(system.variables)[i] for i in rng.permutation(len(system.variables))]
        if (point := _dive(system, region, (), choose, names)) is not None:
            found.append(point)
    return found


def _dive(
    system: System, region: Region, extra: Region, choose: _Choice, order: list[str]
) -> dict[str, Fraction] | None:
    """A point of the region on the hyperplanes of `extra`: variables are fixed in `order`, integers first."""
    solved = _eliminate(system, region, extra)
    if solved is None:
        return None
    rows = [Comparison(c.expr.substitute(solved), c.relation) for c in region if c.relation is not Relation.EQ]
    for name, expr in solved.items():  # the declared range of a variable that is solved away
        low, high = system.box[name]
        rows += [
            Comparison(expr - LinearExpr((), low), Relation.GE),
            Comparison(expr - LinearExpr((), high), Relation.LE),
        ]
    free = sorted((n for n in order if n not in solved), key=lambda n: not system.variables[n].integral)
    start = _propagate(system, rows, {n: system.box[n] for n in free})
    budget = _MAX_DIVES
    stack = [] if start is None else [(start, _options(free, 0, start, choose))]
    while stack and budget:
        budget -= 1
        box, options = stack[-1]
        value = next(options, None)
        if value is None:
            stack.pop()
            continue
        name = free[len(stack) - 1] if free else ""
        new = _propagate(system, rows, box | {name: (value, value)} if free else box)
        if new is None:
            continue
        if len(stack) >= len(free):
            point = {n: low for n, (low, _) in new.items()}
            point |= {n: expr.evaluate(point) for n, expr in solved.items()}
            point = {n: point[n] for n in system.variables}
            if contains(region, point) and misfit(system, point) is None:
                return point
            continue
        stack.append((new, _options(free, len(stack), new, choose)))
    return None


def _options(free: list[str], depth: int, box: Box, choose: _Choice) -> Iterator[Fraction]:
    return iter(choose(free[depth], *box[free[depth]])) if free else iter([Fraction(0)])


def _eliminate(system: System, region: Region, extra: Region) -> dict[str, LinearExpr] | None:
    """Solve the equalities of `region`, and those of `extra` that do not contradict them, for some of the variables.

    Real variables are solved for rather than integers. None when the equalities of the region have no solution.
    """
    solved: dict[str, LinearExpr] = {}
    for row in (*(c for c in region if c.relation is Relation.EQ), *extra):
        expr = row.expr.substitute(solved)
        if not expr.terms:
            if expr.constant and row in region:
                return None
            continue
        name, c = max(expr.terms, key=lambda term: (not system.variables[term[0]].integral, abs(term[1])))
        value = LinearExpr(tuple(t for t in expr.terms if t[0] != name), expr.constant).scaled(-1 / c)
        solved = {n: e.substitute({name: value}) for n, e in solved.items()} | {name: value}
    return solved


def wide_variables(system: System) -> set[str]:
    """The real variables that have more than one initial value."""
    return {
        name
        for region in system.regions
        for name, (low, high) in (bounding_box(system, region) or {}).items()
        if low < high and not system.variables[name].integral
    }
