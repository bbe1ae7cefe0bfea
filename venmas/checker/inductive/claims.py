"""Proof obligations of an inductive set: claims about cells, each closed on the leaves of a tree of cuts.

A claim says of every state of a cell that meets a condition: it is in the set (the initial states), there is none (the
states of the set that violate the property), or the branch leads into the declared box and the set (the steps).
"""

from __future__ import annotations

from dataclasses import dataclass

from venmas.checker.exact.cell import Cell, Form, negative, rational
from venmas.checker.exact.initial import declared_cell
from venmas.logic import And, Atom, Bottom, Formula, Or, Top, nnf
from venmas.logic.linear import Comparison
from venmas.model.expressions.expr import All, Any, Compare, Condition, Constant, Expr, Sum, Truth, Variable
from venmas.model.invariant import Invariant
from venmas.model.system.system import System


@dataclass(frozen=True, eq=False)
class Claim:
    """Of the states that meet `condition`: where `member`, those that `branch` leads to are in the set.

    branch: None for the states themselves. Without `member` there is no such state. where: for messages.
    """

    condition: Condition
    branch: int | None
    member: bool
    where: str


class Claims:
    """The claims about one inductive set: of initial states, of the property, and of the steps.

    starts: over the declared box. unsafe: of the cell of each word. steps: by branch, of the cell of each word.
    """

    def __init__(self, system: System, holds: Formula, invariant: Invariant) -> None:
        self.system, self.invariant = system, invariant
        self.starts = [Claim(c, None, True, f"initial set {i}") for i, c in enumerate(_initial(system))]
        self.unsafe = Claim(_condition(nnf(holds, negate=True), system), None, False, "the property")
        self.steps = [Claim(b.guard, i, True, f"branch {b.name!r}") for i, b in enumerate(system.branches)]
        self.forms: list[Form] = [tuple(map(rational, row)) for row in invariant.predicates]
        self.box = declared_cell(system)

    def cell(self, word: int) -> Cell | None:
        """The states of the declared box that match a word; None where they are told to be none."""
        cell = self.box
        for form, truth in zip(self.forms, self.invariant.words[word], strict=True):
            if cell is not None and truth != "-":
                cell = cell.cut(form) if truth == "1" else cell.cut(negative(form), strict=True)
        return cell


def _initial(system: System) -> list[Condition]:
    """Conditions of the states of each initial set: its comparisons, and a condition that all of them have besides."""
    besides = _condition(nnf(system.initial_condition), system)
    more = besides.operands if isinstance(besides, All) else (besides,)
    return [All((*(_compare(c, system) for c in region), *more)) for region in system.initial_set.regions]


def _compare(comparison: Comparison, system: System) -> Condition:
    terms: tuple[tuple[object, Variable], ...] = tuple((c, system[n]) for n, c in comparison.expr.terms)
    expr: Expr = Sum(terms, comparison.expr.constant) if terms else Constant(comparison.expr.constant)  # type: ignore[arg-type]
    return Compare(expr, comparison.relation)


def _condition(formula: Formula, system: System) -> Condition:
    """A core formula about one state as a condition."""
    match formula:
        case Top() | Bottom():
            return Truth(isinstance(formula, Top))
        case Atom(comparison):
            return _compare(comparison, system)
        case And(operands):
            return All(tuple(_condition(o, system) for o in operands))
        case Or(operands):
            return Any(tuple(_condition(o, system) for o in operands))
    raise TypeError(f"not about one state: {formula}")
