"""The rule of cells: a formula without a bound by sets that steps lead from one to another, and what holds in each.

Let h_1, .., h_m be the parts of the core formula f that look ahead (AX, EX and fixpoints). Each set S_i, a cell, has a
level of h_j, which is 0 where nothing is said. Let L_i be the cells that steps from S_i may be needed to lead to,

    U_ij = the union of the cells of L_i that have a level of h_j
    V_ij = the union of those that have a level of h_j that is less than that of S_i
    g[i] = g with true for each outermost h_j in it that S_i has a level of, and false for the others
    g(i) = g with U_ij for each outermost h_j in it

    cells    X |- f with, for each outermost h_j, the union of the cells of L that have a level of it
             S_i |- a conjunct for each level of S_i, for all i                                               X |- f
                 QX g:                                       QX g(i)
                 least Z = r | (l & QX Z):                   r[i] | (l[i] & QX V_ij)
                 greatest Z = r & (l | QX Z):                r[i] & (l[i] | QX U_ij)

    settled  X |- the union of the cells of L
             S_i |- (p | AX V_i) & AX W_i, for all i                                                        X |- A F G p
    with each cell of one level, and W_i the union of the cells of L_i that have no higher one than S_i

Every state of a cell with a level of h_j satisfies h_j. By induction over f, as core formulas are monotone in their
parts: what is put in for parts of h_j lies within them. QX g is then immediate. For a least fixpoint, by induction over
levels: its conjunct leads to states of cells with lower levels, which are in the fixpoint. For a greatest one, by
coinduction: the states of the cells that have a level, with what satisfies h_j besides, are a post-fixpoint. Cells may
overlap, and need not cover anything: a state of two has what each of them says. The fixpoints say nothing of ends of
runs but through AX and EX themselves. Along a run from a cell levels never rise, and fall wherever p does not hold, so
that it holds from some step on (settled: the co-Büchi condition; its dual E G F p, where levels fall until p holds, is
what a search looks for besides). That no run leaves the box as far as f asks is part of the bounded premises, each
of which looks a step ahead from its cell. Unions of boxes are joined (`boxes`).

(Three-valued model checking: Bruns, Godefroid, CAV 1999; a level is a progress measure: Klarlund, FOCS 1991; Namjoshi,
*Certifying Model Checkers*, CAV 2001.) `tests/checker/test_forever_cells.py` tries the rule on random graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated

from venmas.budget import ask
from venmas.checker.forever.boxes import union
from venmas.checker.forever.rules import By, Derived, Name, settled
from venmas.checker.forever.sequents import HOLE, Scope, Sequent
from venmas.checker.format.fields import Count, Limit
from venmas.checker.format.rule import rule
from venmas.checker.levels.labels import ahead
from venmas.errors import FormulaError
from venmas.logic import (
    AX,
    EX,
    FALSE,
    TRUE,
    And,
    CoBuchi,
    Fixpoint,
    Formula,
    Or,
    Quantifier,
    conjunction,
    disjunction,
)
from venmas.logic.unroll import step

_MOST = 10_000
_MOST_LEADS = 1_000_000
"""Most cells, and most numbers of cells that steps may lead to, all cells together."""


@rule("cells")
@dataclass(frozen=True, slots=True)
class Cells(Derived):
    """Sets that steps lead from one to another, with what holds in each.

    holds: the formula. levels: for each set, a number for each part that looks ahead, 0 where nothing is said. leads:
    for each set, those that steps from it may be needed to lead to. first: those that may be needed for `start`.
    """

    by: By
    start: Name
    holds: str
    sets: Annotated[tuple[Name, ...], Limit(least=1, most=_MOST)]
    levels: Annotated[tuple[tuple[Count, ...], ...], Limit(most=_MOST)]
    leads: Annotated[tuple[tuple[Count, ...], ...], Limit(most=_MOST)]
    first: Annotated[tuple[Count, ...], Limit(most=_MOST)]

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        need = self.premises(scope)
        return [need(place) for place in range(len(self.sets) + 1)]

    def premises(self, scope: Scope) -> Callable[[int], Sequent]:
        """What is needed, by its place: of `start` first, then of each set."""
        core = self.shows(scope).formula
        graph = _Graph(self, [scope.states(name) for name in self.sets], ahead(core))

        def need(place: int) -> Sequent:
            if place:
                return Sequent.of(self.sets[place - 1], graph.claim(place - 1))
            return Sequent.of(self.start, graph.put(core, lambda node: graph.union(node, self.first)))

        return need

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return Sequent.of(self.start, scope.read(self.holds))


@rule("settled")
@dataclass(frozen=True, slots=True)
class Settled(Cells):
    """Sets with a level each, which falls where what holds in the end does not: all runs have it from some step on."""

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return settled(self.start, scope.read(self.holds))


class _Graph:
    """The graph of sets that a line states. Raises `FormulaError` where it has not the shape of a graph."""

    def __init__(self, stated: Cells, states: list[Formula], parts: list[Formula]) -> None:
        self._states, self._leads, size = states, stated.leads, len(states)
        if len(stated.levels) != size or any(len(row) != len(parts) for row in stated.levels):
            raise FormulaError(f"each of {size} cells has {len(parts)} levels, one for each part that looks ahead")
        if len(stated.leads) != size or sum(map(len, stated.leads)) > _MOST_LEADS:
            raise FormulaError(f"each of {size} cells says where steps lead, {_MOST_LEADS} numbers in all at most")
        if any(number >= size for row in (*stated.leads, stated.first) for number in row):
            raise FormulaError(f"cells are numbered from 0, below {size}")
        self._level = [dict(zip(parts, row, strict=True)) for row in stated.levels]
        self._unions: dict[tuple[int, ...], Formula] = {}
        self._outer: dict[Formula, tuple[Formula, list[Formula]]] = {}
        self._steps: dict[tuple[Quantifier, Formula, Formula], Formula] = {}

    def put(self, node: Formula, known: Callable[[Formula], Formula]) -> Formula:
        """The formula with something in place of its outermost parts that look ahead."""
        match node:
            case And(parts):
                return conjunction(self.put(part, known) for part in parts)
            case Or(parts):
                return disjunction(self.put(part, known) for part in parts)
            case AX() | EX() | Fixpoint() | CoBuchi():
                return known(node)
        return node

    def union(self, part: Formula, cells: Iterable[int], below: int | None = None) -> Formula:
        """The states of those of some cells that have a level of a part, or one below another."""
        levels = ((i, self._level[i][part]) for i in cells)
        some = tuple(i for i, level in levels if level > 0 and (below is None or level < below))
        if some not in self._unions:  # many parts, as those of a formula with a bound, have the same one
            self._unions[some] = union([self._states[i] for i in some])
        return self._unions[some]

    def claim(self, cell: int) -> Formula:
        """The claim that is to be shown of the states of a cell."""
        ask()
        return conjunction(self._claim(cell, part, level) for part, level in self._level[cell].items() if level)

    def _claim(self, cell: int, part: Formula, level: int) -> Formula:
        leads = self._leads[cell]
        if isinstance(part, AX | EX):
            quantifier = Quantifier.ALL if isinstance(part, AX) else Quantifier.EXISTS
            return self._step(quantifier, part.operand, leads)
        if isinstance(part, CoBuchi):
            holds = self.put(part.operand, lambda node: self._said(cell, node))
            still, lower = (step(Quantifier.ALL, self.union(part, leads, end)) for end in (level + 1, level))
            return conjunction([disjunction([holds, lower]), still])  # of lower cells, it is so of those not higher
        assert isinstance(part, Fixpoint)
        left, right = (self.put(side, lambda node: self._said(cell, node)) for side in (part.left, part.right))
        later = step(part.quantifier, self.union(part, leads, level if part.least else None))
        if part.least:
            return disjunction([right, conjunction([left, later])])
        return conjunction([right, disjunction([left, later])])

    def _step(self, quantifier: Quantifier, inner: Formula, leads: tuple[int, ...]) -> Formula:
        """The step to what is put for the parts of a formula: those with a bound have many that are alike."""
        if inner not in self._outer:
            outer: list[Formula] = []
            alike = self.put(inner, lambda node: outer.append(node) or HOLE)  # type: ignore[func-returns-value]
            self._outer[inner] = alike, outer
        alike, outer = self._outer[inner]
        unions = {node: self.union(node, leads) for node in outer}
        first = next(iter(unions.values()), TRUE)
        if any(other is not first for other in unions.values()):
            return step(quantifier, self.put(inner, unions.__getitem__))
        if (key := (quantifier, alike, first)) not in self._steps:
            self._steps[key] = step(quantifier, self.put(inner, unions.__getitem__))
        return self._steps[key]

    def _said(self, cell: int, part: Formula) -> Formula:
        return TRUE if self._level[cell][part] else FALSE
