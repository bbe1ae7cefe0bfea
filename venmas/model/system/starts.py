"""A formula about one state as a union of disjoint regions, where few will do.

The disjunctive normal form of a start condition with a hundred disjunctions is out of reach, while the boxes that it
leaves may be few. They are found by branching on atoms (Davis, Logemann, Loveland 1962): what a box decides is taken
out of the formula, an atom that has to hold narrows the box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, lcm
from typing import TypeAlias

import numpy as np

from venmas.budget import ask
from venmas.logic import FALSE, TRUE, And, Atom, Formula, Or, conjunction, disjunction, nnf, subformulas
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.system.propagation import propagate
from venmas.model.system.variables import Region, VariableDecl

MAX_WORK = 150_000
"""Most parts of formulas that are looked at: half a second."""

_FEW, _ONE = 64, Fraction(1)
_LE, _GE, _EQ, _NE = Relation.LE, Relation.GE, Relation.EQ, Relation.NE
_Ends: TypeAlias = list[Fraction | int]


@dataclass(frozen=True, eq=False, slots=True)
class _Unit:
    """``x[index] relation bound``, of an integer never strict and with an integral bound."""

    index: int
    relation: Relation
    bound: Fraction | int
    source: Comparison

    def decided(self, low: _Ends, high: _Ends) -> bool | None:
        """Its truth where the box decides it."""
        least, most, relation, bound = low[self.index], high[self.index], self.relation, self.bound
        if relation is _LE:
            return True if most <= bound else False if least > bound else None
        if relation is _GE:
            return True if least >= bound else False if most < bound else None
        if relation is _EQ or relation is _NE:
            met = True if least == most == bound else False if least > bound or most < bound else None
            return met if relation is _EQ or met is None else not met
        return Comparison(LinearExpr((), Fraction(0)), relation).decide(Fraction(least - bound), Fraction(most - bound))

    def narrow(self, low: _Ends, high: _Ends) -> bool:
        """Cut the box by it, where a box can hold what it says."""
        i, bound = self.index, self.bound
        if self.relation is _LE or self.relation is _EQ:
            high[i] = min(high[i], bound)
        if self.relation is _GE or self.relation is _EQ:
            low[i] = max(low[i], bound)
        if self.relation is _NE and isinstance(bound, int):
            low[i] += low[i] == bound
            high[i] -= high[i] == bound
            return False
        return self.relation in (_LE, _GE, _EQ)


@dataclass(frozen=True, eq=False, slots=True)
class _Row:
    """A comparison of several variables, or a strict one of a real variable."""

    terms: tuple[tuple[int, int], ...]
    constant: int
    source: Comparison

    def decided(self, low: _Ends, high: _Ends) -> bool | None:
        """Its truth where the box decides it; `terms` and `constant` are those of the source, times a number."""
        least: Fraction | int = self.constant
        most = least
        for i, c in self.terms:
            one, other = (low[i], high[i]) if c > 0 else (high[i], low[i])
            least, most = least + c * one, most + c * other
        return self.source.decide(least, most)


@dataclass(frozen=True, eq=False, slots=True)
class _Join:
    """A conjunction (`every`) or a disjunction."""

    every: bool
    parts: tuple[_Node, ...]


_Node: TypeAlias = "_Unit | _Row | _Join"
_Case: TypeAlias = "tuple[_Ends, _Ends, tuple[_Row, ...], _Node | bool]"


def regions_of(variables: Mapping[str, VariableDecl], formula: Formula, most: int) -> list[Region] | None:
    """Disjoint regions inside the declared ranges whose union is the formula; None where `most` are not seen to do.

    formula: about one state, nested as little as an expression of a system. ``!=`` becomes ``<`` and ``>``.
    """
    found: list[Region] = []
    for region in cases(variables, formula):
        if region is None or len(found) == most:
            return None
        found.append(region)
    return found


def common_part(variables: Mapping[str, VariableDecl], formula: Formula) -> tuple[Region, Formula] | None:
    """What every state of the formula meets, and what is left to be asked of states of it; None: there are none."""
    found = _Cases(variables)
    settled = found.settle(*found.whole(formula))
    settled = None if settled is None else found.enclosed(*settled)
    if settled is None:
        return None
    low, high, rows, rest = settled
    return found.region(low, high, rows), _formula(rest)


def cases(
    variables: Mapping[str, VariableDecl],
    formula: Formula,
    rng: np.random.Generator | None = None,
    work: int = MAX_WORK,
) -> Iterator[Region | None]:
    """The regions one after the other, None as the last where the search is given up; in random order with `rng`.

    work: most parts of formulas that are looked at.
    """
    found = _Cases(variables)
    stack: list[_Case] = [found.whole(formula)]
    while stack:
        ask()
        if found.work > work:
            yield None
            return
        settled = found.settle(*stack.pop())
        if settled is None:
            continue
        low, high, rows, rest = settled
        if rest is True:
            region = found.region(low, high, rows)
            if not rows or propagate(variables, region, {d.name: (d.lower, d.upper) for d in found.decls}) is not None:
                yield region
            continue
        sides = found.sides(_atom(rest), low, high, rng)
        stack += [(low[:], high[:], rows, _joined(True, [side, rest])) for side in reversed(sides)]


class _Cases:
    def __init__(self, variables: Mapping[str, VariableDecl]) -> None:
        self.decls, self.work = list(variables.values()), 0
        self.number = {d.name: i for i, d in enumerate(self.decls)}
        self.low: _Ends = [ceil(d.lower) if d.integral else d.lower for d in self.decls]
        self.high: _Ends = [floor(d.upper) if d.integral else d.upper for d in self.decls]

    def whole(self, formula: Formula) -> _Case:
        """The case that nothing is known of."""
        return self.low[:], self.high[:], (), self._node(nnf(formula))

    def _node(self, formula: Formula) -> _Node | bool:
        made: dict[Formula, _Node | bool] = {TRUE: True, FALSE: False}
        for part in subformulas(formula):
            match part:
                case Atom(comparison):
                    made[part] = self.atom(comparison)
                case And(operands) | Or(operands):
                    made[part] = _joined(isinstance(part, And), [made[o] for o in operands])
        return made[formula]

    def atom(self, row: Comparison) -> _Node | bool:
        """A comparison, as a bound where it is one of one variable."""
        terms = tuple((self.number[name], c) for name, c in row.expr.terms)
        if not terms:
            return row.relation.holds(row.expr.constant)
        if len(terms) > 1:
            return _row(terms, row)
        (index, factor), relation = terms[0], row.relation
        bound: Fraction | int = -row.expr.constant / factor
        if factor < 0:
            relation = relation.mirrored
        if not self.decls[index].integral:
            return _row(terms, row) if relation.strict else _Unit(index, relation, bound, row)
        match relation:
            case Relation.LT:
                relation, bound = _LE, ceil(bound) - 1
            case Relation.GT:
                relation, bound = _GE, floor(bound) + 1
            case Relation.LE:
                bound = floor(bound)
            case Relation.GE:
                bound = ceil(bound)
            case _ if bound.denominator != 1:
                return relation is _NE
            case _:
                bound = int(bound)
        return _Unit(index, relation, bound, row)

    def settle(self, low: _Ends, high: _Ends, rows: tuple[_Row, ...], node: _Node | bool) -> _Case | None:
        """Narrow the box by the atoms that have to hold; None where nothing is left."""
        while True:
            node = self._residual(_joined(True, [*rows, node]), low, high)
            if node is False:
                return None
            before = low[:], high[:]
            kept: list[_Row] = []
            rest: list[_Node | bool] = []
            parts: Sequence[_Node | bool] = node.parts if isinstance(node, _Join) and node.every else [node]
            for part in parts:
                new = self._left(part, low, high) if isinstance(part, _Row) and len(part.terms) > 1 else part
                if isinstance(new, _Row) and new.source.relation is not _NE:
                    kept.append(new)
                elif not isinstance(new, _Unit) or not new.narrow(low, high):
                    rest.append(new)
            if any(a > b for a, b in zip(low, high, strict=True)):
                return None
            rows, node = tuple(kept), _joined(True, rest)
            if node is False:
                return None
            if (low, high) == before:
                return low, high, rows, node

    def enclosed(self, low: _Ends, high: _Ends, rows: tuple[_Row, ...], node: _Node | bool) -> _Case | None:
        """The case in the least box around the parts of its disjunction; what all parts say is said by the box then."""
        if not isinstance(node, _Join) or node.every:
            return low, high, rows, node
        parts = [self.settle(low[:], high[:], (), part) for part in node.parts]
        known = [part for part in parts if part is not None]
        if not known:
            return None
        least, most = (zip(*ends, strict=True) for ends in zip(*(part[:2] for part in known), strict=True))
        return self.settle([min(ends) for ends in least], [max(ends) for ends in most], rows, node)

    def _residual(self, node: _Node | bool, low: _Ends, high: _Ends) -> _Node | bool:
        """What of a formula the box leaves open."""
        self.work += 1
        if isinstance(node, bool):
            return node
        if not isinstance(node, _Join):
            decided = node.decided(low, high)
            return node if decided is None else decided
        parts, changed = [], False
        for part in node.parts:
            new = self._residual(part, low, high)
            if new is not node.every and isinstance(new, bool):
                return new
            changed = changed or new is not part
            parts.append(new)
        return _joined(node.every, parts) if changed else node

    def region(self, low: _Ends, high: _Ends, rows: Sequence[_Row]) -> Region:
        """The points of a box that meet the rows."""
        comparisons: list[Comparison] = []
        for i, decl in enumerate(self.decls):
            if (low[i], high[i]) == (self.low[i], self.high[i]):
                continue
            if low[i] == high[i]:
                ends = [(low[i], _EQ)]
            else:
                ends = [(low[i], _GE)] * (low[i] > self.low[i]) + [(high[i], _LE)] * (high[i] < self.high[i])
            terms = ((decl.name, _ONE),)
            comparisons += [Comparison(LinearExpr(terms, -Fraction(end)), relation) for end, relation in ends]
        return (*comparisons, *(row.source for row in rows))

    def sides(self, atom: _Unit | _Row, low: _Ends, high: _Ends, rng: np.random.Generator | None) -> list[_Node | bool]:
        """Disjoint cases that together are everything, towards deciding an atom; the first one is tried first.

        Of several integers of few values, or of one that is not to have some value, one is fixed: to cut it in two says
        little, and leaves many integers with few values that are to differ.
        """
        row = atom.source
        used = [i for i, _ in atom.terms] if isinstance(atom, _Row) else [atom.index]
        few = all(self.decls[i].integral and high[i] - low[i] < _FEW for i in used)
        if few and (rng is not None or len(used) > 1 or row.relation is _NE):
            i = min((i for i in used if low[i] < high[i]), key=lambda i: high[i] - low[i])
            least, most = int(low[i]), int(high[i])
            value = least if rng is None else int(rng.integers(least, most, endpoint=True))
            expr = LinearExpr(((self.decls[i].name, _ONE),), -Fraction(value))
            return [self.atom(Comparison(expr, r)) for r in (_EQ, Relation.LT, Relation.GT)]
        if row.relation in (_EQ, _NE):
            sides = [Comparison(row.expr, r) for r in (Relation.LT, _EQ, Relation.GT)]
        else:
            sides = [row, row.negated]
        order = range(len(sides)) if rng is None else rng.permutation(len(sides))
        return [self.atom(sides[i]) for i in order]

    def _left(self, row: _Row, low: _Ends, high: _Ends) -> _Node | bool:
        """A comparison that has to hold, as a bound where all but one of its variables have one value."""
        free = [i for i, _ in row.terms if low[i] < high[i]]
        if len(free) > 1:
            return row
        constant = row.constant + sum(c * low[i] for i, c in row.terms if i not in free)
        terms = tuple((self.decls[i].name, Fraction(c)) for i, c in row.terms if i in free)
        return self.atom(Comparison(LinearExpr(terms, Fraction(constant)), row.source.relation))


def _row(terms: tuple[tuple[int, Fraction], ...], row: Comparison) -> _Row:
    by = lcm(row.expr.constant.denominator, *(c.denominator for _, c in terms))
    return _Row(tuple((i, int(c * by)) for i, c in terms), int(row.expr.constant * by), row)


def _joined(every: bool, parts: Sequence[_Node | bool]) -> _Node | bool:
    """A conjunction or disjunction, flat."""
    flat: list[_Node] = []
    for part in parts:
        if isinstance(part, bool):
            if part is not every:
                return part
        elif isinstance(part, _Join) and part.every is every:
            flat += part.parts
        else:
            flat.append(part)
    return every if not flat else flat[0] if len(flat) == 1 else _Join(every, tuple(flat))


def _formula(node: _Node | bool) -> Formula:
    if isinstance(node, bool):
        return TRUE if node else FALSE
    if isinstance(node, _Join):
        return (conjunction if node.every else disjunction)(map(_formula, node.parts))
    return Atom(node.source)


def _atom(node: _Node | bool) -> _Unit | _Row:
    """An atom to branch on: of the shortest disjunction, the first."""
    assert not isinstance(node, bool)
    if isinstance(node, _Join) and node.every:
        node = min(node.parts, key=lambda p: len(p.parts) if isinstance(p, _Join) else 1)
    while isinstance(node, _Join):
        node = node.parts[0]
    return node
