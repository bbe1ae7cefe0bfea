"""Claims closed on one cell, in exact rationals: by the enclosures of the states that a branch leads to."""

from __future__ import annotations

from collections.abc import Sequence

from venmas.checker.exact.cell import Cell, Form, rational
from venmas.checker.exact.initial import cut_by
from venmas.checker.goals.paths import World
from venmas.checker.inductive.claims import Claim, Claims
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.expressions.expr import All, Any, Compare, Condition, to_comparison
from venmas.nn.network import Semantics

_MOST_PARTS = 64
"""Inequations double the parts of a cell up to here; further ones cut nothing."""


class Exact:
    """Decides claims about one inductive set on cells, by enclosures in rationals."""

    def __init__(self, claims: Claims, semantics: Semantics = "real") -> None:
        self.claims, self.system, self.semantics = claims, claims.system, semantics
        names = tuple(self.system.variables)
        one, zero = rational(1), rational(0)
        self._start = {
            name: (zero, *(one if i == j else zero for j in range(len(names)))) for i, name in enumerate(names)
        }
        self._atoms = [
            Comparison(LinearExpr.of(zip(names, row[1:], strict=True), row[0]), Relation.GE)
            for row in claims.invariant.predicates
        ]
        self._words = [
            [(i, truth == "1") for i, truth in enumerate(word) if truth != "-"] for word in claims.invariant.words
        ]

    def open(self, claim: Claim, cell: Cell) -> str:
        """Why the claim is not closed on the cell by enclosures; empty where it is."""
        return next(filter(None, (self._open(claim, part) for part in self._meeting(claim.condition, cell))), "")

    def forms(self, claim: Claim, cell: Cell) -> list[Form]:
        """Exact forms over the variables whose signs would decide what leaves the claim open, as they are met."""
        linear: list[Form] = []
        for part in self._meeting(claim.condition, cell):
            self._open(claim, part, linear)
        return list(dict.fromkeys(linear))

    def _meeting(self, condition: Condition, cell: Cell) -> list[Cell]:
        """Parts of the cell that hold all of its states that meet a condition, cut by its comparisons."""
        parts: list[Cell] = [cell]
        for operand in condition.operands if isinstance(condition, All) else (condition,):
            if len(parts) <= _MOST_PARTS:
                parts = [cut for part in parts for cut in self._cut(operand, part)]
        return [part for part in parts if _some(part)]

    def _cut(self, condition: Condition, cell: Cell) -> list[Cell]:
        if isinstance(condition, Any) and not condition.operands:
            return []
        comparison = to_comparison(condition) if isinstance(condition, Compare) else None
        if comparison is None:
            return [cell]
        unequal = comparison.relation is Relation.NE
        ways = (Relation.GT, Relation.LT) if unequal else (comparison.relation,)
        parts = (cut_by(cell, (Comparison(comparison.expr, way),)) for way in ways)
        return [part for part in parts if part is not None]

    def _open(self, claim: Claim, cell: Cell, forms: list[Form] | None = None) -> str:
        """Why a claim is open on a cell that linear comparisons have cut. forms: takes what would decide it."""
        world = World(self.system, cell, self._start, self.semantics)
        before = world.state(())
        if before.truth(claim.condition) is False:
            return ""
        path = () if claim.branch is None else (claim.branch,)
        after = world.state(path) if claim.member else before
        truths: dict[int, bool | None] = {}
        if not claim.member:
            problem = "a state may be reached that violates it"
        elif world.left_box:
            problem = f"{world.left_box[0]} may leave its range"
        elif any(self._matches(word, truths, world, path) for word in self._words):
            return ""
        else:
            problem = "the set may be left"
        if forms is not None:
            forms += before.open if after is before else (*before.open, *after.open)
        return problem

    def _matches(
        self, word: Sequence[tuple[int, bool]], truths: dict[int, bool | None], world: World, path: tuple[int, ...]
    ) -> bool:
        state = world.state(path)
        for i, expected in word:
            if i not in truths:
                atom = self._atoms[i]
                truths[i] = state.compare(state.value(world.atom(atom)), atom.relation)
            if truths[i] is not expected:
                return False
        return True


def _some(cell: Cell) -> bool:
    """May the cell hold a state, as far as each of its rows alone tells?"""
    return all(most > 0 or (most == 0 and not row.strict) for row in cell.rows for most in (cell.box_max(row.form),))
