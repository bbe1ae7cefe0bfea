"""The cone of influence: the part of a system that a property depends on, as a system of its own.

Variables of the property, of what decides their new values (guards and sources of their updates, networks included)
and of the initial sets' relations to them are kept, all others are projected away. What is said of the runs of the
part is said of those of the whole, as far as the property looks:

- an *exact* cone keeps whatever a guard reads, so that part and whole take the same branches: every property carries
  over, both ways;
- any other one is for "every reachable state": branches that change nothing kept are left out, and so are guards that
  read nothing but what their own branch updates (such as ``cost <= 9`` where ``cost`` grows, Clarke et al., *Model
  Checking*, 2018, section 13.2), with the same comparisons in other branches (other outcomes of one action, in which
  ``cost`` does not grow). That allows more runs: what all states of the part satisfy, those of the whole do.

A variable is left out only where its branches cannot take it out of its declared range (design S1): that is shown here
by exact intervals, else it is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction

from venmas.budget import ask
from venmas.logic import And, variables_of
from venmas.logic import conjunction as joined
from venmas.logic.linear import Comparison
from venmas.model.expressions.expr import (
    All,
    Compare,
    Condition,
    Constant,
    Expr,
    Maximum,
    Sum,
    Switch,
    Truth,
    Variable,
    Where,
    children,
    conjunction,
    to_comparison,
)
from venmas.model.system.initial import InitialSet
from venmas.model.system.propagation import propagate
from venmas.model.system.system import Branch, System
from venmas.model.system.variables import Box

_Ends = tuple[Fraction, Fraction]
_NOWHERE: _Ends = (Fraction(10**200), Fraction(-(10**200)))
"""Of no value at all: within every range."""
_DEEPEST = 4


def cones_of(system: System) -> Cones:
    """The cones of influence of a system, made once."""
    return system.once("cones", lambda: Cones(system))


class Cones:
    """The cones of influence of a system."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._read: dict[int, frozenset[str]] = {}
        first = system.initial_set
        # what is said of initial states, in parts that all hold, and the variables of each
        self._conditions = first.condition.operands if isinstance(first.condition, And) else (first.condition,)
        self._started = [frozenset(row.expr.coefficients) for region in first.regions for row in region]
        self._started += map(variables_of, self._conditions)
        self._guards = [list(_conjuncts(branch.guard)) for branch in system.branches]
        self._updates = [[(n, e) for n, e in b.updates if e is not system.nodes_by_name[n]] for b in system.branches]
        self._ranges = self._own_guards()
        self._known: dict[int, _Intervals] = {}
        self._stays = {name for name in system.variables if self._keeps_its_range(name)}

    def read(self, root: Expr | Condition) -> frozenset[str]:
        """The variables that a node reads."""
        stack = [root]
        while stack:
            ask()
            node = stack[-1]
            below = [c for c in children(node) if id(c) not in self._read]
            if below:
                stack.extend(below)
                continue
            stack.pop()
            own = [frozenset([node.name])] if isinstance(node, Variable) else []
            self._read[id(node)] = frozenset().union(*own, *(self._read[id(c)] for c in children(node)))
        return self._read[id(root)]

    def kept(self, wanted: Collection[str], exact: bool) -> frozenset[str]:
        """The variables that matter to those of `wanted`; a state has one at least."""
        kept, before = set(wanted) | (set(self.system.variables) - self._stays), -1
        kept = kept or {min(self.system.variables, key=lambda n: not self.system.variables[n].integral)}
        while len(kept) != before:
            before = len(kept)
            for guard, updates in zip(self._guards, self._updates, strict=True):
                changed = [(name, expr) for name, expr in updates if name in kept]
                for _, expr in changed:
                    kept |= self.read(expr)
                if exact or changed:
                    updated = {name for name, _ in updates}
                    for part in guard:
                        names = self.read(part)
                        own = names <= updated or (not names & kept and _row(part) in self._ranges)
                        if exact or not names or names & kept or not own:
                            kept |= names
            for names in self._started:
                kept |= names if names & kept else frozenset()
        return frozenset(kept)

    def left_out(self, branch: int, kept: Collection[str]) -> frozenset[str]:
        """The variables of the guards of a branch that a cone leaves out."""
        return frozenset().union(*map(self.read, self._guards[branch])) - frozenset(kept)

    def part(self, kept: Collection[str], exact: bool) -> System:
        """The system of the variables that are kept; its branches have their names."""
        system = self.system
        if len(kept) == len(system.variables):
            return system
        made = System(system.name)
        made.variables = {n: d for n, d in system.variables.items() if n in kept}
        made.nodes_by_name = {n: system.nodes_by_name[n] for n in made.variables}
        for branch, guard, updates in zip(system.branches, self._guards, self._updates, strict=True):
            changed = tuple((name, expr) for name, expr in updates if name in kept)
            if exact or changed:
                parts = [part for part in guard if self.read(part) <= frozenset(kept)]
                made.branches.append(Branch(branch.name, changed, conjunction(parts)))
        regions = system.initial_set.regions
        made.initial_set = InitialSet(system.name, made.variables)
        made.initial_set.regions = [tuple(r for r in rows if set(r.expr.coefficients) <= set(kept)) for rows in regions]
        made.initial_set.condition = joined(c for c in self._conditions if variables_of(c) <= set(kept))
        return made

    def _own_guards(self) -> frozenset[Comparison]:
        """The linear guards that read nothing but what a branch updates that they guard."""
        rows = set()
        for guard, updates in zip(self._guards, self._updates, strict=True):
            updated = {name for name, _ in updates}
            rows |= {row for row in _rows(guard) if row.expr.coefficients.keys() <= updated}
        return frozenset(rows)

    def _keeps_its_range(self, name: str) -> bool:
        """Is it shown that no branch takes the variable out of its range?"""
        decl = self.system.variables[name]
        for branch, updates in enumerate(self._updates):
            for updated, expr in updates:
                ends = self._intervals(branch).of(expr) if updated == name else None
                if updated == name and (ends is None or ends[0] < decl.lower or ends[1] > decl.upper):
                    return False
        return True

    def _intervals(self, branch: int) -> _Intervals:
        """Those where the guard of a branch holds."""
        if branch not in self._known:
            box = propagate(self.system.variables, _rows(self._guards[branch]), self.system.box)
            self._known[branch] = _Intervals(self.system, box)
        return self._known[branch]


class _Intervals:
    """Ends between which expressions lie in a box (None: it is empty), None where that takes more than intervals."""

    def __init__(self, system: System, box: Box | None, deep: int = 0) -> None:
        self._system, self._box, self._deep = system, box, deep
        self._known: dict[int, _Ends | None] = {}

    def of(self, expr: Expr) -> _Ends | None:
        """The ends, exact."""
        if self._box is None:
            return _NOWHERE
        if id(expr) not in self._known:
            values, ends = self._system.domains.values(expr), self._compute(expr, self._box)
            if values:
                low, high = ends or (values[0], values[-1])
                ends = max(values[0], low), min(values[-1], high)
            self._known[id(expr)] = ends
        return self._known[id(expr)]

    def _compute(self, expr: Expr, box: Box) -> _Ends | None:
        match expr:
            case Constant(number):
                return number, number
            case Variable(name):
                return box[name]
            case Sum(terms, constant):
                parts = self._all([part for _, part in terms])
                if parts is None:
                    return None
                pairs = zip(terms, parts, strict=True)
                ends = [sorted((factor * low, factor * high)) for (factor, _), (low, high) in pairs]
                return constant + sum(e[0] for e in ends), constant + sum(e[1] for e in ends)
            case Maximum(operands):
                parts = self._all(operands)
                return None if parts is None else (max(low for low, _ in parts), max(high for _, high in parts))
            case Switch(_, cases):
                return _hull(self._all([case for _, case in cases]))
            case Where(condition, then, otherwise):
                chosen = [self._where(condition, then, box), self._where(~condition, otherwise, box)]
                return _hull([ends for ends in chosen if ends is not None] if None not in chosen else None)
        return None

    def _where(self, condition: Condition, expr: Expr, box: Box) -> _Ends | None:
        """The ends in the part of the box where a condition holds; nothing is narrowed far below other ones."""
        rows = _rows(list(_conjuncts(condition))) if self._deep < _DEEPEST else []
        part = propagate(self._system.variables, rows, box) if rows else box
        return self.of(expr) if part == box else _Intervals(self._system, part, self._deep + 1).of(expr)

    def _all(self, parts: Iterable[Expr]) -> list[_Ends] | None:
        found = [self.of(part) for part in parts]
        known = [ends for ends in found if ends is not None]
        return known if len(known) == len(found) else None


def _hull(parts: list[_Ends] | None) -> _Ends | None:
    return None if parts is None else (min(low for low, _ in parts), max(high for _, high in parts))


def _conjuncts(guard: Condition) -> Iterator[Condition]:
    stack = [guard]
    while stack:
        ask()
        part = stack.pop()
        if isinstance(part, All):
            stack.extend(reversed(part.operands))
        elif not (isinstance(part, Truth) and part.value):
            yield part


def _rows(guard: list[Condition]) -> list[Comparison]:
    """The linear conjuncts of a guard."""
    return [row for part in guard if (row := _row(part)) is not None]


def _row(part: Condition) -> Comparison | None:
    """A condition as a linear comparison of variables, None where it is none."""
    row = to_comparison(part) if isinstance(part, Compare) else None
    return row if row is not None and row.expr.terms else None
