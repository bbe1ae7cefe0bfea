"""Formulas with a part put in for another one, and the conjuncts that no branch changes."""

from __future__ import annotations

from typing import TypeAlias

from venmas.checker.forever.sequents import HOLE, constant
from venmas.logic import And, Formula, conjunction, subformulas
from venmas.logic.formula import replaced
from venmas.logic.printing import to_text


def context(formula: Formula, part: Formula) -> str:
    """The text of a formula with ``here`` in place of a part."""
    return to_text(replaced(formula, {part: HOLE})).replace('"@here" >= 1', "here")


Loosened: TypeAlias = tuple[Formula, Formula, Formula, Formula]


def loosened(formula: Formula, names: frozenset[str]) -> Loosened | None:
    """A formula without conjuncts about constants in a part; the part; what is left of it; and these conjuncts.

    None where there is no such part.
    """
    for node in subformulas(formula):
        if isinstance(node, And) and node is not formula:
            still = [part for part in node.operands if constant(part, names)]
            if still:
                left = conjunction(part for part in node.operands if part not in still)
                return replaced(formula, {node: left}), node, left, conjunction(still)
    return None
