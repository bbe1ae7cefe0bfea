"""Bounds of inputs that comparisons of several inputs imply, such as ``X_0 <= X_1`` with ``X_1 <= 2``."""

from __future__ import annotations

from fractions import Fraction

from venmas.logic.formula import And, Atom, Formula, conjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation

Ends = tuple[Fraction | None, Fraction | None]


def ends_of(comparison: Comparison) -> tuple[str, Ends]:
    """The variable of a comparison of one variable with a number, and the least and greatest value that it leaves."""
    (name, factor), value = comparison.expr.terms[0], -comparison.expr.constant / comparison.expr.terms[0][1]
    if comparison.relation is Relation.EQ:
        return name, (value, value)
    below = (comparison.relation in (Relation.LE, Relation.LT)) == (factor > 0)
    return name, (None, value) if below else (value, None)


def with_bounds(assertion: Formula, inputs: int) -> Formula:
    """The assertion, which is in negation normal form, and bounds that it implies where an input has none.

    What is added follows from the assertion, so that it says the same; bounds that are there are not tightened.
    """
    parts = assertion.operands if isinstance(assertion, And) else (assertion,)
    atoms = [part.comparison for part in parts if isinstance(part, Atom) and part.comparison.relation != Relation.NE]
    atoms = [a for a in atoms if a.expr.terms and all(name.startswith("X_") for name, _ in a.expr.terms)]
    low: dict[str, Fraction] = {}
    high: dict[str, Fraction] = {}
    for atom in atoms:
        if len(atom.expr.terms) == 1:
            name, (least, greatest) = ends_of(atom)
            if least is not None:
                low[name] = max(least, low.get(name, least))
            if greatest is not None:
                high[name] = min(greatest, high.get(name, greatest))
    several = [expr for atom in atoms if len(atom.expr.terms) > 1 for expr in _at_most_zero(atom)]
    added: list[Formula] = []
    before = -1
    while len(added) > before and len(low) + len(high) < 2 * inputs:
        before = len(added)
        for expr in several:
            added += _implied(expr, low, high)
    return conjunction([assertion, *added]) if added else assertion


def _at_most_zero(atom: Comparison) -> list[LinearExpr]:
    """Terms none of which is positive where the comparison holds."""
    at_most = [] if atom.relation in (Relation.GE, Relation.GT) else [atom.expr]
    return at_most if atom.relation in (Relation.LE, Relation.LT) else [*at_most, -atom.expr]


def _implied(expr: LinearExpr, low: dict[str, Fraction], high: dict[str, Fraction]) -> list[Formula]:
    """Missing bounds that ``expr <= 0`` implies by those that there are, which they join."""
    added: list[Formula] = []
    for name, factor in expr.terms:
        ends = high if factor > 0 else low
        if name in ends:
            continue
        rest = expr.constant
        for other, coefficient in expr.terms:
            end = Fraction(0) if other == name else (low if coefficient > 0 else high).get(other)
            if end is None:
                break
            rest += coefficient * end
        else:
            ends[name] = -rest / factor
            relation = Relation.LE if factor > 0 else Relation.GE
            added.append(Atom(Comparison(LinearExpr.variable(name) + LinearExpr((), -ends[name]), relation)))
    return added
