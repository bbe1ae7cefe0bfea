"""Disturbances: bounded noise of plants and sensors, of which every step has a value of its own (design S4).

A question about k steps reads k values of a disturbance. So its system with disturbances is one without them, in which
the values are part of the initial state, ``w`` for the first step and ``w@1``, ``w@2``, .. for later ones, and every
step shifts them on by one:

    w' = w@1,  w@1' = w@2,  ..

A run of k steps from a state of it is one of the system with noise, and conversely. What a formula says of single runs
is thus the same of both, and no interpreter, bound, encoding or certificate rule knows of noise. What a formula says of
several runs from one state is not: there they share their noise (`venmas.question.drawn_for` refuses it). That noise
can bring something about follows from single runs all the same (`venmas.question.chosen_for`), and from runs with a few
values of it (`fixed`).

The expression `Drawn`, the new value of a disturbance in the system as it was written, is known to none of them either,
so none takes a disturbance for a constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from venmas.errors import ModelError
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.expressions.expr import Condition, Drawn, Expr, Variable
from venmas.model.expressions.limits import MAX_BRANCHES, MAX_VARIABLES, check_count
from venmas.model.expressions.simplify import Simplifier
from venmas.model.expressions.walk import walk
from venmas.model.system.initial import InitialSet
from venmas.model.system.memo import Memo
from venmas.model.system.parts import Branch

if TYPE_CHECKING:
    from venmas.model.system.system import System

AHEAD = "@"
"""What stands between the name of a disturbance and the number of steps until its value is used; in no other name."""


Noise: TypeAlias = Mapping[str, tuple[Fraction, Fraction]]
"""Variables of a `drawn` system that are values of disturbances, with their ranges."""
NO_NOISE: Noise = MappingProxyType({})


def ahead(name: str) -> bool:
    """Is it the name of a value that a later step uses? Tables leave them out."""
    return AHEAD in name


def disturbance_of(name: str) -> str:
    """The disturbance that a variable has a value of, if it has one of any."""
    return name.partition(AHEAD)[0]


def drawn(system: System, steps: int) -> System:
    """The system with the noise of so many steps (at least one) in its initial states; itself where there is none.

    Raises `ModelError` where that is too many variables.
    """
    if not system.disturbances:
        return system
    return system.once(("drawn", steps), lambda: _drawn(system, max(1, steps)))


def _drawn(system: System, steps: int) -> System:
    count = len(system.variables) + (steps - 1) * len(system.disturbances)
    check_count(
        count, MAX_VARIABLES, f"variables and values of disturbances in {steps} steps of system {system.name!r}"
    )
    made = copy(system)
    made._memo, made.disturbances = Memo(), ()
    made.variables, made.nodes_by_name = dict(system.variables), dict(system.nodes_by_name)
    made.__dict__.pop("domains", None)
    shifts: list[tuple[str, Expr]] = []
    ranges: list[Comparison] = []
    for name in system.disturbances:
        names = [name, *(f"{name}{AHEAD}{i}" for i in range(1, steps))]
        for each in names:  # in a wider box, so that no rounding makes a value at an end of the range leave it
            decl = system.variables[name]
            made.variables[each] = replace(decl, name=each, lower=decl.lower - 1, upper=decl.upper + 1)
            made.nodes_by_name.setdefault(each, Variable(each, False))
            ranges += (_compared(each, Relation.GE, decl.lower), _compared(each, Relation.LE, decl.upper))
        shifts += [(this, made.nodes_by_name[later]) for this, later in pairwise(names)]
    made.branches = [
        Branch(b.name, (*(u for u in b.updates if not isinstance(u[1], Drawn)), *shifts), b.guard)
        for b in system.branches
    ]
    made.initial_set = InitialSet(system.name, made.variables)
    made.initial_set.regions = [(*region, *ranges) for region in system.initial_set.regions]
    made.initial_set.condition = system.initial_set.condition
    return made


def at_once(made: System) -> System:
    """A `drawn` system without the noise of later steps: whoever runs it sets that of each step."""
    return made.once("at once", lambda: _at_once(made))


def _at_once(made: System) -> System:
    noise = {disturbance_of(name) for name in made.variables if ahead(name)}
    if not noise:
        return made
    found = copy(made)
    found._memo = Memo()
    found.__dict__.pop("domains", None)
    found.variables = {n: decl for n, decl in made.variables.items() if not ahead(n)}
    found.branches = [
        Branch(b.name, tuple(u for u in b.updates if disturbance_of(u[0]) not in noise), b.guard) for b in made.branches
    ]
    return found


def fixed(system: System, choices: Sequence[Sequence[Fraction]]) -> System:
    """The system without disturbances that has each branch once with each choice: their values, in their order.

    Its runs are some of those of the system with noise, so that what one of them brings about, noise can bring about.
    Raises `ModelError` for what is no choice.
    """
    decls = [system.variables[name] for name in system.disturbances]
    for values in choices:
        if len(values) != len(decls) or not all(d.lower <= v <= d.upper for d, v in zip(decls, values, strict=True)):
            raise ModelError(f"a choice of noise is a value in its range of each of {', '.join(system.disturbances)}")
    made = copy(system)
    made._memo, made.disturbances = Memo(), ()
    made.__dict__.pop("domains", None)
    made.variables = {n: decl for n, decl in system.variables.items() if n not in system.disturbances}
    made.nodes_by_name = {n: node for n, node in system.nodes_by_name.items() if n not in system.disturbances}
    check_count(len(choices) * len(system.branches), MAX_BRANCHES, f"branches of system {system.name!r} with choices")
    made.branches, made.agents = [], []  # an action may be another one under each choice
    for at, values in enumerate(choices):
        put = Simplifier(dict(zip(system.disturbances, values, strict=True)), folds=False)
        for branch in system.branches:
            updates = tuple((n, put.expr(e)) for n, e in branch.updates if n not in system.disturbances)
            made.branches.append(Branch(f"{branch.name}{AHEAD}{at}", updates, put.condition(branch.guard)))
    regions = system.initial_set.regions
    made.initial_set = InitialSet(system.name, made.variables)
    made.initial_set.regions = regions
    made.initial_set.condition = system.initial_set.condition
    return made


def noise_of(made: System) -> frozenset[str]:
    """The variables of a `drawn` system that hold noise, which no step takes out of its range."""
    return frozenset(n for n in made.variables if ahead(n) or f"{n}{AHEAD}1" in made.variables)


def ranges(system: System, made: System) -> Noise:
    """All noise of a `drawn` system: `made` of this one."""
    found = {name: system.variables.get(disturbance_of(name)) for name in made.variables}
    return {n: (d.lower, d.upper) for n, d in found.items() if d is not None and d.name in system.disturbances}


def _compared(name: str, relation: Relation, end: Fraction) -> Comparison:
    return Comparison(LinearExpr.variable(name) - LinearExpr((), end), relation)


def check_undisturbed(system: System, roots: Condition | Expr, what: str) -> None:
    """Refuse what speaks of states and names a disturbance, which is none of them. Raises `ModelError`."""
    for node in walk([roots] if system.disturbances else []):
        if isinstance(node, Variable) and node.name in system.disturbances:
            raise ModelError(
                f"{what} compares the disturbance {node.name!r}, which is chosen anew in each step and is no part of "
                "the state: compare a variable that a branch sets to it"
            )
