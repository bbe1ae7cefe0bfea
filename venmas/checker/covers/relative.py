"""Relative variables: the difference of two variables in the place of one of them, as of a car to the one ahead.

Of a row of cars of which each sees the gap to the one ahead and how its speed differs, no part reads a speed but by
these differences: in these the second car is a loop of its own, which the first one disturbs by what it does, not by
how fast it is. With whatever speed the first one may have in each step, in the range of all its speeds, it would be
hunted to and fro by jumps that no car makes.

The map between both kinds of states is linear and one to one, so that the runs are the same; initial sets are boxes in
the new variables around the boxes of the old ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from venmas.checker.exact.initial import initial_box
from venmas.checker.format.rule import Rule, rule
from venmas.errors import ModelError
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.expressions.expr import Drawn, Expr, Variable, add, scale
from venmas.model.expressions.simplify import Simplifier
from venmas.model.system.initial import InitialSet
from venmas.model.system.parts import Branch
from venmas.model.system.system import System
from venmas.model.system.variables import Region

Ends = tuple[Fraction, Fraction]
Ranges = Mapping[str, Ends]


class Seen(NamedTuple):
    """A variable, and the one that it is seen from."""

    name: str
    by: str

    @property
    def difference(self) -> str:
        """The name of the variable that takes its place."""
        return f"{self.by} - {self.name}"


@rule("relative")
@dataclass(frozen=True, slots=True)
class Relative(Rule):
    """The variables in whose place the parts that follow have how far they are below another one."""

    seen: tuple[Seen, ...]


def relative(system: System, seen: tuple[Seen, ...]) -> System:
    """The loop with relative variables. Raises `ValueError` where these are no reals that change, each once, or two
    are seen from each other, or a flow reads one."""
    by = dict(seen)
    moved = {name for branch in system.branches for name, _ in branch.updates} - {*system.disturbances}
    if len(by) < len(seen) or not {*by, *by.values()} <= {n for n in moved if not system.variables[n].integral}:
        raise ValueError("expected differences of real variables that change, in the place of one each")
    if strange := {one.difference for one in seen} & system.variables.keys():
        raise ValueError(f"{min(strange)} is a variable")
    made, nodes = System(system.name), dict[str, Expr]()
    for name, decl in system.variables.items():
        if name in by:
            other, new = system.variables[by[name]], Seen(name, by[name]).difference
            made.variables[new] = replace(decl, name=new, lower=other.lower - decl.upper, upper=other.upper - decl.lower)
            nodes[new] = Variable(new, False)
        else:
            made.variables[name], nodes[name] = decl, system.nodes_by_name[name]
    made.nodes_by_name, made.disturbances = nodes, system.disturbances
    terms = {name: _terms(name, by) for name in by}
    inside = Simplifier({name: add(*(scale(nodes[n], c) for n, c in of.items())) for name, of in terms.items()}, folds=False)
    try:
        for branch in system.branches:
            after = dict(branch.updates)
            updates = [(n, e if isinstance(e, Drawn) else inside.expr(e)) for n, e in after.items() if n not in by]
            for one in seen:
                new, old = (after.get(n, system.nodes_by_name[n]) for n in (one.by, one.name))
                updates.append((one.difference, inside.expr(new - old)))
            made.branches.append(Branch(branch.name, tuple(updates), inside.condition(branch.guard)))
    except ModelError as error:
        raise ValueError(str(error)) from error
    made.initial_set = InitialSet(system.name, made.variables)
    made.initial_set.regions = [region for old in system.regions if (region := _region(system, old, by)) is not None]
    return made


def spans(ranges: Ranges, seen: tuple[Seen, ...]) -> dict[str, Ends | None]:
    """The ranges of what relative variables took the place of, None where those of some variable are not known."""
    by, made = dict(seen), dict[str, Ends | None]()
    for name in by:
        terms = _terms(name, by)
        known = [ranges.get(n) for n in terms]
        ends = [e if c > 0 else (-e[1], -e[0]) for c, e in zip(terms.values(), known, strict=True) if e is not None]
        made[name] = (sum(e[0] for e in ends), sum(e[1] for e in ends)) if len(ends) == len(terms) else None
    return made


def _terms(name: str, by: Mapping[str, str]) -> dict[str, Fraction]:
    """A variable as the last one that it is seen from, less the differences on the way."""
    terms = dict[str, Fraction]()
    while name in by:
        new = Seen(name, by[name]).difference
        if new in terms:
            raise ValueError(f"{name} is seen from itself")
        terms[new], name = Fraction(-1), by[name]
    return {name: Fraction(1), **terms}


def _region(system: System, region: Region, by: Mapping[str, str]) -> Region | None:
    """An initial set in relative variables; None where there are no such states."""
    if (box := initial_box(system, region)) is None:
        return None
    ends = dict(zip(system.variables, box, strict=True))
    rows = [row for row in region if not row.expr.coefficients.keys() & by.keys()]
    for name, other in by.items():
        new, (low, high), (least, most) = Seen(name, other).difference, ends[other], ends[name]
        rows.append(Comparison(LinearExpr.of({new: Fraction(1)}, most - low), Relation.GE))
        rows.append(Comparison(LinearExpr.of({new: Fraction(1)}, least - high), Relation.LE))
    return tuple(rows)
