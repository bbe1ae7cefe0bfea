"""Exact helpers on initial sets: membership, bounding boxes, exact points near a float point, random points.

A region is a conjunction of linear comparisons inside the declared box of the system, where integers are integers.
Points are found by *diving*: equalities are solved away once (Gaussian elimination), then one variable after another
takes a value, and exact bound propagation says what is left for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from venmas.logic import TRUE, And, Atom, Formula, Or, conjunction, subformulas
from venmas.logic.linear import Comparison, LinearExpr, Relation, as_fraction
from venmas.model.evaluation.points import TooManyError, initial_points
from venmas.model.evaluation.simulate import misfit
from venmas.model.system.propagation import propagate
from venmas.model.system.starts import cases
from venmas.model.system.system import System
from venmas.model.system.variables import Box, Region, VariableDecl

_Choice: TypeAlias = Callable[[str, Fraction, Fraction], Iterable[Fraction]]

_NUDGE = Fraction(1, 2**30)
_NEAR = 1e-6
_MAX_DIVES = 2000
_GRID = 2**20
_MOST_POINTS = 100_000


def contains(region: Region, point: Mapping[str, Fraction]) -> bool:
    """True when the point satisfies every comparison of the region, exactly."""
    return all(comparison.holds(point) for comparison in region)


def holds(formula: Formula, point: Mapping[str, Fraction]) -> bool:
    """Truth of a formula about one state, of comparisons joined by & and |, at a point, exactly."""
    known: dict[Formula, bool] = {}
    for node in subformulas(formula):
        match node:
            case Atom(comparison):
                known[node] = comparison.holds(point)
            case And(operands):
                known[node] = all(known[o] for o in operands)
            case Or(operands):
                known[node] = any(known[o] for o in operands)
            case _:
                known[node] = node is TRUE
    return known[formula]


def is_initial(system: System, point: Mapping[str, Fraction]) -> bool:
    """True when a state, which has a value of every variable, is an initial one."""
    inside = any(contains(region, point) for region in system.initial_set.regions)
    return inside and holds(system.initial_condition, point)


def bounding_box(system: System, region: Region) -> Box | None:
    """A closed box around the region, inside the declared one, or None when the region is seen to be empty.

    Exact for constraints of one variable; several rounds of bound propagation through the others. Bounds of integers
    are rounded inward. A box is no proof that the region has a point.
    """
    return propagate(system.variables, region, system.box)


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

            reached = _dive(system, region, extra, choose, list(system.variables))
            if reached is not None and reached not in seen:
                seen.append(reached)
                yield reached


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


def sample_initial(
    system: System, rng: np.random.Generator, count: int, extra: Region = ()
) -> list[dict[str, Fraction]]:
    """Random initial states that meet `extra`, `count` of them or fewer; every part of the set has the same share."""
    if system.initial_condition is not TRUE:
        return _sample_condition(system, rng, count, extra)
    regions: list[Region] = [(*region, *extra) for region in system.regions]
    regions = [region for region in regions if bounding_box(system, region) is not None]
    shares = rng.multinomial(count, [1 / len(regions)] * len(regions)) if regions else ()
    return [p for region, n in zip(regions, shares, strict=True) for p in sample(system, region, rng, int(n))]


def _sample_condition(system: System, rng: np.random.Generator, count: int, extra: Region) -> list[dict[str, Fraction]]:
    if all(decl.integral for decl in system.variables.values()):
        try:
            rows = np.concatenate([*initial_points(system, _MOST_POINTS), np.zeros((0, len(system.variables)), int)])
            states = [dict(zip(system.variables, map(Fraction, map(int, row)), strict=True)) for row in rows]
            states = [point for point in states if contains(extra, point)]
            return [states[i] for i in rng.integers(len(states), size=count)] if states else []
        except TooManyError:
            pass
    formula = conjunction((system.initial_set.formula, *map(Atom, extra)))
    dives = (next(cases(system.variables, formula, rng), None) for _ in range(count))
    return [point for region in dives if region is not None for point in sample(system, region, rng, 1)]


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

    states: list[dict[str, Fraction]] = []
    for _ in range(4 * count):
        if len(states) == count:
            break
        names = [list(system.variables)[i] for i in rng.permutation(len(system.variables))]
        if (point := _dive(system, region, (), choose, names)) is not None:
            states.append(point)
    return states


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
    start = propagate(system.variables, rows, {n: system.box[n] for n in free})
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
        new = propagate(system.variables, rows, box | {name: (value, value)} if free else box)
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


def several_wide(system: System) -> bool:
    """Do several real variables have more than one initial value, as far as comparisons of one variable tell?"""
    return system.once("several wide", lambda: any(_wide(system, region) > 1 for region in system.regions))


def _wide(system: System, region: Region) -> int:
    return sum(not _fixed(decl, region) for decl in system.variables.values())


def _fixed(decl: VariableDecl, region: Region) -> bool:
    """Is it an integer, or do comparisons of this variable alone leave it one value?"""
    if decl.integral:
        return True
    low, high = decl.lower, decl.upper
    for row in region:
        if len(row.expr.terms) == 1 and row.expr.terms[0][0] == decl.name and row.relation is not Relation.NE:
            (_, factor), bound = row.expr.terms[0], -row.expr.constant / row.expr.terms[0][1]
            below = row.relation in (Relation.LE, Relation.LT)
            if row.relation is Relation.EQ or below == (factor > 0):
                high = min(high, bound)
            if row.relation is Relation.EQ or below != (factor > 0):
                low = max(low, bound)
    return low >= high
