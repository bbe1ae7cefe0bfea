"""Three-valued fixpoints on cells: a property or its negation, by the rule of cells, on finer and finer graphs.

    cells of a grid that runs reach
    repeat
        levels of all parts of f and of !f                                                        (`graph.levels`)
        f has one in all initial cells:      prove what the cells need of each other: satisfied
        !f has one in an initial cell:       the same from one initial state of it: violated, a stay
        halve cells that are open, or of which a claim was not proved

Fixpoints guide: each claim of a cell is a bounded question with a proof of its own, so that faces, ties and curves are
decided there. (Three-valued abstraction: Bruns, Godefroid, CAV 1999; Shoham, Grumberg, CAV 2003.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Bools, Ints
from venmas.budget import Budget
from venmas.checker.forever.along import of_one_state
from venmas.checker.forever.cells import Cells
from venmas.checker.forever.sequents import INIT, Scope, Sequent
from venmas.checker.levels.labels import ahead
from venmas.logic import (
    AX,
    EX,
    And,
    CoBuchi,
    Fixpoint,
    Formula,
    Or,
    Quantifier,
    subformulas,
)
from venmas.model.evaluation.regions import bounding_box
from venmas.model.system.system import System
from venmas.model.transform.cases import UnsuitableError
from venmas.procedures.forever.cells.graph import Graph, Levels
from venmas.procedures.forever.cells.sides import Side, duals
from venmas.procedures.forever.claims.asking import Asking
from venmas.procedures.forever.claims.proof import Derivation, Inferred
from venmas.procedures.forever.claims.stays import Point, point

MOST_REALS = 4
FEW_REALS = 2
"""Real variables up to which cells come before derivations."""
ON_CELLS = 3
"""The time of how many questions cells have in a round: they are done soon where they do at all."""
MANY = 1000
"""Cells that are as many as are worth their claims in a first round."""
_TRIES = 2
"""Graphs of a first round on which claims may fail: where they always do, mostly a single point is to be found."""
_POINTS = 3
"""Initial cells in which the negation is tried to be proved."""
_SMOOTH = 1 / 8
"""Part of the time of a question that a claim of a smooth system has: it is soon shown, or not at all."""
_FAILED = 8
"""Claims that fail before the graph is made finer."""


Stated: TypeAlias = tuple[Cells, Mapping[int, set[Formula]], Callable[[int], Sequent]]


def dimension(system: System) -> int:
    """Number of real variables, by which cells grow."""
    return sum(not d.integral and name not in system.disturbances for name, d in system.variables.items())


class CellSearch:
    """Cells of a question's system, one graph for the property and its negation."""

    def __init__(self, asking: Asking, holds: Side, fails: Side) -> None:
        self._asking, self.system = asking, asking.system
        self._sides = holds, fails
        if not 0 < dimension(self.system) <= MOST_REALS:
            raise UnsuitableError(f"cells are for at most {MOST_REALS} real variables")
        self._graph = Graph(self.system, [side.core for side in self._sides])
        self._duals = duals(self._sides[0].core)
        self._along = all(isinstance(node, And | AX) or of_one_state(node) for node in subformulas(holds.core))
        """Is it a formula about single runs, step by step?"""
        self._failed: dict[Formula, set[int]] = {}
        self._levels: tuple[tuple[int, ...], Levels, Levels] | None = None
        self._stated: tuple[tuple[object, ...], Stated] | None = None
        """What was found out last, and of which state: where a turn ends, the next one goes on with it."""

    @property
    def _state(self) -> tuple[int, ...]:
        """By which it is seen whether anything is new."""
        return (*self._graph.size, sum(map(len, self._failed.values())))

    def search(self, budget: Budget, most: int) -> Derivation | tuple[Point, Derivation] | None:
        """A derivation of the property; an initial state and one of the negation.

        None where no cell is left to cut, or runs reach more cells than `most`, or claims failed often.
        """
        graph = self._graph
        tries = _TRIES * most // MANY
        while tries:
            budget()
            first = self._initial()
            reached = graph.expand(first)
            self._asking.figures.cells = int(reached.sum())
            if reached.sum() > most:
                return None
            if self._levels is None or self._levels[0] != self._state:
                one, other_ = (graph.levels(side.core, self._failed) for side in self._sides)
                self._levels = self._state, one, other_
            _, holds, fails = self._levels
            cut: set[int] = set()
            if (holds[self._sides[0].core][first] > 0).all():
                shown = self._derive(self._sides[0], holds, first, self.system, budget)
                if not isinstance(shown, set):
                    return shown
                cut |= shown
            for cell, start in (
                () if self._sides[1].rule is None else self._violating(fails[self._sides[1].core] > 0, first)
            ):
                other = self._derive(self._sides[1], fails, np.array([cell]), start.system, budget)
                if not isinstance(other, set):
                    return start, other
                cut |= other
            if not graph.halve(sorted(cut) or self._open(holds, fails, first)) and not cut:
                return None
            tries -= bool(cut)
        return None

    def _initial(self) -> Ints:
        boxes = [box for region in self.system.regions if (box := bounding_box(self.system, region)) is not None]
        return np.unique(np.concatenate([self._graph.meeting(box) for box in boxes]))

    def _violating(self, held: Bools, first: Ints) -> Iterable[tuple[int, Point]]:
        """Initial cells in which the negation has a level, each with an initial state in it."""
        graph, tried = self._graph, 0
        for cell in first[held[first]]:
            if tried == _POINTS:
                return
            sides = graph.cells[cell].sides
            for region in self.system.regions:
                box = bounding_box(self.system, region)
                if box is None:
                    continue
                values = dict(zip(graph.sampler.integers, map(Fraction, graph.cells[cell].integers), strict=True))
                for name, side in zip(graph.sampler.reals, sides, strict=True):
                    low, high = max(side.low, box[name][0]), min(side.high, box[name][1])
                    values[name] = (low + high) / 2
                inside = all(s.holds(values[n]) for n, s in zip(graph.sampler.reals, sides, strict=True))
                own = [c for c in region if not set(c.expr.variables) & set(self.system.disturbances)]
                if inside and all(c.holds(values) for c in own):
                    tried += 1
                    yield int(cell), point(self.system, values)
                    break

    def _derive(
        self, side: Side, levels: Levels, first: Ints, initial: System, budget: Budget
    ) -> Derivation | set[int]:
        """The derivation from the states of cells that are initial, or cells of which a claim is not known to hold."""
        asking, graph = self._asking, self._graph
        key = self._state, side, first.tobytes()
        if self._stated is None or self._stated[0] != key:
            self._stated = key, self._state_of(side, levels, first)
        line, needed, claim = self._stated[1]
        cells, names = sorted(needed), line.sets
        proved: list[Derivation] = []
        failed: set[int] = set()
        share = _SMOOTH if self.system.smooth else 1
        for place in range(len(names) + 1):
            budget()
            need = claim(place)
            shown = asking.claim(need.start, need.formula, budget, initial, core=True, share=share if place else 1)
            if shown is not None:
                proved.append(shown)
                continue
            if not place:
                return {int(cell) for cell in first}
            cell = cells[place - 1]
            failed.add(cell)
            if graph.cells[cell].halves([Fraction(1)] * len(graph.sampler.reals)) is None:
                for part in needed[cell]:
                    self._failed.setdefault(part, set()).add(cell)
            if len(failed) == _FAILED:
                break
        return failed or Inferred(line, tuple(proved))

    def _state_of(self, side: Side, levels: Levels, first: Ints) -> Stated:
        """The line of the cells that are needed, what each is needed for, and what is to be claimed of each."""
        needed, leads = self._needed(side, levels, first)
        cells, asking = sorted(needed), self._asking
        number = {cell: i for i, cell in enumerate(cells)}
        names = [asking.named(self._formula(cell)) for cell in cells]
        parts = ahead(side.core)
        rows = tuple(tuple(int(levels[p][c]) if p in needed[c] else 0 for p in parts) for c in cells)
        steps = tuple(tuple(number[t] for t in sorted(leads[c]) if t in number) for c in cells)
        begin = tuple(number[int(cell)] for cell in first)
        assert side.rule is not None
        line = side.rule((), INIT, side.text, tuple(names), rows, steps, begin)
        scope = Scope.of(self.system, {name: asking.sets[name] for name in names})
        return line, needed, cache(line.premises(scope))

    def _formula(self, cell: int) -> Formula:
        sampler = self._graph.sampler
        return self._graph.cells[cell].formula(sampler.integers, sampler.reals)

    def _needed(self, side: Side, levels: Levels, first: Ints) -> tuple[dict[int, set[Formula]], dict[int, set[int]]]:
        """The cells whose levels of parts are needed, and where their steps are needed to lead to."""
        if side is self._sides[0] and self._along:
            return self._needed_along(side, first)
        needed: dict[int, set[Formula]] = {}
        leads: dict[int, set[int]] = {}
        waiting: list[tuple[int, Formula]] = []
        every: dict[int, list[int]] = {}
        """Where all steps of a cell lead."""

        def need(cell: int, formula: Formula) -> None:
            """That the formula has a level in the cell: that of enough of its parts."""
            match formula:
                case And(parts):
                    for part in parts:
                        need(cell, part)
                case Or(parts):
                    held = [part for part in parts if levels[part][cell]]
                    need(cell, min(held, key=lambda part: (part in ahead(part), part.depth if part.horizon else 0)))
                case AX() | EX() | Fixpoint() | CoBuchi():
                    if formula not in needed.setdefault(cell, set()):
                        needed[cell].add(formula)
                        waiting.append((cell, formula))

        def step(cell: int, quantifier: Quantifier, states: NDArray[np.bool_], formula: Formula) -> None:
            if quantifier is not Quantifier.ALL:
                led = self._graph.led(cell, quantifier, states)
            elif (known := every.get(cell)) is None:
                led = every[cell] = self._graph.led(cell, quantifier, states)
            else:
                led = known
            for target in led:
                leads[cell].add(target)
                needed.setdefault(target, set())
                need(target, formula)

        for cell in first.tolist():
            needed.setdefault(cell, set())
            need(cell, side.core)
        while waiting:
            cell, formula = waiting.pop()
            leads.setdefault(cell, set())
            match formula:
                case AX(inner) | EX(inner):
                    quantifier = Quantifier.ALL if isinstance(formula, AX) else Quantifier.EXISTS
                    step(cell, quantifier, levels[inner] > 0, inner)
                case CoBuchi(inner):
                    below, still = levels[formula] < levels[formula][cell], levels[formula] <= levels[formula][cell]
                    lower = bool(self._graph.step(Quantifier.ALL, (levels[formula] > 0) & below)[cell])
                    if not lower:
                        need(cell, inner)
                    step(cell, Quantifier.ALL, (levels[formula] > 0) & (below if lower else still), formula)
                case Fixpoint(least, quantifier, left, right):
                    if least and levels[right][cell]:
                        need(cell, right)
                        continue
                    need(cell, left if least else right)
                    if not least and levels[left][cell]:
                        need(cell, left)
                        continue
                    states = levels[formula] > 0
                    if least:
                        states &= levels[formula] < levels[formula][cell]
                    step(cell, quantifier, states, formula)
        for cell in needed:
            leads.setdefault(cell, set())
        return needed, leads

    def _needed_along(self, side: Side, first: Ints) -> tuple[dict[int, set[Formula]], dict[int, set[int]]]:
        """The same of a formula about single runs, step by step."""
        graph, parts = self._graph, ahead(side.core)
        needs = {part: np.zeros(len(graph.cells), bool) for part in parts}
        begin = np.zeros(len(graph.cells), bool)
        begin[first] = True
        every, waiting = begin.copy(), [(side.core, begin)]
        for part in [None, *reversed(parts)]:
            if isinstance(part, AX):
                waiting.append((part.operand, graph.after(needs[part])))
                every |= waiting[-1][1]
            while waiting:
                node, cells = waiting.pop()
                if isinstance(node, And):
                    waiting += ((child, cells) for child in node.operands)
                elif node in needs:
                    needs[node] |= cells
        needed: dict[int, set[Formula]] = {cell: set() for cell in np.flatnonzero(every).tolist()}
        for part, cells in needs.items():
            for cell in np.flatnonzero(cells).tolist():
                needed[cell].add(part)
        leads = graph.all_led()
        return needed, {cell: leads.get(cell, set()) if parts_ else set() for cell, parts_ in needed.items()}

    def _open(self, holds: Levels, fails: Levels, first: Ints) -> list[int]:
        """Cells to cut: those in which the innermost part is open that is so where it is asked for, choices mostly.

        Of a formula about single runs, those in which any part is; of AG p and the like, all in which it is.
        """
        needs, graph = self._asked(holds, fails, first), self._graph
        bounded, single = self._along, len(ahead(self._sides[0].core)) == 1
        cells: list[Bools] = []
        for part in ahead(self._sides[0].core):
            led = part.operand if isinstance(part, AX | EX) and bounded else part
            other, ahead_ = (fails.get(self._duals[node]) for node in (part, led))
            if other is None or ahead_ is None:
                continue
            left = needs[part] & (holds[part] == 0) & (other == 0) & graph.present
            if left.any():
                mixed = left & graph.mixed(holds[led] > 0, ahead_ > 0)
                cells.append(mixed if mixed.any() and (bounded or not single) else left)
                if not bounded:
                    break
        some = np.flatnonzero(np.logical_or.reduce(cells)) if cells else np.zeros(0, np.int64)
        # a run of many steps goes astray at any of them: the coarsest cells are cut first
        if (bounded or single) and len(some):
            some = graph.largest(some)
        return [int(cell) for cell in some]

    def _asked(self, holds: Levels, fails: Levels, first: Ints) -> dict[Formula, Bools]:
        """The cells in which each part that looks ahead is asked for, by the formula of the initial ones."""
        graph, core = self._graph, self._sides[0].core
        needs = {part: np.zeros(len(graph.cells), bool) for part in ahead(core)}

        def ask_for(formula: Formula, cells: Bools) -> None:
            other = fails.get(self._duals[formula])
            cells = cells if other is None else cells & (other == 0)
            match formula:
                case And(parts) | Or(parts):
                    for part in parts:
                        ask_for(part, cells)
                case AX() | EX() | Fixpoint() | CoBuchi():
                    needs[formula] |= cells

        begin = np.zeros(len(graph.cells), bool)
        begin[first] = True
        ask_for(core, begin)
        for part in reversed(list(needs)):
            open_ = needs[part] & (holds[part] == 0)
            if isinstance(part, AX | EX):
                ask_for(part.operand, graph.after(open_))
                continue
            while (more := open_ | (graph.after(open_) & (holds[part] == 0))).sum() > open_.sum():
                open_ = more
            needs[part] |= open_
            for side in part.children:
                ask_for(side, needs[part])
        return needs
