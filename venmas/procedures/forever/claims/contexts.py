"""Formulas with a part put in for another one, and the conjuncts that no branch changes."""

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
from venmas.logic.printing import to_text


def put(formula: Formula, old: Formula, new: Formula) -> Formula:
    """The formula with a part put in for another one, wherever it stands."""
    done: dict[Formula, Formula] = {}
    for node in subformulas(formula):
        parts = [done[child] for child in node.children]
        if node is old:
            done[node] = new
        elif not parts or all(a is b for a, b in zip(parts, node.children, strict=True)):
            done[node] = node
        else:
            done[node] = made(node, parts)
    return done[formula]


def made(node: Formula, parts: list[Formula]) -> Formula:
    """A formula of the same kind with other parts."""
    match node:
        case And() | Or():
            return type(node)(tuple(parts))
        case Next(quantifier, k, _):
            return Next(quantifier, k, parts[0])
        case Globally(quantifier, start, end, _) | Finally(quantifier, start, end, _):
            return type(node)(quantifier, start, end, parts[0])
        case Until(quantifier, start, end, _, _):
            return Until(quantifier, start, end, *parts)
        case Not() | AX() | EX() | Implies() | Iff():
            return type(node)(*parts)
    raise TypeError(type(node))


def context(formula: Formula, part: Formula) -> str:
    """The text of a formula with ``here`` in place of a part."""
    return to_text(put(formula, part, HOLE)).replace('"@here" >= 1', "here")


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
                return put(formula, node, left), node, left, conjunction(still)
    return None
