"""Conditions whose comparisons multiply variables: disjuncts that cannot hold are left out, in exact rationals.

A disjunct is a list of comparisons that hold together. Each product of two of them that are linear, ``a >= 0`` and
``b >= 0``, is one more, ``a b >= 0``, linear in monomials of degree two; where a linear program over variables and
monomials has no point, nor has the disjunct. This is the reformulation-linearization technique (Sherali and Adams, *A
hierarchy of relaxations between the continuous and convex hull representations for zero-one programming problems*, SIAM
J. Discrete Math. 3, 1990), whose products of bounds are McCormick's envelopes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TypeAlias

from venmas.budget import ask
from venmas.logic.formula import And, Atom, Bottom, Formula, Or, Top, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.simplex import Row, rational, solve

Product: TypeAlias = tuple[LinearExpr, LinearExpr]
_Monomial: TypeAlias = tuple[str, ...]
_Polynomial: TypeAlias = dict[_Monomial, Fraction]

MOST = 400
"""Disjuncts that are looked at."""
_MOST_ROWS = 24
"""Linear comparisons of a disjunct that are multiplied."""


def possible(
    condition: Formula, bounds: Mapping[str, tuple[Fraction, Fraction]], products: Sequence[Product]
) -> Formula:
    """The rest of a condition in negation normal form where all variables are within bounds.

    products: the factors of P_0, P_1, .., which the condition may mention. The result holds in the same points of the
    bounds; the condition itself where it has more than `MOST` disjuncts.
    """
    search = _Search(bounds, products)
    kept: list[Formula] = []
    for number, atoms in enumerate(search.disjuncts([condition], [])):
        if number >= MOST:
            return condition
        if search.meet(atoms, multiplied=True):
            kept.append(conjunction(Atom(atom) for atom in atoms))
    return disjunction(kept)


class _Search:
    def __init__(self, bounds: Mapping[str, tuple[Fraction, Fraction]], products: Sequence[Product]) -> None:
        self.bounds = bounds
        self.products: dict[str, _Polynomial] = {}
        for number, (left, right) in enumerate(products):
            name = f"P_{number}"
            made = _times(self.polynomial(left), self.polynomial(right))
            self.products[name] = made if max(map(len, made), default=0) <= 2 else {(name,): Fraction(1)}

    def disjuncts(self, pending: Sequence[Formula], atoms: Sequence[Comparison]) -> Iterator[list[Comparison]]:
        """The disjuncts that the linear comparisons among them allow."""
        ask()
        atoms, choices, stack = list(atoms), [], list(pending)
        while stack:
            match stack.pop():
                case And(parts):
                    stack.extend(parts)
                case Or(parts):
                    choices.append(parts)
                case Top():
                    pass
                case Bottom():
                    return
                case Atom(Comparison(expr, Relation.NE)):
                    choices.append(tuple(Atom(Comparison(expr, r)) for r in (Relation.LT, Relation.GT)))
                case Atom(comparison):
                    atoms.append(comparison)
                case other:
                    raise TypeError(type(other))
        if not self.meet(atoms, multiplied=False):
            return
        if not choices:
            yield atoms
            return
        first, *rest = sorted(choices, key=len)
        for part in first:
            yield from self.disjuncts([part, *(Or(parts) for parts in rest)], atoms)

    def meet(self, atoms: Sequence[Comparison], multiplied: bool) -> bool:
        """False where no point within the bounds meets all comparisons; `multiplied`: with products of two of them."""
        rows = [row for atom in atoms for row in self.rows(atom)]
        mentioned = {name for row, _ in rows for monomial in row for name in monomial}
        ends = [end for name in sorted(mentioned & self.bounds.keys()) for end in self.ends(name)]
        linear = [row for row in rows if max(map(len, row[0]), default=0) <= 1]
        if not multiplied:
            return _point_in([*linear, *ends])
        squared = {name for row, _ in rows for monomial in row if len(monomial) == 2 for name in monomial}
        inner = [row for row in linear if row[0].keys() - {()} and {n for m in row[0] for n in m} <= squared]
        inner = [*inner[:_MOST_ROWS], *(end for end in ends if {n for m in end[0] for n in m} <= squared)]
        more = [(_times(a, b), s and t) for (a, s), (b, t) in combinations_with_replacement(inner, 2)]
        more += [({(name, name): Fraction(1)}, False) for name in sorted(squared)]
        if not squared <= self.bounds.keys():
            return True
        return _point_in([*rows, *more, *ends])

    def rows(self, atom: Comparison) -> list[tuple[_Polynomial, bool]]:
        """The comparison as polynomials that are at least 0, or (True) above it."""
        made, relation = self.polynomial(atom.expr), atom.relation
        if {name for monomial in made for name in monomial} - self.bounds.keys():
            return []  # a product of degree three or more
        minus = {monomial: -c for monomial, c in made.items()}
        if relation is Relation.EQ:
            return [(made, False), (minus, False)]
        return [(made if relation in (Relation.GE, Relation.GT) else minus, relation.strict)]

    def ends(self, name: str) -> list[tuple[_Polynomial, bool]]:
        low, high = self.bounds[name]
        one = Fraction(1)
        return [({(name,): one, (): -low}, False), ({(name,): -one, (): high}, False)]

    def polynomial(self, expr: LinearExpr) -> _Polynomial:
        made: _Polynomial = {(): expr.constant}
        for name, factor in expr.terms:
            for monomial, c in self.products.get(name, {(name,): Fraction(1)}).items():
                made[monomial] = made.get(monomial, Fraction(0)) + factor * c
        return {monomial: c for monomial, c in made.items() if c}


def _times(left: _Polynomial, right: _Polynomial) -> _Polynomial:
    made: _Polynomial = {}
    for a, p in left.items():
        for b, q in right.items():
            monomial = tuple(sorted(a + b))
            made[monomial] = made.get(monomial, Fraction(0)) + p * q
    return {monomial: c for monomial, c in made.items() if c}


def _point_in(rows: Sequence[tuple[_Polynomial, bool]]) -> bool:
    """Have the rows, linear in their monomials, a point? They bound each of them."""
    place = {m: i for i, m in enumerate(sorted({m for row, _ in rows for m in row if m}), 1)}
    listed = []
    for row, strict in rows:
        form = [rational(0)] * (len(place) + 1)
        for monomial, c in row.items():
            form[place[monomial] if monomial else 0] = rational(c)
        listed.append(Row(tuple(form), strict))
    return not listed or solve(listed, len(place))[1] is not None
