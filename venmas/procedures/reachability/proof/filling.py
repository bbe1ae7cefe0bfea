"""Cells of a step of a reachability graph, as tables have them: what is possible in each, and where that leads.

All is computed by the checker's own batches of integers. A cell in which it sees less than the graph did is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from venmas.bounds.rounding import Bools, Index, Ints
from venmas.budget import ask
from venmas.checker.exact.moves import Behaviour, Move, NotAffineError, OpenChoiceError
from venmas.checker.fixed_point.evaluation import Asked, Tabling
from venmas.checker.fixed_point.evaluation import Key as Kind
from venmas.checker.fixed_point.lattice import cover
from venmas.checker.goals.tables.check import FIRST_COVER, NO_ROW, Verdict, step_fails
from venmas.logic import AX, EX, Formula
from venmas.logic.stages import Stage
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.proof.lemma_index import Regions
from venmas.procedures.reachability.proof.midpoints import Tree

MAX_ROUNDS = 6
"""How often cells are cut in which the checker sees less than the graph, before lemmas of their own are written: a
table of 64 times as many cells would be the larger proof."""
MOST_CELLS = 50_000
"""Cells of a table, where no row has more: a table is written, and checked, at once."""
_PAIRS = 4_000_000
"""Pairs of an image and a region that are compared at a time: 4 MB for each of a few arrays."""
Question: TypeAlias = "tuple[int, Index, Asked]"
"""A choice by number, nodes of a tree, and what a network has to be asked about them."""


@dataclass(eq=False)
class Filled:
    """What is written of a step: fit regions and the cells of all; of cells, by place in `cells`, what they do.

    covers: by formula of the next stage, lists of regions; ahead: by it, then kind and move, regions or covers.
    """

    regions: Regions
    wanted: Bools
    tree: Tree
    cells: Index
    kind: Index
    kinds: list[Kind]
    ahead: dict[int, list[list[Ints]]]
    covers: dict[int, list[list[int]]]
    fit: Bools
    """(R,)"""

    def parts(self, rows: Index) -> list[Index]:
        """Some regions in parts that a table has room for."""
        size = np.bincount(self.tree.root[self.cells], minlength=len(self.regions.where))[rows]
        return [p for p in np.split(rows, np.flatnonzero(np.diff(np.cumsum(size) // MOST_CELLS)) + 1) if len(p)]


class Filling:
    """The cells of a step, cut until the checker sees what the graph did."""

    def __init__(self, space: Space, tabling: Tabling, stages: list[Stage], every: list[Regions], step: int) -> None:
        self.space, self.tabling, self.step = space, tabling, step
        self.regions, self.stage = every[step], stages[step]
        self.next = every[step + 1] if step + 1 < len(every) else None
        self.after = stages[step + 1].formulas if step + 1 < len(stages) else []
        self.places = {n: space.locations[n].values for n in np.flatnonzero(np.bincount(self.regions.where)).tolist()}
        regions = self.regions
        self.tree = Tree(regions.low, regions.high)
        self.tree.follow(regions.piece_low, regions.piece_high, regions.piece_of)
        self._bits: dict[int, Ints] = {}
        """Of choices that were asked about, the outcomes that are possible in every node of the tree, -1: not known."""
        self._choices: dict[int, list[int]] = {n: [] for n in self.places}
        """Choices that matter in a location."""
        self._odd: set[int] = set()
        """Locations in which something is not affine."""
        self._numbers = {id(n): i for i, n in enumerate(tabling.choices)}
        self._covers: dict[int, list[list[int]]] = {f: [] for f in range(len(self.after))}
        self._kind_numbers: dict[Kind, int] = {}
        self._targets: dict[tuple[int, int], tuple[Ints, Ints]] = {}
        """By formula of the next stage and move: of nodes of the tree, the kind that was looked at, and what `_held`
        found. Most cells stay as they are from one round to the next."""

    def run(self, wanted: Bools) -> tuple[Filled, Bools]:
        """What is written of the step, and what is wanted of the next one's regions; wanted: of this step's, (R, F)."""
        self.wanted = wanted
        roots = np.flatnonzero(wanted.any(1))
        for turn in range(MAX_ROUNDS + 1):
            _, cells = self.tree.leaves(roots)
            made, good = self._looked(cells)
            if good.all() or turn == MAX_ROUNDS:
                break
            low, high = self.tree.low[cells], self.tree.high[cells]
            odd = np.isin(self.regions.where[self.tree.root[cells]], list(self._odd))
            able = ~good & ~odd & (high - low > 1).any(1)
            if not able.any():
                break
            self.tree.cut(cells[able], (high - low)[able].argmax(1))
        root = self.tree.root[cells]
        made.fit[root[~good]] = False
        wanted = np.zeros((0, 0), dtype=bool)
        if self.next is not None:
            wanted = np.zeros_like(self.next.refuted)
            fit = made.fit[root]
            for f, kinds in made.ahead.items():
                for k, moves in enumerate(kinds):
                    there = fit[made.kind == k]
                    for column in moves:
                        targets = column[there]
                        wanted[targets[targets >= 0], f] = True
                        for n in set(targets[targets <= FIRST_COVER].tolist()):
                            wanted[made.covers[f][FIRST_COVER - n], f] = True
        return made, wanted

    def first_questions(self) -> list[Question]:
        """What networks have to be asked at first, so that this can be done for many steps at once: see `told`."""
        if self.next is None:
            return []
        _, cells = self.tree.leaves(np.arange(self.tree.roots))
        where = self.regions.where[self.tree.root[cells]]
        for location in self.places:
            self._kind(location, {})
        return self._questions({n: cells[where == n] for n in self.places if n not in self._odd})

    def told(self, questions: list[Question], answers: list[Ints]) -> None:
        """Remember what networks say."""
        for (choice, nodes, _), bits in zip(questions, answers, strict=True):
            self._bits[choice][nodes] = bits

    def _looked(self, cells: Index) -> tuple[Filled, Bools]:
        """What cells do, and in which of them all that is wanted of their region fails."""
        regions, tabling = self.regions, self.tabling
        low, high, root = self.tree.low[cells], self.tree.high[cells], self.tree.root[cells]
        where = regions.where[root]
        wanted = self.wanted[root]
        places = [self.space.locations[n].values for n in range(int(regions.where.max(initial=-1)) + 1)]
        none: dict[Formula, Bools] = {}
        verdict = Verdict(tabling, self.step, places, where, (low, high), none)
        plain = self._fine(verdict, wanted)
        fit = np.ones(len(regions.where), dtype=bool)
        if self.next is None or plain.all():
            nothing = np.full(len(cells), -1, dtype=np.intp)
            return Filled(regions, self.wanted, self.tree, cells, nothing, [], {}, {}, fit), plain
        busy = np.flatnonzero(~plain)
        kind, kinds, made = self._kinds(cells, where, busy)
        after = self.after
        steps: dict[Formula, Bools] = {s: np.zeros(len(cells), dtype=bool) for f in after for s in (EX(f), AX(f))}
        ahead: dict[int, list[list[Ints]]] = {f: [] for f in range(len(after))}
        for k, does in enumerate(made):
            ask()
            at = np.flatnonzero(kind == k)
            number = self._kind_numbers.setdefault(kinds[k], len(self._kind_numbers))
            for f, formula in enumerate(after):
                columns = [self._target((f, j), number, m, cells[at]) for j, m in enumerate(does.moves)]
                ahead[f].append(columns)
                steps[EX(formula)][at], steps[AX(formula)][at] = step_fails(
                    does, [c != NO_ROW for c in columns], len(at)
                )
        verdict = Verdict(tabling, self.step, places, where, (low, high), steps)
        good = plain | self._fine(verdict, wanted)
        return Filled(regions, self.wanted, self.tree, cells, kind, kinds, ahead, self._covers, fit), good

    def _fine(self, verdict: Verdict, wanted: Bools) -> Bools:
        fails = np.stack([verdict.fails(f) for f in self.stage.formulas], 1)
        return np.asarray((fails | ~wanted).all(1), dtype=bool)

    def _image(self, move: Move, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        return self.tabling.image(move, self.step, self.step + 1).around(low, high)

    # -- kinds ---------------------------------------------------------------------------------------------------------

    def _kinds(self, cells: Index, where: Index, busy: Index) -> tuple[Index, list[Kind], list[Behaviour]]:
        """The kind of every cell (-1: none), and all kinds with what they do; busy: cells that need one."""
        kind = np.full(len(cells), -1, dtype=np.intp)
        kinds: dict[Kind, int] = {}
        made: list[Behaviour] = []
        waiting = {n: busy[where[busy] == n] for n in np.flatnonzero(np.bincount(where[busy])).tolist()}
        while waiting:
            self._ask({n: cells[at] for n, at in waiting.items() if n not in self._odd})
            again: dict[int, Index] = {}
            for n, at in waiting.items():
                if n in self._odd:
                    continue
                chosen = self._choices[n]
                rows, which = _distinct([self._bits[c][cells[at]] for c in chosen], len(at))
                for r, bits in enumerate(rows):
                    found = self._kind(n, dict(zip(chosen, bits, strict=False)))
                    if found is None:
                        again[n] = at
                        break
                    if found is not False:
                        key, does = found
                        if key not in kinds:
                            kinds[key] = len(kinds)
                            made.append(does)
                        kind[at[which == r]] = kinds[key]
            waiting = {n: at for n, at in again.items() if n not in self._odd}
        return kind, list(kinds), made

    def _kind(self, location: int, known: dict[int, int]) -> tuple[Kind, Behaviour] | Literal[False] | None:
        """The kind of cells with some outcomes; None: another choice has to be known; False: there is none."""
        chosen: list[tuple[int, int]] = []
        while True:
            ask()
            key = self.places[location], tuple(chosen)
            try:
                return key, self.tabling.behaviour(key)
            except NotAffineError:
                if len(chosen) < len(known) or not chosen:
                    self._odd.add(location)
                return False
            except OpenChoiceError as error:
                number = self._numbers[id(error.node)]
                if number not in known:
                    self._choices[location].append(number)
                    return None
                chosen.append((number, known[number]))

    def _ask(self, nodes: dict[int, Index]) -> None:
        """Find out the outcomes of the choices that matter in nodes of the tree, by location."""
        questions = self._questions(nodes)
        self.told(questions, self.tabling.asked([asked for _, _, asked in questions]))

    def _questions(self, nodes: dict[int, Index]) -> list[Question]:
        """Find out what does not hang on networks, and what they have to be asked."""
        asked: list[Question] = []
        for location, few in nodes.items():
            for choice in self._choices[location]:
                old = self._bits.get(choice, np.zeros(0, dtype=np.int64))
                more = np.full(len(self.tree.low) - len(old), -1, dtype=np.int64)
                known = self._bits[choice] = np.concatenate([old, more])
                new = few[known[few] < 0]
                if not len(new):
                    continue
                low, high = self.tree.low[new], self.tree.high[new]
                try:
                    found = self.tabling.bits(self.places[location], choice, self.step, low, high)
                except NotAffineError:
                    self._odd.add(location)
                    break
                if isinstance(found, Asked):
                    asked.append((choice, new, found))
                else:
                    known[new] = found
        return asked

    # -- what holds images ---------------------------------------------------------------------------------------------

    def _target(self, name: tuple[int, int], kind: int, move: Move, nodes: Index) -> Ints:
        """Of nodes of the tree of a kind, what holds their images under a move."""
        none = np.zeros(0, dtype=np.int64)
        of, found = self._targets.get(name, (none, none))
        more = len(self.tree.low) - len(of)
        of, found = np.pad(of, (0, more), constant_values=-1), np.pad(found, (0, more), constant_values=NO_ROW)
        self._targets[name] = of, found
        new = nodes[of[nodes] != kind]
        if len(new):
            ends = self._image(move, self.tree.low[new], self.tree.high[new])
            found[new], of[new] = self._held(name[0], move.integers, *ends), kind
        return found[nodes]

    def _held(self, formula: int, integers: tuple[int, ...], low: Ints, high: Ints) -> Ints:
        """Of images (B, n), the region of the next step that holds each and refutes a formula, or a new cover."""
        found = np.full(len(low), NO_ROW, dtype=np.int64)
        number = self.space.known(integers)
        if number is None or self.next is None:
            return found
        covers = self._covers[formula]
        rows = np.flatnonzero((self.next.where == number) & self.next.refuted[:, formula])
        a, b = self.next.low[rows], self.next.high[rows]
        turn = max(1, _PAIRS // max(1, len(rows)))
        for first in range(0, len(low), turn):
            ask()
            part = slice(first, first + turn)
            one = _each(_inside, a, b, low[part], high[part])
            held = one.any(1)
            found[part][held] = rows[one.argmax(1)[held]] if len(rows) else 0
            left = np.flatnonzero(~held) + first
            near = _each(_meets, a, b, low[left], high[left])
            for image, boxes in zip(left.tolist(), near, strict=True):
                ask()
                some = np.flatnonzero(boxes)
                ends = list(zip(a[some].tolist(), b[some].tolist(), strict=True))
                if ends and cover(low[image].tolist(), high[image].tolist(), ends):
                    found[image] = FIRST_COVER - len(covers)
                    covers.append(rows[some].tolist())
        return found


def _each(test: Callable[[Ints, Ints, Ints, Ints], Bools], a: Ints, b: Ints, low: Ints, high: Ints) -> Bools:
    """(B, R): for which regions [a, b] (R, n) and images [low, high] (B, n) a test holds along each axis."""
    found = np.ones((len(low), len(a)), dtype=bool)
    for i in range(a.shape[1]):
        found &= test(a[:, i], b[:, i], low[:, None, i], high[:, None, i])
    return found


def _inside(a: Ints, b: Ints, low: Ints, high: Ints) -> Bools:
    return np.asarray((a <= low) & (high <= b))


def _meets(a: Ints, b: Ints, low: Ints, high: Ints) -> Bools:
    """Where [a, b] holds more than an end of [low, high], or all of it where that is a point."""
    least, most = np.maximum(a, low), np.minimum(b, high)
    return np.asarray((most > least) | (most == least) & (high == low))


def _distinct(columns: list[Ints], size: int) -> tuple[list[list[int]], Index]:
    """The different rows of some columns of so many entries, and which of them each row is."""
    if not columns:
        return [[]], np.zeros(size, dtype=np.intp)
    if len(columns) == 1:  # by far the most frequent, and the cheaper question
        found, which = np.unique(columns[0], return_inverse=True)
        return [[v] for v in found.tolist()], which
    rows, which = np.unique(np.stack(columns, 1), axis=0, return_inverse=True)
    return rows.tolist(), which.reshape(-1)
