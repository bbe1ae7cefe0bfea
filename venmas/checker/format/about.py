"""A claim about a system, as checks of proofs take it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Line
from venmas.checker.format.numbers import CheckError
from venmas.logic import Always, Formula, parse, parse_property
from venmas.model.system.disturbances import Noise
from venmas.model.system.system import System


@dataclass(frozen=True)
class Claimed:
    """A bounded claim of a derivation: all initial states of a system satisfy a formula, and no run leaves its box.

    number: of its sequent.
    """

    number: int
    system: System
    formula: Formula
    chosen: Noise


Exchange: TypeAlias = Callable[[Claimed, str, list[Line]], Iterator[tuple[str, list[Line]]]]
"""Proofs, by kind and lines, that may stand for that of a bounded claim of a derivation, whose kind and lines it is
given: each is checked in turn until one is accepted."""


@dataclass(frozen=True)
class About:
    """A claim about a system, as the header has both, and the noise that may be chosen.

    exchange: none where a file is checked.
    """

    claim: Claim
    system: System
    chosen: Noise
    exchange: Exchange | None = None

    @property
    def bounded(self) -> Formula:
        """The formula of a bounded property. Raises `FormulaError`."""
        return parse(self.claim.formula, self.system.vocabulary)

    @property
    def branching(self) -> Formula:
        """The formula of a property of CTL, of the kind that is claimed. Raises `CheckError`, `FormulaError`."""
        asked = parse_property(self.claim.formula, self.system.vocabulary)
        if asked.kind != self.claim.kind:
            raise CheckError(0, f"the formula is {asked.kind}, and is claimed to be {self.claim.kind}")
        return asked.formula

    @property
    def invariant(self) -> Formula:
        """What holds in every state, of a property that says so. Raises `CheckError`."""
        asked = parse_property(self.claim.formula, self.system.vocabulary)
        if not isinstance(asked, Always):
            raise CheckError(0, "an always property is AG p without a bound, p being about one state")
        return asked.invariant
