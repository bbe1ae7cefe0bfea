"""The rule that takes initial sets in parts, so that each part has a proof of its own (docs/certificates.md)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from venmas.checker.format.fields import Count, Limit, Number
from venmas.checker.format.numbers import CheckError, read_number
from venmas.checker.format.rule import Rule, rule
from venmas.checker.goals.rule import Place
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.system.system import System
from venmas.model.system.variables import Region, VariableDecl

MAX_CUTS = 100_000
"""Most cuts of one certificate."""
MAX_DEEP = 100
"""Most cuts that a part may come from."""


@rule("divide")
@dataclass(frozen=True, slots=True)
class Divide(Rule):
    """Cuts of the initial sets, one after the other; what follows is about the parts, numbered anew.

    cuts: number of a set, number of a variable in the order of declaration, and where it is cut. The two parts take the
    place of the set; together they are all of it (`halves`).
    """

    cuts: Annotated[tuple[tuple[Count, Count, Number], ...], Limit(most=MAX_CUTS)]

    def apply(self, system: System, at: Place) -> System:
        """The system with the parts for initial sets. Raises `CheckError`."""
        variables, regions = tuple(system.variables.values()), list(system.regions)
        longest = max(map(len, regions), default=0) + MAX_DEEP
        for index, variable, where in self.cuts:
            decl = variables[at.index(variable, len(variables))]
            value = read_number(at.line, where)
            if decl.integral and value.denominator != 1:
                raise CheckError(at.line, f"{decl.name} is an integer, and is cut at {where[:40]}")
            place = at.index(index, len(regions))
            if len(regions[place]) >= longest:
                raise CheckError(at.line, f"a part comes from more than {MAX_DEEP} cuts")
            regions[place : place + 1] = halves(regions[place], decl, value)
        return system.with_regions(regions)


def halves(region: Region, decl: VariableDecl, where: Fraction) -> tuple[Region, Region]:
    """The parts of a region up to and from a value of a variable; of an integer, the second begins one above it."""
    value, step = LinearExpr.variable(decl.name), 1 if decl.integral else 0
    low = Comparison(value - LinearExpr((), where), Relation.LE)
    high = Comparison(value - LinearExpr((), where + step), Relation.GE)
    return (*region, low), (*region, high)
