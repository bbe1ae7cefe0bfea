"""The product of a system with a Büchi automaton, a system again: runs of both side by side.

Its variables are those of the system, `state` of the automaton, and `set`: the acceptance set that is waited for, or
the number of sets where all of them were met since that was so last (degeneralisation: Gastin, Oddoux, CAV 2001). It
has a branch for each branch of the system, each edge of the automaton, and each value of `set`, the guard of which says
that the branch is open, the automaton is in the source of the edge and waits for that set, and the letter (the state
before the step, and the branch) meets the label of the edge.

A run of the system has the infinite run of an automaton beside it that accepts where `set` is at its end again and
again. Where the automaton accepts every run that breaks a property, the infinite runs of the system from initial states
all have the property if those of the product all have `set` elsewhere in the end: A F G !accepted (Vardi, Wolper, LICS
1986). Runs of the product that end say nothing.
"""

from __future__ import annotations

from copy import copy
from fractions import Fraction

from venmas.checker.levels.check import Runs
from venmas.checker.levels.ranks import Obligations
from venmas.errors import InputError
from venmas.logic import FALSE, Atom, Formula
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.expressions.conditions import conjunction
from venmas.model.expressions.expr import Constant, Expr
from venmas.model.system.initial import InitialSet
from venmas.model.system.memo import Memo
from venmas.model.system.parts import Branch
from venmas.model.system.system import System

_MOST_BRANCHES = 2000


def product(system: System, runs: Runs) -> tuple[System, Formula]:
    """The product, and what its runs have to have from some step on: that no round of acceptance sets is complete.

    Raises `InputError` where it has too many branches.
    """
    if len(system.branches) * len(runs.edges) * (runs.marks + 1) > _MOST_BRANCHES:
        raise InputError(f"the product with the automaton has more than {_MOST_BRANCHES} branches")
    made = copy(system)
    made._memo = Memo()
    made.__dict__.pop("domains", None)
    made.still = {}  # what has one value is that value, in a canonical form too
    made.variables = dict(system.variables)
    made.nodes_by_name = dict(system.nodes_by_name)
    state, waiting = (_fresh(name, system) for name in ("state", "set"))
    at = made.integer(state, 0, max(runs.states - 1, 1))
    level = made.integer(waiting, 0, max(runs.marks, 1))
    letters = Obligations(system, runs.atoms, runs.edges, False)
    made.branches = []
    for index, branch in enumerate(system.branches):
        for number, edge in enumerate(runs.edges):
            open_ = conjunction([branch.guard, at == edge.source, letters.label(edge, index, {})])
            for value in range(runs.marks + 1):
                after: list[tuple[str, Expr]] = [(state, Constant(Fraction(edge.target)))]
                after += [(waiting, Constant(Fraction(_next(value, edge.marks, runs.marks))))]
                guard = conjunction([open_, level == value])
                made.branches.append(Branch(f"{index} {number} {value}", (*branch.updates, *after), guard))
    made.initial_set = InitialSet(system.name, made.variables)
    begun = (_comparison(state, 0, Relation.EQ), _comparison(waiting, 0, Relation.EQ))
    made.initial_set.condition = system.initial_set.condition
    made.initial_set.regions = [(*region, *begun) for region in system.initial_set.regions]
    made.validate()
    return made, Atom(_comparison(waiting, runs.marks, Relation.LT)) if runs.marks else FALSE


def _next(waited: int, met: int, marks: int) -> int:
    """The set that is waited for after an edge in the sets `met`."""
    waited = 0 if waited == marks else waited
    while waited < marks and met >> waited & 1:
        waited += 1
    return waited


def _comparison(name: str, value: int, relation: Relation) -> Comparison:
    return Comparison(LinearExpr.variable(name) - LinearExpr((), Fraction(value)), relation)


def _fresh(name: str, system: System) -> str:
    taken = {*system.vocabulary.names, *system.vocabulary.others, *system.variables} - set(system.still)
    while name in taken:
        name += "_"
    return name
