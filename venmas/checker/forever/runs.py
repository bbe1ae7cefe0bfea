"""Check of a proof about all runs of a system, of LTL: a formula of CTL that shows it, or a product with an automaton.

A derivation of the formula in `linear`, on its own; or, where an automaton of the runs that break the property comes
first, two derivations, each with its own end: that each run goes on (AG EX true, `goes_on`), and that those of the
product with the automaton (`product`) are not accepted, where it has an edge at all.
"""

from __future__ import annotations

from venmas.checker.forever.check import check_core
from venmas.checker.forever.linear import demanded, goes_on
from venmas.checker.forever.product import product
from venmas.checker.format.about import About
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.goals.check import Checked
from venmas.checker.levels.check import Runs
from venmas.checker.levels.claim import read_formula
from venmas.checker.netlists.rules import Automaton
from venmas.logic import FALSE, CoBuchi, fixpoints


def proved(about: About, lines: Lines) -> Checked:
    """Check a proof of the kind forever-ltl. Raises `CheckError`."""
    claim, system = about.claim, about.system
    if system.quantities:
        raise CheckError(0, "the system has quantities, which its first step measures")
    if (automaton := lines.take(Automaton)) is not None:
        return _product(about, automaton, lines)
    formula, *_ = (read_formula(system, text) for text in (claim.formula, *claim.fair))
    # of all runs, so also of those that are meant: nothing is said of fairness
    system, shown = demanded(system, formula, claim.deadlock)
    if shown is FALSE:
        raise CheckError(0, "no form of branching time shows the formula, or noise decides about successors")
    return check_core(system, fixpoints(shown), lines, claim.semantics, about.exchange)


def _product(about: About, automaton: Automaton, lines: Lines) -> Checked:
    with lines.refusing():
        claim = about.claim
        runs = Runs.of(automaton, about.system, claim, lines)
        system, on = goes_on(about.system, claim.deadlock)
        if on is FALSE:
            raise lines.refused("noise decides about successors")
        derived = [(system, fixpoints(on))]
        if runs.edges:  # else nothing is accepted
            made, rejecting = product(system, runs)
            derived.append((made, CoBuchi(rejecting)))
        done = Checked()
        for about_, core in derived:
            with lines.part() as part:
                done.add(check_core(about_, core, part, claim.semantics))
        lines.end()
        done.lines = lines.number
        return done
