"""Emptiness of initial sets, decided exactly: conjunctions of linear comparisons over reals and integers.

Bound propagation leaves a box; a set whose comparisons hold in the middle of it has a point. Else: equalities are
solved away (of integers alone by Knuth's unimodular substitutions, The Art of Computer Programming 2, section 4.5.2),
then an exact simplex decides over the reals, and branch and bound over integers and around ``!=``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor, gcd, lcm

from venmas.budget import ask
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.system.propagation import propagate
from venmas.model.system.variables import Box, Region, VariableDecl

_MAX_WORK = 20_000_000
"""Entries of tables of the simplex, times the rounds for each: some seconds."""
_GE, _GT, _EQ, _NE = Relation.GE, Relation.GT, Relation.EQ, Relation.NE


def has_point(variables: Mapping[str, VariableDecl], region: Region) -> bool | None:
    """Has the region a point inside the declared ranges? None where that takes too much work."""
    box = propagate(variables, region, {name: (d.lower, d.upper) for name, d in variables.items()})
    if box is None:
        return False
    middle = {n: Fraction(floor((a + b) / 2)) if variables[n].integral else (a + b) / 2 for n, (a, b) in box.items()}
    if all(row.holds(middle) for row in region):
        return True
    found: list[bool | None] = [_decide(variables, rows, box) for rows in _connected(region)]
    return False if False in found else None if None in found else True


def _connected(region: Region) -> list[list[Comparison]]:
    """The rows in groups that share no variable."""
    groups: list[tuple[set[str], list[Comparison]]] = []
    for row in region:
        names, rows = set(row.expr.variables), [row]
        apart = []
        for group in groups:
            if group[0] & names:
                names |= group[0]
                rows = group[1] + rows
            else:
                apart.append(group)
        groups = [*apart, (names, rows)]
    return [rows for _, rows in groups]


def _decide(variables: Mapping[str, VariableDecl], rows: Sequence[Comparison], box: Box) -> bool | None:
    names = sorted({name for row in rows for name in row.expr.variables})
    integral = {name for name in names if variables[name].integral}
    reached = _reached(rows, box, integral)
    if reached is not None:
        return reached
    ends = [(LinearExpr.variable(n), *box[n]) for n in names]
    whole = [
        *(_upward(row) for row in rows),
        *(Comparison(x - LinearExpr((), low), _GE) for x, low, _ in ends),
        *(Comparison(LinearExpr((), high) - x, _GE) for x, _, high in ends),
    ]
    solved = _without_equalities(whole, integral)
    return False if solved is None else _search(*solved)


def _reached(rows: Sequence[Comparison], box: Box, integral: set[str]) -> bool | None:
    """Of a single row: does it hold somewhere in the box? None where that is not seen of its ends."""
    if len(rows) > 1:
        return None
    (row,) = rows
    low, high = row.expr.range_over(box)
    if row.relation is _EQ:
        factors = [abs(c) for n, c in row.expr.terms if n in integral]
        if 0 < len(factors) < len(row.expr.terms) or any(c != 1 for c in factors):
            return None
        return low <= 0 <= high and (not factors or row.expr.constant.denominator == 1)  # steps of 1 miss no integer
    return row.decide(low, high) is not False


def _upward(row: Comparison) -> Comparison:
    """The same as ``>``, ``>=``, ``==`` or ``!=``."""
    if row.relation in (Relation.LT, Relation.LE):
        return Comparison(row.expr.scaled(-1), row.relation.mirrored)
    return row


def _without_equalities(rows: Sequence[Comparison], integral: set[str]) -> tuple[list[Comparison], set[str]] | None:
    """The rows over fewer variables, equalities solved away, and which of these are integers; None: no solution."""
    integral, count = set(integral), 0
    while True:
        ask()
        equality = next((row for row in rows if row.relation is _EQ), None)
        if equality is None:
            return list(rows), integral
        rows = [row for row in rows if row is not equality]
        expr = equality.expr
        if not expr.terms:
            if expr.constant:
                return None
            continue
        real = next(((n, c) for n, c in expr.terms if n not in integral), None)
        if real is not None:
            name, value = real[0], _rest(expr, real[0]).scaled(-1 / real[1])
        else:
            expr = _coprime(expr)
            if expr.constant.denominator != 1:
                return None
            name, c = min(expr.terms, key=lambda term: abs(term[1]))
            value = _rest(expr, name).scaled(-1 / c)
            if abs(c) != 1:  # another integer in its place, so that the other coefficients become remainders
                count += 1
                new = f"\0{count}"
                parts = [(n, Fraction(-(a // c))) for n, a in expr.terms if n != name]
                value = LinearExpr.of([(new, Fraction(1)), *parts])
                integral.add(new)
                # the next one again, until it is solved: two in turn would undo each other's remainders for ever
                rows.insert(0, Comparison(expr, _EQ))
        rows = [Comparison(row.expr.substitute({name: value}), row.relation) for row in rows]


def _rest(expr: LinearExpr, name: str) -> LinearExpr:
    return LinearExpr(tuple(t for t in expr.terms if t[0] != name), expr.constant)


def _coprime(expr: LinearExpr) -> LinearExpr:
    """A positive multiple with coprime integers as coefficients."""
    by = lcm(*(c.denominator for _, c in expr.terms))
    return expr.scaled(Fraction(by, gcd(*(int(c * by) for _, c in expr.terms))))


def _search(rows: Sequence[Comparison], integral: set[str]) -> bool | None:
    """Branch and bound: whether all rows (no equalities) hold somewhere."""
    names = sorted({name for row in rows for name in row.expr.variables})
    work, stack = _MAX_WORK, [list(rows)]
    while stack:
        rows = [_tight(row, integral) for row in stack.pop()]
        if not all(row.holds({}) for row in rows if not row.expr.terms):
            continue
        work -= len(rows) * (len(names) + 1) * (len(names) + 1)
        if work < 0:
            return None
        point = _point([row for row in rows if row.relation is not _NE], names)
        if point is None:
            continue
        near = {n: Fraction(round(v)) if n in integral else v for n, v in point.items()}
        if all(row.holds(near) for row in rows):
            return True
        stack += [[*rows, side] for side in _sides(rows, point, integral)]
    return False


def _sides(rows: Sequence[Comparison], point: Mapping[str, Fraction], integral: set[str]) -> list[Comparison]:
    """Two cases that leave out a point: it has an integer between two integers, or meets what is to differ from 0."""
    for name in sorted(integral & point.keys()):
        if (value := point[name]).denominator != 1:
            x, low = LinearExpr.variable(name), LinearExpr((), Fraction(floor(value)))
            return [Comparison(low - x, _GE), Comparison(x - low - LinearExpr((), Fraction(1)), _GE)]
    row = next(row for row in rows if not row.holds(point))
    return [Comparison(row.expr, _GT), Comparison(row.expr.scaled(-1), _GT)]


def _tight(row: Comparison, integral: set[str]) -> Comparison:
    """The same over integers, nearer to them."""
    if not row.expr.terms or row.relation is _NE or not row.expr.variables <= integral:
        return row
    expr = _coprime(row.expr)
    least = floor(expr.constant) - (row.relation is _GT and expr.constant.denominator == 1)
    return Comparison(LinearExpr(expr.terms, Fraction(least)), _GE)


def _point(rows: Sequence[Comparison], names: Sequence[str]) -> dict[str, Fraction] | None:
    """A point over the reals."""
    from venmas.logic.simplex import Row, rational, solve

    place = {name: i for i, name in enumerate(names, 1)}
    listed: list[Row] = []
    for row in sorted(rows, key=lambda row: len(row.expr.terms) == 1):  # bounds last
        form = [rational(0)] * (len(names) + 1)
        form[0] = rational(row.expr.constant)
        for name, c in row.expr.terms:
            form[place[name]] = rational(c)
        listed.append(Row(tuple(form), row.relation is _GT))
    _, found = solve(listed, len(names))
    if found is None:
        return None
    return {n: Fraction(int(v.numerator), int(v.denominator)) for n, v in zip(names, found, strict=True)}
