"""The nodes that the core form of properties without a bound has besides those of formulas; no text states them."""

from __future__ import annotations

from dataclasses import dataclass

from venmas.logic.formula import Formula, Quantifier


@dataclass(frozen=True, eq=False, repr=False)
class Fixpoint(Formula):
    """A fixpoint of one step, of the core form of properties without a bound.

    The least Z with ``Z = right | (left & QX Z)``, or the greatest with ``Z = right & (left | QX Z)``.
    """

    least: bool
    quantifier: Quantifier
    left: Formula
    right: Formula

    def _horizon(self) -> int | None:
        return None


@dataclass(frozen=True, eq=False, repr=False)
class CoBuchi(Formula):
    """``A F G p``: each infinite run has p at all steps from some one on.

    The least Z with ``Z = greatest Y with Y = (p & AX Y) | AX Z``.
    """

    operand: Formula

    def _horizon(self) -> int | None:
        return None


@dataclass(frozen=True, eq=False, repr=False)
class Buchi(Formula):
    """``E G F p``: some infinite run has p again and again.

    The greatest Z with ``Z = least Y with Y = (p & EX Z) | EX Y``.
    """

    operand: Formula

    def _horizon(self) -> int | None:
        return None
