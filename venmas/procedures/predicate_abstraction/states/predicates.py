"""Predicates: linear comparisons over integers in one normal form, so that equivalent ones coincide (P4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from venmas.logic import Atom, Formula, subformulas
from venmas.logic.linear import Comparison, LinearExpr, Relation, format_number


@dataclass(frozen=True)
class Predicate:
    """``sum(c * x[v] for v, c in terms) >= bound``: columns in order, no common divisor, the first c positive.

    Its negation is the same predicate, false.
    """

    terms: tuple[tuple[int, int], ...]
    bound: int

    @property
    def unary(self) -> bool:
        """Is it a threshold of one variable, ``x[v] >= bound``?"""
        return len(self.terms) == 1

    def value(self, state: Sequence[int]) -> bool:
        """Its truth in a state."""
        return sum(c * state[v] for v, c in self.terms) >= self.bound

    def text(self, names: Sequence[str]) -> str:
        """The predicate for people."""
        left = LinearExpr.of({names[v]: Fraction(c) for v, c in self.terms})
        return f"{left} >= {format_number(Fraction(self.bound))}"

    def row(self, width: int) -> tuple[Fraction, ...]:
        """(c0, c1, .., cn) as of `venmas.model.invariant.Invariant`."""
        found = [Fraction(0)] * (width + 1)
        found[0] = Fraction(-self.bound)
        for v, c in self.terms:
            found[v + 1] = Fraction(c)
        return tuple(found)


def at_least(terms: Mapping[int, int], bound: int) -> Predicate | None:
    """The predicate that ``sum(terms) >= bound`` is, or that it is the negation of; None without variables."""
    kept = sorted((v, c) for v, c in terms.items() if c)
    if not kept:
        return None
    divisor = gcd(*(c for _, c in kept))
    bound = -(-bound // divisor)
    kept = [(v, c // divisor) for v, c in kept]
    if kept[0][1] < 0:
        kept, bound = [(v, -c) for v, c in kept], 1 - bound
    return Predicate(tuple(kept), bound)


def integral(comparison: Comparison, columns: Mapping[str, int]) -> list[tuple[dict[int, int], int]]:
    """The rows (terms, constant) whose ``sum + constant >= 0`` is the comparison over integers; of ``==`` two.

    ``!=`` is no conjunction, and is refused with `ValueError`.
    """
    expr, relation = comparison.expr, comparison.relation
    scale = lcm(expr.constant.denominator, *(c.denominator for _, c in expr.terms))
    terms = {columns[name]: int(c * scale) for name, c in expr.terms}
    constant = int(expr.constant * scale)
    negative = {v: -c for v, c in terms.items()}
    match relation:
        case Relation.GE:
            return [(terms, constant)]
        case Relation.GT:
            return [(terms, constant - 1)]
        case Relation.LE:
            return [(negative, -constant)]
        case Relation.LT:
            return [(negative, -constant - 1)]
        case Relation.EQ:
            return [(terms, constant), (negative, -constant)]
        case Relation.NE:
            raise ValueError(comparison)


def of_comparison(comparison: Comparison, columns: Mapping[str, int]) -> list[Predicate]:
    """The predicates that decide a comparison: two of ``==`` and ``!=``, one of the others, none of a constant one."""
    if comparison.relation is Relation.NE:
        comparison = comparison.negated
    found = (at_least(terms, -constant) for terms, constant in integral(comparison, columns))
    return [p for p in found if p is not None]


def of_formula(formula: Formula, columns: Mapping[str, int]) -> list[Predicate]:
    """The predicates of all atoms of a formula, each once."""
    atoms = (node.comparison for node in subformulas(formula) if isinstance(node, Atom))
    return list(dict.fromkeys(p for comparison in atoms for p in of_comparison(comparison, columns)))


def open_over(
    predicates: Iterable[Predicate], low: Sequence[int], high: Sequence[int], known: Iterable[Predicate] = ()
) -> list[Predicate]:
    """Those whose truth the box does not decide and that are not `known`, each once."""
    found: dict[Predicate, None] = {}
    seen = set(known)
    for p in predicates:
        least = sum(c * (low[v] if c > 0 else high[v]) for v, c in p.terms)
        most = sum(c * (high[v] if c > 0 else low[v]) for v, c in p.terms)
        if least < p.bound <= most and p not in seen:
            found[p] = None
    return list(found)
