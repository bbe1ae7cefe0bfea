"""A formula about one state as a union of disjoint regions, where few will do.

The disjunctive normal form of a start condition with a hundred disjunctions is out of reach, while the boxes that it
leaves may be few. They are found by branching on atoms (Davis, Logemann, Loveland 1962): what a box decides is taken
out of the formula, an atom that has to hold narrows the box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.linear import Comparison, LinearExpr, Relation
from venmas.logic import And, Atom, Bottom, Formula, Or, Top, conjunction, disjunction, nnf
from venmas.model.limits import MAX_REGIONS, check_count
from venmas.model.propagation import propagate
from venmas.model.variables import Box, Region, VariableDecl

MAX_NODES = 20_000
"""Most boxes that are looked at: some seconds."""

_Case: TypeAlias = tuple[Box, tuple[Comparison, ...], Formula]


def regions_of(variables: Mapping[str, VariableDecl], formula: Formula, most: int) -> list[Region] | None:
    """Disjoint regions inside the declared ranges whose union is the formula; None where `most` are not seen to do.

    formula: about one state, nested as little as an expression of a system. ``!=`` becomes ``<`` and ``>``.
    """
    found: list[Region] = []
    for region in _Cases(variables).all(nnf(formula)):
        if region is None or len(found) == most:
            return None
        found.append(region)
    return found


@dataclass
class _Cases:
    variables: Mapping[str, VariableDecl]

    def all(self, formula: Formula) -> Iterator[Region | None]:
        """The regions; None where the search is given up."""
        declared = {n: _ends(d) for n, d in self.variables.items()}
        stack: list[_Case] = [(declared, (), formula)]
        nodes = 0
        while stack:
            ask()
            nodes += 1
            if nodes > MAX_NODES:
                yield None
                return
            settled = self._settle(*stack.pop())
            if settled is None:
                continue
            box, rows, rest = settled
            if isinstance(rest, Top):
                if propagate(self.variables, rows, box) is not None:
                    yield (*self._bounds(declared, box), *rows)
                continue
            stack += [(box, rows, conjunction((Atom(c), rest))) for c in reversed(_sides(_atom(rest)))]

    def _settle(self, box: Box, rows: tuple[Comparison, ...], formula: Formula) -> _Case | None:
        """Narrow the box by the atoms that have to hold; None where nothing is left."""
        while True:
            formula = _residual(formula, box, {})
            if isinstance(formula, Bottom):
                return None
            parts = formula.operands if isinstance(formula, And) else (formula,)
            must = [p.comparison for p in parts if isinstance(p, Atom) and p.comparison.relation is not Relation.NE]
            if not must:
                return box, rows, formula
            formula = conjunction(p for p in parts if not (isinstance(p, Atom) and p.comparison in must))
            for row in must:
                if not self._narrows(row):
                    rows = (*rows, row)
                elif (narrowed := _narrowed(box, row)) is None:
                    return None
                else:
                    box = narrowed

    def _narrows(self, row: Comparison) -> bool:
        """Whether a box holds what the row says: a bound of one integer, or one that is not strict."""
        if len(row.expr.terms) != 1:
            return False
        return self.variables[row.expr.terms[0][0]].integral or not row.relation.strict

    def _bounds(self, declared: Box, box: Box) -> Iterator[Comparison]:
        for name, (low, high) in box.items():
            expr = LinearExpr.variable(name)
            if low == high and declared[name] != (low, high):
                yield Comparison(expr - LinearExpr((), low), Relation.EQ)
                continue
            if low > declared[name][0]:
                yield Comparison(expr - LinearExpr((), low), Relation.GE)
            if high < declared[name][1]:
                yield Comparison(expr - LinearExpr((), high), Relation.LE)


def _ends(decl: VariableDecl) -> tuple[Fraction, Fraction]:
    return (Fraction(ceil(decl.lower)), Fraction(floor(decl.upper))) if decl.integral else (decl.lower, decl.upper)


def _residual(formula: Formula, box: Box, known: dict[Formula, Formula]) -> Formula:
    """What of a formula the box leaves open."""
    if formula in known:
        return known[formula]
    made = formula
    match formula:
        case Atom(comparison):
            decided = comparison.decide(*comparison.expr.range_over(box))
            made = formula if decided is None else Top() if decided else Bottom()
        case And(operands) | Or(operands):
            new = [_residual(o, box, known) for o in operands]
            if any(a is not b for a, b in zip(new, operands, strict=True)):
                made = conjunction(new) if isinstance(formula, And) else disjunction(new)
    known[formula] = made
    return made


def _narrowed(box: Box, row: Comparison) -> Box | None:
    """The box cut by a comparison of one variable, or None where it is empty."""
    (name, factor), constant = row.expr.terms[0], row.expr.constant
    bound, (low, high) = -constant / factor, box[name]
    relation = row.relation if factor > 0 else row.relation.mirrored
    match relation:
        case Relation.LT:
            high = min(high, Fraction(ceil(bound) - 1))
        case Relation.LE:
            high = min(high, bound)
        case Relation.GT:
            low = max(low, Fraction(floor(bound) + 1))
        case Relation.GE:
            low = max(low, bound)
        case Relation.EQ:
            low, high = max(low, bound), min(high, bound)
    return None if low > high else box | {name: (low, high)}


def _atom(formula: Formula) -> Comparison:
    """An atom to branch on: of the shortest disjunction, the first."""
    parts = formula.operands if isinstance(formula, And) else (formula,)
    node: Formula = min(parts, key=lambda p: len(p.operands) if isinstance(p, Or) else 1)
    while not isinstance(node, Atom):
        assert isinstance(node, And | Or)
        node = node.operands[0]
    return node.comparison


def _sides(row: Comparison) -> list[Comparison]:
    """Comparisons of which exactly one holds, and of which each decides the given one."""
    if row.relation in (Relation.EQ, Relation.NE):
        return [Comparison(row.expr, r) for r in (Relation.LT, Relation.EQ, Relation.GT)]
    return [row, row.negated]


def conjunctions(formula: Formula) -> list[Region]:
    """Disjunctive normal form of a formula without temporal operators; ``!=`` is split into ``<`` and ``>``."""
    match formula:
        case Top():
            return [()]
        case Bottom():
            return []
        case Atom(comparison) if comparison.relation is Relation.NE:
            return [(Comparison(comparison.expr, r),) for r in (Relation.LT, Relation.GT)]
        case Atom(comparison):
            return [(comparison,)]
        case Or(operands):
            return [region for o in operands for region in conjunctions(o)]
        case And(operands):
            product: list[Region] = [()]
            for o in operands:
                factors = conjunctions(o)
                check_count(len(product) * len(factors), MAX_REGIONS, "parts of an initial set, whose cases multiply")
                product = [left + right for left in product for right in factors]
            return product
    raise ModelError(f"an initial set can not contain {formula}")
