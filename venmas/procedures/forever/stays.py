"""Stays: initial states of which a formula is derived, for which no run is known that repeats."""

from __future__ import annotations

from venmas.answer import IncompleteError
from venmas.budget import Budget
from venmas.logic import Formula
from venmas.model.system.system import System
from venmas.model.witness.tree import Node, Witness
from venmas.procedures.forever.claims.asking import Asking
from venmas.procedures.forever.claims.proof import DerivationProof
from venmas.procedures.forever.derive import Deriving
from venmas.procedures.forever.sets import Sets, points


class Stays:
    """The states that are tried, each with sets of its own."""

    def __init__(self, asking: Asking, system: System, formula: Formula, budget: Budget) -> None:
        self._asking, self._formula = asking, formula
        self._points = [(one, Sets(asking, one.system, None, formula, budget)) for one in points(system)]

    def find(self, sets: Sets, budget: Budget) -> Witness | None:
        """A state with the lines of the derivation. sets: those of all initial states."""
        asking = self._asking
        for one, own in self._points:
            deriving = Deriving(asking, one.system, sets.closed, own.kept, budget, own.closed)
            found = deriving.derive("init", self._formula)
            if found is None:
                continue
            try:
                lines = [rule.to_json() for rule in DerivationProof(found, asking.sets).lines(None, budget)]
            except IncompleteError:
                continue
            asking.figures.proved = list(dict(deriving.told[-3:]).items())
            return Witness((Node(one.values),), stay=(*lines, {"rule": "end", "lines": len(lines) + 1}))
        return None
