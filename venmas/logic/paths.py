"""Formulas of linear temporal logic (LTL): what is said of one infinite run.

The core is small: `Proposition`, `Atom` and the connectives of `logic.formula`, with `X`, `U` and `R`. The other
operators are functions that build it. Runs do not end: what a deadlock means is said where runs are made (design L2).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from venmas.logic.formula import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    Implies,
    conjunction,
    disjunction,
    subformulas,
)


@dataclass(frozen=True, eq=False, repr=False)
class Proposition(Formula):
    """A name that is true or false at each step; what it stands for is up to the system."""

    name: str


@dataclass(frozen=True, eq=False, repr=False)
class _Path(Formula):
    def _horizon(self) -> int | None:
        return None


@dataclass(frozen=True, eq=False, repr=False)
class X(_Path):
    """``X p``: p at the next step."""

    operand: Formula


@dataclass(frozen=True, eq=False, repr=False)
class U(_Path):
    """``p U q``: q at some step, the present included, and p at every step before it."""

    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, repr=False)
class R(_Path):
    """``p R q``: q at every step up to and with the first one that has p, for ever where none has."""

    left: Formula
    right: Formula


Leaf: TypeAlias = Proposition | Atom
"""What a letter says true or false of: a name, or a linear comparison of integers. Leaves are interned and hashable."""


def finally_(operand: Formula) -> Formula:
    """``F p``: at some step, the present included."""
    return U(TRUE, operand)


def globally(operand: Formula) -> Formula:
    """``G p``: at every step, the present included."""
    return R(FALSE, operand)


def weak_until(left: Formula, right: Formula) -> Formula:
    """``p W q``: ``p U q``, or p for ever."""
    return R(right, disjunction((left, right)))


def strong_release(left: Formula, right: Formula) -> Formula:
    """``p M q``: ``p R q``, and p at some step."""
    return U(right, conjunction((left, right)))


def leaves(formula: Formula) -> tuple[Leaf, ...]:
    """The names and comparisons that occur, in the order of the formula."""
    return tuple(node for node in subformulas(formula) if isinstance(node, Proposition | Atom))


def questioned(formula: Formula, fair: Iterable[Formula]) -> Formula:
    """What is asked of every run: the formula, of those that meet each condition of fairness again and again."""
    assumed = conjunction([globally(finally_(one)) for one in fair])
    return formula if assumed == TRUE else Implies(assumed, formula)
