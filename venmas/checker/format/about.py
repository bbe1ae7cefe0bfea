"""A claim about a system, as checks of proofs take it."""

from __future__ import annotations

from dataclasses import dataclass

from venmas.checker.format.header import Claim
from venmas.checker.format.numbers import CheckError
from venmas.logic import Always, Formula, parse, parse_property
from venmas.model.system.disturbances import Noise
from venmas.model.system.system import System


@dataclass(frozen=True)
class About:
    """A claim about a system, as the header has both, and the noise that may be chosen."""

    claim: Claim
    system: System
    chosen: Noise

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
