"""Letters of a system's runs: what formulas of LTL read of a step (design L2).

A letter says of a step which conditions hold in its state, and which branch it takes: the proposition ``branch NAME``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from venmas.logic.formula import Atom
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.paths import Leaf, Proposition
from venmas.logic.vocabulary import Vocabulary
from venmas.model.system.system import System


def branch_name(name: str) -> str:
    """The proposition that a step takes the branch of this name; in a formula in double quotes."""
    return f"branch {name}"


def letters_of(system: System) -> Vocabulary:
    """The names of a system's formulas of LTL: its variables, propositions and branches."""
    known = system.vocabulary
    branches = {branch_name(one.name): Proposition(branch_name(one.name)) for one in system.branches}
    return replace(known, propositions={**known.propositions, **branches})


def condition(leaf: Leaf) -> Atom | None:
    """A condition about a state as a comparison; None for one about the branch that is taken."""
    if isinstance(leaf, Atom):
        return leaf
    if leaf.name.startswith(branch_name("")):
        return None
    return Atom(Comparison(LinearExpr.variable(leaf.name) - LinearExpr((), Fraction(1)), Relation.GE))  # a Boolean one


def holds_in(leaf: Leaf, state: Mapping[str, Fraction], branch: str) -> bool:
    """Is a condition true of the step that takes this branch in a state?"""
    if (atom := condition(leaf)) is not None:
        return atom.comparison.holds(state)
    assert isinstance(leaf, Proposition)
    return leaf.name == branch_name(branch)
