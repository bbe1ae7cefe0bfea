"""Formulas to automata: rewriting, tableau, reduction."""

from __future__ import annotations

from collections.abc import Iterable

from venmas.logic.automata.automaton import Automaton
from venmas.logic.automata.effort import Effort
from venmas.logic.automata.reduce import reduced
from venmas.logic.automata.rewrite import core
from venmas.logic.automata.tableau import tableau
from venmas.logic.formula import Formula, Not, conjunction
from venmas.logic.paths import finally_, globally


def automaton_of(formula: Formula) -> Automaton:
    """The automaton that accepts the words that satisfy a formula; the same on every machine.

    Raises `FormulaError` where it takes more steps or states than translations may.
    """
    effort = Effort()
    return reduced(tableau(core(formula, effort=effort), effort), effort)


def refuting(formula: Formula, fair: Iterable[Formula] = ()) -> Automaton:
    """The automaton of the runs that break a property: of its negation, where each of `fair` holds again and again.

    That no run of a system is accepted is what a proof shows (L5 of docs/semantics.md). Raises as `automaton_of`.
    """
    return automaton_of(conjunction([Not(formula), *(globally(finally_(one)) for one in fair)]))
