"""Formulas with a part put in for another one, without negations, and the conjuncts that no branch changes."""

from __future__ import annotations

from typing import TypeAlias

from venmas.checker.forever.sequents import HOLE, constant
from venmas.logic import (
    AX,
    EX,
    And,
    Finally,
    Formula,
    Globally,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Until,
    conjunction,
    subformulas,
)
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


def positive(formula: Formula, negate: bool = False) -> Formula | None:
    """The formula, or its negation, with no operator without a bound below a negation.

    None where that cannot be written: the negation of an until without a bound.
    """
    if formula.horizon is not None:
        return Not(formula) if negate else formula
    match formula:
        case Not(inner):
            return positive(inner, not negate)
        case Implies(left, right):
            return positive(Or((Not(left), right)), negate)
        case Iff(left, right):
            one = left if negate else Not(left)  # written as core forms write it: what is shown is compared by these
            return positive(Or((And((Not(one), right)), And((one, Not(right))))))
        case Until() if negate and formula.end is None:
            return None
    parts = [positive(child, negate) for child in formula.children]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or (negate and isinstance(formula, Until)):
        return None
    if not negate:
        return formula.with_children(known)
    match formula:
        case And() | Or():
            return (Or if isinstance(formula, And) else And)(tuple(known))
        case AX() | EX():
            return (EX if isinstance(formula, AX) else AX)(known[0])
        case Next(quantifier, k, _):
            return Next(quantifier.dual, k, known[0])
        case Globally(quantifier, start, end, _) | Finally(quantifier, start, end, _):
            other = Finally if isinstance(formula, Globally) else Globally
            return other(quantifier.dual, start, end, known[0])
    return None
