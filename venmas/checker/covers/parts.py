"""Parts of a loop: some of its variables, for which whatever else they read is noise within the ranges shown for it.

A part has more runs than the loop: in each step the others may have any value of their ranges. What all states of a
part satisfy, those of the loop do, as long as the others are in these ranges; that is shown by grids before, of all
steps that the grid of the part looks at. Branches have their guards, so that a part takes all that the loop takes.
Assume-guarantee reasoning (Pnueli, 1985) along the order in which variables read each other.

A part may have variables of parts before again, which keep to the ranges that are known. What a step changes them by is
noise then, within what was shown of that: a car behind another one meets bounded speeds and bounded accelerations, and
not any speed in any step. Overlapping decompositions (Ikeda, Siljak, 1980).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from venmas.checker.covers.grid import Axes
from venmas.checker.exact.initial import Box, initial_box
from venmas.checker.format.rule import Rule, rule
from venmas.model.expressions.expr import Condition, Drawn, Expr, Variable
from venmas.model.expressions.functions import clip
from venmas.model.expressions.limits import MAX_NUMBER
from venmas.model.expressions.walk import walk
from venmas.model.system.initial import InitialSet
from venmas.model.system.parts import Branch
from venmas.model.system.system import System
from venmas.model.system.variables import Region, VariableDecl

Ranges = Mapping[str, tuple[Fraction, Fraction]]
_ANY = Fraction(-MAX_NUMBER), Fraction(MAX_NUMBER)


@rule("part")
@dataclass(frozen=True, slots=True)
class Part(Rule):
    """The variables that the next grid covers; what these read besides is noise within what grids before it show, and
    what those change by which grids before it cover."""

    names: tuple[str, ...]


class Hull:
    """The ranges of some variables in all sets of states that are looked at."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = dict(ranges)

    def add(self, name: str, low: int, high: int, bits: int) -> None:
        """Include values between multiples of 2^-bits."""
        self._includes(name, Fraction(low, 1 << bits), Fraction(high, 1 << bits))

    def joins(self, other: Hull) -> None:
        """Include all that another one has."""
        for name, ends in other.ranges.items():
            self._includes(name, *ends)

    def _includes(self, name: str, low: Fraction, high: Fraction) -> None:
        least, most = self.ranges.get(name, (low, high))
        self.ranges[name] = min(least, low), max(most, high)


def change(name: str) -> str:
    """The variable of a part that is what a step changes another one by."""
    return f"change of {name}"


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

    def part(self, names: Sequence[str], known: Ranges) -> Axes:
        """The loop of some variables. known: ranges of others, and of changes of those that it has again.

        Raises `ValueError` where these are too few.
        """
        system, own = self.system, frozenset(names)
        if not own or len(own) < len(names) or not own <= self.moved:
            raise ValueError("expected a part of some variables that change, each once")
        if strange := sorted({*map(change, own)} & system.variables.keys()):
            raise ValueError(f"{strange[0]} is a variable")
        again, nodes = own & known.keys(), dict(system.nodes_by_name)
        noise = self.read_by(own - again) - own - self.alone - {*system.disturbances} | {*map(change, again)}
        if missing := sorted(n for n in noise if n not in known or (n in nodes and system.variables[n].integral)):
            raise ValueError(f"it reads {', '.join(missing)}, of which no range is known")
        shown = sorted((own - again) & self.read_by(self.moved - own))
        kept, made = own | self.alone | {*system.disturbances}, System(system.name)
        for name in (*system.variables, *sorted(map(change, again)), *map(change, shown)):
            if name in kept:
                made.variables[name] = system.variables[name]
            elif name in noise or name not in nodes:
                made.variables[name] = VariableDecl(name, *known.get(name, _ANY))
        nodes |= {name: Variable(name, False) for name in made.variables.keys() - nodes.keys()}
        made.nodes_by_name = {name: nodes[name] for name in made.variables}
        made.disturbances = (*system.disturbances, *sorted(noise))
        for branch in system.branches:
            after = {n: e for n, e in branch.updates if n in own}
            after |= {n: clip(nodes[n] + nodes[change(n)], *known[n]) for n in again}
            after |= {change(n): after.get(n, nodes[n]) - nodes[n] for n in shown}
            made.branches.append(Branch(branch.name, tuple(after.items()), branch.guard))
        made.initial_set = InitialSet(system.name, made.variables)
        made.initial_set.regions = [
            tuple(row for row in region if kept.issuperset(row.expr.coefficients)) for region in self._regions
        ]
        return Axes(made, [change(name) for name in shown])


def _variables(roots: Iterable[Expr | Condition]) -> frozenset[str]:
    return frozenset(node.name for node in walk(roots) if isinstance(node, Variable))
