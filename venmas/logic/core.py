"""The nodes that the core form of properties without a bound has besides those of formulas; no text states them."""

from __future__ import annotations

from dataclasses import dataclass

from venmas.logic.formula import Formula, Quantifier


class Endless(Formula):
    """A node that looks ahead without a bound."""

    def _horizon(self) -> int | None:
        return None


@dataclass(frozen=True, eq=False, repr=False)
class Fixpoint(Endless):
    """A fixpoint of one step, of the core form of properties without a bound.

    The least Z with ``Z = right | (left & QX Z)``, or the greatest with ``Z = right & (left | QX Z)``.
    """

    least: bool
    quantifier: Quantifier
    left: Formula
    right: Formula


@dataclass(frozen=True, eq=False, repr=False)
class CoBuchi(Endless):
    """``A F G p``: each infinite run has p at all steps from some one on.

    The least Z with ``Z = greatest Y with Y = (p & AX Y) | AX Z``.
    """

    operand: Formula


@dataclass(frozen=True, eq=False, repr=False)
class Buchi(Endless):
    """``E G F p``: some infinite run has p again and again.

    The greatest Z with ``Z = least Y with Y = (p & EX Z) | EX Y``.
    """

    operand: Formula
