"""The texts of a claim about the runs of a system: formulas of LTL over its states and branches."""

from __future__ import annotations

from dataclasses import replace

from venmas.logic.formula import Formula
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import Proposition
from venmas.model.system.system import System

_BRANCH = "branch "


def read_formula(system: System, text: str) -> Formula:
    """A formula of LTL over a system, and the conditions ``"branch NAME"``. Raises `FormulaError`."""
    known = system.vocabulary
    branches = {_BRANCH + one.name: Proposition(_BRANCH + one.name) for one in system.branches}
    return parse_ltl(text, replace(known, propositions={**known.propositions, **branches}))


def branch_of(system: System, name: str) -> int | None:
    """The index of the branch that a condition is about; None for one about a state."""
    indices = (i for i, one in enumerate(system.branches) if _BRANCH + one.name == name)
    return next(indices, None)
