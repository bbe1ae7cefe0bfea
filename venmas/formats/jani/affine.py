"""Conditions with min, max, ite and abs as conditions of affine comparisons, by cases, for descriptions of states."""

from __future__ import annotations

from itertools import product
from typing import TypeAlias

from venmas.formats.jani.text import Place
from venmas.logic.linear import Relation
from venmas.model.expressions.expr import (
    All,
    Any,
    Compare,
    Condition,
    Constant,
    Expr,
    Maximum,
    Sum,
    Truth,
    Where,
    add,
    compare,
    conjunction,
    disjunction,
    scale,
)

Piece: TypeAlias = tuple[Condition, Expr]
_MOST = 256
"""Most cases of a comparison, and of all comparisons of a condition."""


def affine(condition: Condition, place: Place) -> Condition:
    """The same condition, its comparisons affine. Raises `ScenarioError` where that takes too many cases."""
    return _Cases(place).condition(condition)


class _Cases:
    def __init__(self, place: Place) -> None:
        self._place, self._made = place, 0

    def condition(self, given: Condition) -> Condition:
        match given:
            case All(operands):
                return conjunction(map(self.condition, operands))
            case Any(operands):
                return disjunction(map(self.condition, operands))
            case Compare(expr, relation) if expr.linear() is None:
                return disjunction(conjunction((when, compare(e, relation, 0))) for when, e in self._pieces(expr))
        return given

    def _pieces(self, expr: Expr) -> list[Piece]:
        """Affine expressions, each where its condition holds: exactly one of these conditions in every state."""
        pieces: list[Piece]
        match expr:
            case _ if expr.linear() is not None:
                return [(Truth(True), expr)]
            case Sum(terms, constant):
                pieces = [(Truth(True), Constant(constant))]
                for factor, part in terms:
                    pairs = product(pieces, self._pieces(part))
                    pieces = self._kept([(p & q, add(e, scale(f, factor))) for (p, e), (q, f) in pairs])
            case Maximum(operands):
                pieces = self._pieces(operands[0])
                for operand in operands[1:]:
                    greater: list[Piece] = []
                    for (p, e), (q, f) in product(pieces, self._pieces(operand)):
                        greater.append((p & q & compare(e, Relation.GE, f), e))
                        greater.append((p & q & compare(e, Relation.LT, f), f))
                    pieces = self._kept(greater)
            case Where(test, then, otherwise):
                holds = self.condition(test)
                pieces = [(holds & when, e) for when, e in self._pieces(then)]
                pieces += [(~holds & when, e) for when, e in self._pieces(otherwise)]
            case _:
                self._place.refuse("it compares what is not linear in the variables: compare sums, min, max, ite, abs")
        return self._kept(pieces)

    def _kept(self, pieces: list[Piece]) -> list[Piece]:
        kept = [piece for piece in pieces if not (isinstance(piece[0], Truth) and not piece[0].value)]
        self._made += len(kept)
        if len(kept) > _MOST or self._made > 16 * _MOST:
            self._place.refuse(f"min, max, ite and abs make more than {_MOST} cases here: compare parts by themselves")
        return kept
