"""Check of a proof about all runs of a system, of LTL: the derivation of a formula of CTL that shows it."""

from __future__ import annotations

from venmas.checker.forever.check import check_core
from venmas.checker.forever.linear import demanded
from venmas.checker.format.about import About
from venmas.checker.format.lines import Checked, Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.levels.claim import read_formula
from venmas.logic import FALSE, fixpoints


def proved(about: About, lines: Lines) -> Checked:
    """Check a proof of the kind forever-ltl. Raises `CheckError`.

    Of all runs, so also of those that are meant: nothing is said of branches or of fairness.
    """
    claim, system = about.claim, about.system
    if system.quantities:
        raise CheckError(0, "the system has quantities, which its first step measures")
    formula, *_ = (read_formula(system, text) for text in (claim.formula, *claim.fair))
    system, shown = demanded(system, formula, claim.deadlock)
    if shown is FALSE:
        raise CheckError(0, "no form of branching time shows the formula, or noise decides about successors")
    return check_core(system, fixpoints(shown), lines, claim.semantics)
