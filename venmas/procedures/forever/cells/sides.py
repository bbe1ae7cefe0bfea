"""Sides of a question on cells, the property and its negation, in core form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from venmas.checker.forever.cells import Cells, Settled
from venmas.checker.forever.rules import settled
from venmas.checker.forever.sequents import INIT, Sequent, normal, normals
from venmas.logic import (
    AX,
    EX,
    FALSE,
    TRUE,
    And,
    Atom,
    Buchi,
    CoBuchi,
    Fixpoint,
    Formula,
    Not,
    Or,
    Top,
    conjunction,
    disjunction,
    subformulas,
)
from venmas.logic.printing import to_text


@dataclass(frozen=True)
class Side:
    """The property or its negation: its text, its core form, and the rule that shows it; None where none does."""

    text: str
    core: Formula
    rule: type[Cells] | None = Cells

    @classmethod
    def of(cls, formula: Formula) -> Side:
        """Of a formula."""
        return cls(to_text(formula), Sequent.of(INIT, formula).formula)

    @classmethod
    def bounded(cls, core: Formula) -> tuple[Side, Side]:
        """A bounded formula in core form, and its negation, which is not to be shown."""
        holds = cls(to_text(core), normal(core))
        return holds, cls("", normal(dual(holds.core)), None)

    @classmethod
    def settled(cls, holds: Formula) -> Side:
        """That all runs have what holds of single states from some step on."""
        return cls(to_text(holds), settled(INIT, holds).formula, Settled)


def sides(formula: Formula, negation: Formula | None = None) -> tuple[Side, Side]:
    """A property and its negation, or what else is to show that."""
    return Side.of(formula), Side.of(Not(formula) if negation is None else negation)


def duals(core: Formula) -> dict[Formula, Formula]:
    """The normal forms of the negations of all parts of a core formula."""
    raw = _raw(core)
    known = normals(raw[core])
    return {node: known.get(other, other) for node, other in raw.items()}


def dual(core: Formula) -> Formula:
    """The core form of the negation of a core formula."""
    return _raw(core)[core]


def _raw(core: Formula) -> dict[Formula, Formula]:
    """The negations of all parts, as they come."""
    raw: dict[Formula, Formula] = {}
    for node in subformulas(core):
        raw[node] = _dual(node, raw)
    return raw


def _dual(node: Formula, known: Mapping[Formula, Formula]) -> Formula:
    """The core form of the negation of a core formula, of whose parts it is known."""
    match node:
        case Atom(comparison):
            return Atom(comparison.negated)
        case And(parts):
            return disjunction(known[part] for part in parts)
        case Or(parts):
            return conjunction(known[part] for part in parts)
        case AX(inner):
            return EX(known[inner])
        case EX(inner):
            return AX(known[inner])
        case CoBuchi(inner):
            return Buchi(known[inner])
        case Fixpoint(least, quantifier, left, right):
            return Fixpoint(not least, quantifier.dual, known[left], known[right])
    return FALSE if isinstance(node, Top) else TRUE
