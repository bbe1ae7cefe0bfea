"""Parts of a loop: some of its variables, for which whatever else they read is noise within the ranges shown for it.

A part has more runs than the loop: in each step the others may have any value of their ranges. What all states of a
part satisfy, those of the loop do, as long as the others are in these ranges; that is shown by grids before, of all
steps that the grid of the part looks at. Branches have their guards, so that a part takes all that the loop takes.
Assume-guarantee reasoning (Pnueli, 1985) along the order in which variables read each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from venmas.checker.exact.initial import Box, initial_box
from venmas.checker.format.rule import Rule, rule
from venmas.model.expressions.expr import Condition, Drawn, Expr, Variable
from venmas.model.expressions.walk import walk
from venmas.model.system.initial import InitialSet
from venmas.model.system.parts import Branch
from venmas.model.system.system import System
from venmas.model.system.variables import Region

Ranges = Mapping[str, tuple[Fraction, Fraction]]


@rule("part")
@dataclass(frozen=True, slots=True)
class Part(Rule):
    """The variables that the next grid covers; what these read besides is noise within what grids before it show."""

    names: tuple[str, ...]


class Hull:
    """The ranges of some variables in all sets of states that are looked at."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = dict(ranges)

    def add(self, name: str, low: int, high: int, bits: int) -> None:
        """Include values between multiples of 2^-bits."""
        least, most = self.ranges[name]
        self.ranges[name] = min(least, Fraction(low, 1 << bits)), max(most, Fraction(high, 1 << bits))


def starts(system: System) -> dict[str, tuple[Fraction, Fraction]]:
    """The ranges of variables in initial states; none where there are no such states."""
    return _around(system, [box for _, box in _started(system)])


def _started(system: System) -> list[tuple[Region, Box]]:
    """The initial sets that are not empty, with the boxes around them."""
    return [(region, box) for region in system.regions if (box := initial_box(system, region)) is not None]


def _around(system: System, boxes: Sequence[Box]) -> dict[str, tuple[Fraction, Fraction]]:
    sides = zip(*boxes, strict=True)
    return {
        name: (min(low for low, _ in side), max(high for _, high in side))
        for name, side in zip(system.variables, sides, strict=False)
    }


class Loop:
    """A system, to be taken in parts.

    moved: the variables that branches change, other than noise. unmoved: the ranges of those that none changes; alone:
    those of them with one value. guards: the variables that guards read.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.moved = frozenset(n for b in system.branches for n, e in b.updates if not isinstance(e, Drawn))
        started, others = _started(system), system.variables.keys() - self.moved - {*system.disturbances}
        self.unmoved = {n: r for n, r in _around(system, [box for _, box in started]).items() if n in others}
        self.alone = frozenset(name for name, (low, high) in self.unmoved.items() if low == high)
        self.guards = _variables(b.guard for b in system.branches)
        self._regions = [region for region, _ in started]

    def read_by(self, names: Collection[str]) -> frozenset[str]:
        """The variables that guards read, and those that new values of `names` depend on at once."""
        return self.guards | _variables(e for b in self.system.branches for n, e in b.updates if n in names)

    def part(self, names: Sequence[str], known: Ranges) -> System:
        """The loop of some variables. known: ranges of others. Raises `ValueError` where these are too few."""
        system, own = self.system, frozenset(names)
        if not own or len(own) < len(names) or not own <= self.moved:
            raise ValueError("expected a part of some variables that change, each once")
        others = self.read_by(own) - own - self.alone - {*system.disturbances}
        if missing := sorted(n for n in others if n not in known or system.variables[n].integral):
            raise ValueError(f"it reads {', '.join(missing)}, of which no range is known")
        kept = own | self.alone
        made = System(system.name)
        for name, decl in system.variables.items():
            if name in kept or name in system.disturbances:
                made.variables[name] = decl
            elif name in others:
                made.variables[name] = replace(decl, lower=known[name][0], upper=known[name][1])
        made.nodes_by_name = {name: system.nodes_by_name[name] for name in made.variables}
        made.disturbances = (*system.disturbances, *sorted(others))
        made.branches = [Branch(b.name, tuple(u for u in b.updates if u[0] in own), b.guard) for b in system.branches]
        made.initial_set = InitialSet(system.name, made.variables)
        made.initial_set.regions = [
            tuple(row for row in region if kept.issuperset(row.expr.coefficients)) for region in self._regions
        ]
        return made


def _variables(roots: Iterable[Expr | Condition]) -> frozenset[str]:
    return frozenset(node.name for node in walk(roots) if isinstance(node, Variable))
