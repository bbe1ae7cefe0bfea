"""The graph of cells: which lead to which, and three-valued fixpoints on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Bools, Floats, Ints
from venmas.budget import ask
from venmas.logic import AX, EX, And, Atom, Bottom, Buchi, CoBuchi, Fixpoint, Formula, Or, Quantifier, Top, subformulas
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.forever.cells.grid import Cell, Grid, marks
from venmas.procedures.forever.cells.moves import Sampler, joined

MOST_CELLS = 40_000
"""Most cells, those that were cut included."""
_TURN = 512
"""Boxes that are compared with all cells at once."""
_EXACTLY = 1e-12
"""Relative distance by which floats that should be equal may differ."""
Levels = Mapping[Formula, NDArray[np.int64]]


class Graph:
    """Cells of a system, made where runs are; each is cut in two now and then.

    Raises `OverflowError` for too many.
    """

    def __init__(self, system: System, formulas: Iterable[Formula]) -> None:
        self.system, self.sampler = system, Sampler(system)
        self._grid = Grid(system, self.sampler.reals, self.sampler.hull(), marks(system, formulas))
        self.cells: list[Cell] = []
        self.present, self.expanded, self.ends = (np.zeros(0, bool) for _ in range(3))
        """Cells that were not cut, whose moves are known, and in which runs may end."""
        size = len(self.sampler.reals)
        self._low, self._high, self._shut = np.zeros((0, size)), np.zeros((0, size)), np.zeros((0, size, 2), bool)
        self._held = np.zeros((0, len(self.sampler.integers)), np.int64)
        """Of all cells: ends, whether they are in it, and the integers."""
        self._places: set[tuple[int, ...]] = set()
        self._groups = self.sampler.none()
        self._edges = np.zeros((2, 0), np.int64)
        self._outside = np.zeros(0, bool)
        """Pairs of groups and cells that they lead to, and the groups that may lead outside of all cells."""
        self._atoms: dict[Atom, Bools] = {}
        self._sampled: tuple[tuple[int, int], tuple[dict[str, Floats], Ints]] | None = None
        """The first and the last of the cells that were sampled last, and their states."""
        self._moves: tuple[tuple[int, int], Ints, Ints, Ints] | None = None
        self._forked: tuple[tuple[int, int], Bools] | None = None
        """Of so many cells and groups: the move of each group that runs may choose, the option of each, and options;
        and the cells of several options."""

    def _add(self, cells: list[Cell]) -> Ints:
        """Number cells."""
        before, count = len(self.cells), len(cells)
        if before + count > MOST_CELLS:
            raise OverflowError(f"there are more than {MOST_CELLS} cells")
        self.cells += cells
        self.present = np.concatenate([self.present, np.ones(count, bool)])
        self.ends, self.expanded = (np.concatenate([a, np.zeros(count, bool)]) for a in (self.ends, self.expanded))
        low, high = ([[float(s.high if i else s.low) for s in cell.sides] for cell in cells] for i in (0, 1))
        self._low, self._high = np.concatenate([self._low, low]), np.concatenate([self._high, high])
        self._shut = np.concatenate([self._shut, [[s.shut for s in cell.sides] for cell in cells]])
        held = np.array([cell.integers for cell in cells], np.int64).reshape(count, -1)
        self._held = np.concatenate([self._held, held])
        return np.arange(before, before + count)

    def place(self, integers: tuple[int, ...]) -> None:
        """Make the cells of a location, once."""
        if integers not in self._places:
            self._places.add(integers)
            self._add([Cell(integers, sides) for sides in product(*self._grid.sides)])

    def meeting(self, box: Box) -> Ints:
        """The cells that meet a closed box of all variables. Raises `OverflowError` for too many locations."""
        names = self.sampler.integers
        ranges = [range(int(box[n][0]), int(box[n][1]) + 1) for n in names]
        if np.prod([float(len(r)) for r in ranges]) > MOST_CELLS:
            raise OverflowError("the integers have too many initial values")
        rows = list(product(*ranges))
        for integers in rows:
            self.place(integers)
        low, high = (np.array([[float(box[n][i]) for n in self.sampler.reals]] * len(rows)) for i in (0, 1))
        held = np.array(rows, np.int64).reshape(len(rows), len(names))
        return np.unique(self._met(held, low, high, np.flatnonzero(self.present))[1])

    def expand(self, start: Ints) -> Bools:
        """Mask of the cells that runs may reach from some, whose moves are all known then."""
        while True:
            ask()
            reached, count = np.zeros(len(self.cells), bool), 0
            reached[start] = True
            while count < (count := int(reached.sum())):
                reached[self._edges[1][reached[self._groups.cell[self._edges[0]]]]] = True
            new = np.flatnonzero(reached & ~self.expanded)
            if not len(new):
                return reached
            self._sample(new)

    def _sample(self, new: Ints) -> None:
        """Know the moves of cells."""
        groups, ends = self.sampler.moves([self.cells[i] for i in new])
        groups.cell = new[groups.cell]
        self.ends[new], self.expanded[new] = ends, True
        decls = [self.system.variables[n] for n in self.sampler.integers]
        for row in map(tuple, np.unique(groups.integers, axis=0).tolist() if decls else [()]):
            if all(d.lower <= v <= d.upper for d, v in zip(decls, row, strict=True)):
                self.place(row)
        edges = self._met(groups.integers, groups.low, groups.high, np.flatnonzero(self.present))
        outside = np.ones(len(groups.cell), bool)
        outside[edges[0]] = False
        for i, sides in enumerate(self._grid.sides):
            ends_ = float(sides[0].low), float(sides[-1].high)
            slack = _EXACTLY * max(map(abs, ends_))
            outside |= ~((groups.low[:, i] >= ends_[0] - slack) & (groups.high[:, i] <= ends_[1] + slack))
        self._outside = np.concatenate([self._outside, outside])
        edges[0] += len(self._groups.cell)
        self._edges = np.concatenate([self._edges, edges], 1)
        self._groups = joined([self._groups, groups])

    def _met(self, integers: Ints, low: Floats, high: Floats, cells: Ints) -> Ints:
        """Pairs of boxes and of some cells that they meet (2, E)."""
        shut = self._shut[cells]
        slack = np.maximum(np.abs(self._low[cells]), np.abs(self._high[cells])) * _EXACTLY
        # an end that is in a cell is met by what is as far as it, and one that is not only by what goes beyond it
        least, most = (
            end + np.where(s, sign, -sign) * slack
            for end, s, sign in ((self._low[cells], shut[..., 0], -1), (self._high[cells], shut[..., 1], 1))
        )
        least, most, held = np.asfortranarray(least), np.asfortranarray(most), np.asfortranarray(self._held[cells])
        pairs = [np.zeros((2, 0), np.int64)]
        for first in range(0, len(low), _TURN):
            ask()
            part = slice(first, first + _TURN)
            meets = np.ones((len(low[part]), len(cells)), bool)
            for ours, theirs in zip(integers[part].T, held.T, strict=True):
                meets &= ours[:, None] == theirs
            for axis in range(low.shape[1]):
                meets &= (high[part, axis, None] >= least[:, axis]) & (low[part, axis, None] <= most[:, axis])
            group, target = np.nonzero(meets)
            pairs.append(np.stack([first + group, cells[target]]))
        return np.concatenate(pairs, 1)

    def halve(self, numbers: Iterable[int]) -> int:
        """Cut cells in two; the number of those for which that was possible."""
        made: list[Cell] = []
        for number in numbers:
            halves = self.cells[number].halves(self._grid.scale)
            if halves is not None:
                self.present[number] = False
                made += halves
        if made:
            new = self._add(made)
            lost = ~self.present[self._edges[1]]
            again = np.unique(self._edges[0][lost])
            moved = self._groups
            edges = self._met(moved.integers[again], moved.low[again], moved.high[again], new)
            edges[0] = again[edges[0]]
            edges = np.concatenate([self._edges[:, ~lost], edges], 1)
            self._edges = edges[:, self.present[self._groups.cell[edges[0]]]]
        return len(made) // 2

    # -- fixpoints -----------------------------------------------------------------------------------------------------

    def levels(self, core: Formula, without: Mapping[Formula, set[int]]) -> dict[Formula, NDArray[np.int64]]:
        """Levels of all parts of a core formula, 0 where they are not known to hold; the round of least fixpoints.

        without: cells that have none of a part, as it was not proved there.
        """
        known: dict[Formula, NDArray[np.int64]] = {}
        for node in subformulas(core):
            parts = [known[child] > 0 for child in node.children]
            match node:
                case Atom():
                    held = self._atom(node)
                case Top() | Bottom():
                    held = np.full(len(self.cells), isinstance(node, Top))
                case And() | Or():
                    held = np.all(parts, axis=0) if isinstance(node, And) else np.any(parts, axis=0)
                case AX() | EX():
                    held = self.step(Quantifier.ALL if isinstance(node, AX) else Quantifier.EXISTS, parts[0])
                    held[list(without.get(node, ()))] = False
                case Fixpoint():
                    barred = np.zeros(len(self.cells), bool)
                    barred[list(without.get(node, ()))] = True
                    known[node] = self._fixpoint(node, parts[0], parts[1], barred)
                    continue
                case CoBuchi() | Buchi():
                    barred = np.zeros(len(self.cells), bool)
                    barred[list(without.get(node, ()))] = True
                    known[node] = (self._settled if isinstance(node, CoBuchi) else self._again)(parts[0], barred)
                    continue
            known[node] = held.astype(np.int64)
        return known

    def _atom(self, atom: Atom) -> Bools:
        known = self._atoms.get(atom, np.zeros(0, bool))
        if len(known) < len(self.cells):
            new = len(known), len(self.cells)
            if self._sampled is None or self._sampled[0] != new:  # many atoms are asked of the same cells
                self._sampled = new, self.sampler.states(self.cells[len(known) :])
            more = self.sampler.truth(atom, new[1] - new[0], *self._sampled[1])
            known = self._atoms[atom] = np.concatenate([known, more])
        return known

    def _fixpoint(self, node: Fixpoint, left: Bools, right: Bools, barred: Bools) -> NDArray[np.int64]:
        inside = np.full(len(left), not node.least) & ~barred & (right | node.least)
        level = np.zeros(len(left), np.int64)
        for number in range(1, len(left) + 2):
            ask()
            step = self.step(node.quantifier, inside)
            after = (right | (left & step)) & ~barred if node.least else inside & (left | step)
            if node.least:
                level[after & ~inside] = number
                after |= inside
            if (after == inside).all():
                break
            inside = after
        return level if node.least else inside.astype(np.int64)

    def _settled(self, holds: Bools, barred: Bools) -> NDArray[np.int64]:
        """Levels of A F G: all steps lead to lower ones, or, where it holds, to none that is higher."""
        level = np.zeros(len(holds), np.int64)
        for number in range(1, len(holds) + 2):
            lower = self.step(Quantifier.ALL, level > 0) & ~barred
            inside = ~barred & (lower | holds)
            while True:
                ask()
                after = inside & (lower | self.step(Quantifier.ALL, inside | (level > 0)))
                if (after == inside).all():
                    break
                inside = after
            if not (inside & (level == 0)).any():
                break
            level[inside & (level == 0)] = number
        return level

    def _again(self, holds: Bools, barred: Bools) -> NDArray[np.int64]:
        """Levels of E G F: some step leads to a lower one, or, where it holds, to any."""
        inside = ~barred
        while True:
            level = np.zeros(len(holds), np.int64)
            after = holds & self.step(Quantifier.EXISTS, inside) & ~barred
            number = 0
            while (after & (level == 0)).any():
                ask()
                number += 1
                level[after & (level == 0)] = number
                after = self.step(Quantifier.EXISTS, level > 0) & ~barred
            if ((level > 0) == inside).all():
                return level
            inside = level > 0

    def step(self, quantifier: Quantifier, states: Bools) -> Bools:
        """Cells all (some) steps from which lead into others."""
        good = self._good(states)
        groups, held = self._groups, self.expanded & self.present
        if quantifier is Quantifier.ALL:
            held[groups.cell[~good & self._every]] = False
            return held
        held &= ~self.ends
        some = self.present[groups.cell] & ~(self._every & bool(self.system.disturbances))
        if self._moves is None or self._moves[0] != self.size:
            rows = np.stack([groups.cell, groups.option, groups.branch, groups.choice], 1)[some]
            moves, which = np.unique(rows, axis=0, return_inverse=True)
            options, of = np.unique(moves[:, :2], axis=0, return_inverse=True)
            self._moves = self.size, which.reshape(-1), of.reshape(-1), options
        _, which, of, options = self._moves
        right = np.ones(len(of), bool)
        right[which[~(good & groups.whole)[some]]] = False
        chosen = np.zeros(len(options), bool)
        chosen[of[right]] = True
        held[options[~chosen, 0]] = False
        return held

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of cells and groups, by which a state of the graph is known."""
        return len(self.cells), len(self._groups.cell)

    @property
    def _every(self) -> Bools:
        """The groups that all runs are asked about."""
        option = self._groups.option
        return np.asarray(option < 0) if self.system.disturbances else np.ones(len(option), bool)

    def after(self, cells: Bools) -> Bools:
        """The cells that steps from some cells may lead to."""
        made = np.zeros(len(self.cells), bool)
        made[self._edges[1][cells[self._source]]] = True
        return made

    @property
    def _source(self) -> Ints:
        """Of each edge, the cell that it leads from."""
        return np.asarray(self._groups.cell[self._edges[0]])

    def largest(self, cells: Ints) -> Ints:
        """The cells that are at least half as wide as the widest of some, on the scale of their grid."""
        widths = ((self._high[cells] - self._low[cells]) / np.array([float(unit) for unit in self._grid.scale])).max(1)
        return np.asarray(cells[widths > widths.max() / 2])

    def mixed(self, holds: Bools, fails: Bools) -> Bools:
        """Cells whose steps lead to cells of different kinds, or that make different choices."""
        groups, (group, target) = self._groups, self._edges
        kind = np.where(holds, 1, np.where(fails, 2, 4))
        seen = np.zeros(len(self.cells), np.int64)
        np.bitwise_or.at(seen, groups.cell[group], kind[target])
        mixed = (seen & (seen - 1)) != 0
        if self._forked is None or self._forked[0] != self.size:
            pairs = np.unique(np.stack([groups.cell, groups.option], 1), axis=0)[:, 0]
            self._forked = self.size, np.bincount(pairs, minlength=len(mixed)) > 1
        return np.asarray(mixed | self._forked[1])

    def _good(self, states: Bools) -> Bools:
        """Groups that lead into some states alone."""
        good = ~self._outside
        good[self._edges[0][~states[self._edges[1]]]] = False
        return good

    def led(self, cell: int, quantifier: Quantifier, states: Bools) -> list[int]:
        """Cells that the steps of a cell are needed to lead to: all, or those of one good move an option."""
        groups, (group, target) = self._groups, self._edges
        rows = np.flatnonzero(groups.cell == cell)
        every = self._every[rows]
        if quantifier is Quantifier.ALL:
            rows = rows[every]
        else:
            good = self._good(states)
            rows = rows[~every] if self.system.disturbances else rows
            chosen: dict[int, tuple[int, int]] = {}
            bad = {self._move(r) for r in rows if not (good[r] and groups.whole[r])}
            for row in rows:
                if self._move(row) not in bad:
                    chosen.setdefault(int(groups.option[row]), self._move(row)[1:])
            rows = np.array([r for r in rows if chosen.get(int(groups.option[r])) == self._move(r)[1:]], np.int64)
        return sorted(set(target[np.isin(group, rows)].tolist()))

    def all_led(self) -> dict[int, set[int]]:
        """Cells that the steps of each cell lead to, of all runs."""
        group, target = self._edges[:, self._every[self._edges[0]]]
        led: dict[int, set[int]] = {}
        for cell, other in np.unique(np.stack([self._groups.cell[group], target], 1), axis=0).tolist():
            led.setdefault(cell, set()).add(other)
        return led

    def _move(self, row: np.intp) -> tuple[int, int, int]:
        groups = self._groups
        return int(groups.option[row]), int(groups.branch[row]), int(groups.choice[row])
