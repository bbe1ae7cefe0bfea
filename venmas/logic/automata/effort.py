"""What a translation may cost: counted, not timed, so that a formula has one automaton on every machine."""

from __future__ import annotations

from venmas.budget import ask
from venmas.errors import FormulaError

MOST = 4_000_000
"""Elementary steps of a translation, a few seconds of them."""


class Effort:
    """A count of steps. `spend` raises `FormulaError` where there are more than `most`."""

    def __init__(self, most: int = MOST) -> None:
        self.left = self.most = most

    def spend(self, steps: int) -> None:
        """Count some steps."""
        ask()
        self.left -= steps
        if self.left < 0:
            raise FormulaError(
                f"the automaton of the formula takes more than {self.most} steps to build (its size may be exponential "
                "in that of the formula): ask its parts as formulas of their own, or name conditions in the system"
            )
