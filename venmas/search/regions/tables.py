"""A reach graph written as tables, a record a step (`venmas.checker.table`), by the checker's own batches of integers.

The graph says which regions refute what, and where to cut them. Cells, the outcomes that are possible in them, their
images and what covers those are computed as the checker does, so that it accepts what is written; a cell in which it
sees less than the graph is cut further. A region in which that does not help is left to the rules for single goals
(`venmas.search.regions.certificate`), whose lemmas stand beside the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from venmas.answer import IncompleteError
from venmas.bounds.rounding import Bools
from venmas.budget import ask
from venmas.checker.check import check
from venmas.checker.lattice import cover
from venmas.checker.moves import Behaviour, NotAffineError, OpenChoiceError
from venmas.checker.numbers import CheckError
from venmas.checker.rule import Rule
from venmas.checker.rules import End, Listed, Table, Within
from venmas.checker.table import Ahead
from venmas.checker.tablecheck import FIRST_COVER, NO_ROW, Verdict, step_fails
from venmas.checker.tabling import Asked, Tabling
from venmas.checker.tabling import Key as Kind
from venmas.logic import AX, EX, Formula
from venmas.question import Question
from venmas.search.regions.boxes import Index
from venmas.search.regions.certificate import GraphProof, write_proof
from venmas.search.regions.frames import Ints
from venmas.search.regions.graph import Graph
from venmas.search.regions.lemma_index import Key

MAX_ROUNDS = 6
"""How often cells are cut in which the checker sees less than the graph."""
_PAIRS = 4_000_000


@dataclass(eq=False)
class Regions:
    """The regions of a step in which something is refuted, of all passes: R of them.

    keys (R, 3): pass, node. where: their locations. refuted (R, F): which formulas of the stage. pieces, low and high,
    and the region that each is a part of.
    """

    keys: list[tuple[int, int]]
    where: Index
    low: Ints
    high: Ints
    refuted: Bools
    piece_low: Ints
    piece_high: Ints
    piece_of: Index

    @staticmethod
    def of(graph: Graph, step: int) -> Regions:
        """Those of a graph that kept its past."""
        parts, pieces, count = [], [], 0
        for turn, layers in enumerate(graph.past):
            if step >= len(layers):
                continue
            layer = layers[step]
            nodes, refuted = layer.nodes, layer.nodes.wanted & ~layer.may
            kept = np.flatnonzero(refuted.any(1))
            parts.append(
                ([(turn, int(n)) for n in kept], nodes.location[kept], nodes.low[kept], nodes.high[kept], refuted[kept])
            )
            if layer.pieces is not None:
                place = np.full(len(nodes), -1, dtype=np.intp)
                place[kept] = np.arange(len(kept)) + count
                of = place[layer.pieces.node]
                used = of >= 0
                pieces.append((layer.pieces.boxes.low[used], layer.pieces.boxes.high[used], of[used]))
            count += len(kept)
        keys = [key for part in parts for key in part[0]]
        arrays = [np.concatenate([part[i] for part in parts]) for i in range(1, 5)]
        if not pieces:
            none = np.zeros((0, arrays[1].shape[1]), dtype=np.int64)
            pieces = [(none, none, np.zeros(0, dtype=np.intp))]
        cut = [np.concatenate(column) for column in zip(*pieces, strict=True)]
        return Regions(keys, arrays[0], arrays[1], arrays[2], arrays[3], *cut)


class Tree:
    """Boxes cut at midpoints: a forest, whose first nodes are its roots."""

    def __init__(self, low: Ints, high: Ints) -> None:
        self.low, self.high, self.roots = low, high, len(low)
        self.root = np.arange(len(low))
        self.axis = np.full(len(low), -1, dtype=np.int64)
        self.child = np.full(len(low), -1, dtype=np.intp)

    def cut(self, nodes: Index, axis: Index) -> Index:
        """Cut leaves; the first halves, each followed by its second."""
        first = len(self.low) + 2 * np.arange(len(nodes))
        self.axis[nodes], self.child[nodes] = axis, first
        low, high = np.repeat(self.low[nodes], 2, axis=0), np.repeat(self.high[nodes], 2, axis=0)
        at, rows = axis, 2 * np.arange(len(nodes))
        middle = (low[rows, at] + high[rows, at]) >> 1
        high[rows, at] = middle
        low[rows + 1, at] = middle
        self.low, self.high = np.concatenate([self.low, low]), np.concatenate([self.high, high])
        self.root = np.concatenate([self.root, np.repeat(self.root[nodes], 2)])
        self.axis = np.concatenate([self.axis, np.full(2 * len(nodes), -1, dtype=np.int64)])
        self.child = np.concatenate([self.child, np.full(2 * len(nodes), -1, dtype=np.intp)])
        return first

    def follow(self, low: Ints, high: Ints, of: Index) -> None:
        """Cut roots as pieces (low, high, root) of them were cut, as far as that was at midpoints."""
        while len(of):
            order = np.argsort(of, kind="stable")
            low, high, of = low[order], high[order], of[order]
            start = np.flatnonzero(np.diff(of, prepend=-1))
            nodes = of[start]
            middle = (self.low[of] + self.high[of]) >> 1
            left, right = high <= middle, low >= middle
            apart = np.logical_and.reduceat(left | right, start) & ~np.logical_and.reduceat(left, start)
            apart &= ~np.logical_and.reduceat(right, start)
            able: Bools = np.asarray(apart.any(1))
            axis = apart.argmax(1)
            first = np.full(len(nodes), -1, dtype=np.intp)
            first[able] = self.cut(nodes[able], axis[able])
            group = np.repeat(np.arange(len(nodes)), np.diff(start, append=len(of)))
            keep = able[group]
            side = ~left[np.arange(len(of)), axis[group]]
            of = (first[group] + side)[keep]
            low, high = low[keep], high[keep]

    def leaves(self, roots: Index) -> tuple[list[Ints], Index]:
        """The splits of some roots, level by level (see `venmas.checker.listing.cells`), and their leaves in order."""
        levels, found, nodes = [], [np.zeros(0, dtype=np.intp)], roots
        while len(nodes):
            axis = self.axis[nodes]
            levels.append(axis + 1)
            found.append(nodes[axis < 0])
            first = self.child[nodes[axis >= 0]]
            nodes = np.stack([first, first + 1], 1).reshape(-1)
        return levels, np.concatenate(found)


@dataclass(eq=False)
class Step:
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


class Tables(GraphProof):
    """Writes a graph's proof in tables, and in lines what does not fit into them."""

    def run(self) -> None:
        """Tables and lemmas from the last step to the first, then the initial regions. Raises `IncompleteError`."""
        graph = self.graph
        frames = [self._frame(step)[1:] for step in range(max(map(len, graph.past)))]
        self.tabling = Tabling(self.space.system, self.book.choices, frames)
        self.regions = [Regions.of(graph, step) for step in range(len(frames))]
        steps: list[Step] = []
        wanted = self.regions[0].refuted
        for step in range(len(frames)):
            graph.tick()
            made, wanted = _Filling(self, step, wanted).run()
            steps.append(made)
        later: dict[int, Index] = {}
        to: list[int] = []
        for step in reversed(range(len(frames))):
            graph.tick()
            to, later = self._write(step, steps[step], to, later)
        super().run()

    def _write(
        self, step: int, made: Step, to: list[int], later: dict[int, Index]
    ) -> tuple[list[int], dict[int, Index]]:
        """The table of a step, and lines of regions that are not in it; their numbers, and for every formula the rows.

        to, later: the same of the next step.
        """
        regions, stage = made.regions, self.graph.stages[step]
        asked = made.wanted.any(1)
        rows = np.flatnonzero(asked & made.fit)
        numbers: list[int] = []
        place = np.full(len(regions.where), -1, dtype=np.intp)
        if len(rows):
            number = self._emit([self._table(step, made, rows, to, later)])
            numbers.append(number)
            place[rows] = np.arange(len(rows))
        found = {f: np.where(made.wanted[:, f], place, -1) for f in range(len(stage.formulas))}
        for f in found:
            for row in np.flatnonzero(found[f] >= 0).tolist():
                turn, node = regions.keys[row]
                self._named[Key(turn, step, node, f)] = Listed(numbers[0], int(found[f][row]))
        count = len(rows)
        for row in np.flatnonzero(asked & ~made.fit).tolist():
            turn, node = regions.keys[row]
            for f in np.flatnonzero(made.wanted[row]).tolist():
                key = Key(turn, step, node, f)
                if key not in self._named:
                    self._drive(self._lemma(key), key)
                named = self._named[key]
                assert isinstance(named, Within)
                numbers.append(named.lemma)
                found[f][row] = count
                count += 1
        return numbers, found

    def _table(self, step: int, made: Step, rows: Index, to: list[int], later: dict[int, Index]) -> Table:
        regions, stage = made.regions, self.graph.stages[step]
        splits, leaves = made.tree.leaves(rows)
        place = np.full(len(made.tree.low), -1, dtype=np.intp)
        place[made.cells] = np.arange(len(made.cells))
        mine = place[leaves]
        kind = made.kind[mine]
        used = np.flatnonzero(np.bincount(kind + 1, minlength=len(made.kinds) + 1)[1:])
        new = np.zeros(len(made.kinds) + 1, dtype=np.int64)
        new[used + 1] = np.arange(1, len(used) + 1)
        locations = np.flatnonzero(np.bincount(regions.where[rows]))
        integers = [self.space.locations[n].values for n in locations.tolist()]
        # by kind, cells in the order of the table as positions among those of the step
        order = np.full(len(made.cells), -1, dtype=np.intp)
        for k in range(len(made.kinds)):
            at = np.flatnonzero(made.kind == k)
            order[at] = np.arange(len(at))
        ahead = []
        for f, moves in made.ahead.items():
            number = self._formulas[self.graph.stages[step + 1].formulas[f]]
            covers: dict[int, int] = {}
            by_kind = []
            for k in used.tolist():
                at = order[mine[kind == k]]
                columns = []
                for column in moves[k]:
                    targets = column[at]
                    one, several = targets >= 0, targets <= FIRST_COVER
                    found = np.full(len(at), NO_ROW, dtype=np.int64)
                    found[one] = later[f][targets[one]]
                    numbers = [FIRST_COVER - int(t) for t in targets[several]]
                    found[several] = [FIRST_COVER - covers.setdefault(n, len(covers)) for n in numbers]
                    columns.append(found)
                by_kind.append(tuple(columns))
            lists = tuple(tuple(int(later[f][r]) for r in made.covers[f][n]) for n in covers)
            ahead.append(Ahead(number, tuple(by_kind), lists))
        where = np.searchsorted(locations, regions.where[rows])
        places = {v: i for i, v in enumerate(integers)}
        kinds = tuple((places[made.kinds[k][0]], made.kinds[k][1]) for k in used.tolist())
        low, high = regions.low[rows], regions.high[rows]
        says = made.wanted[rows] @ (np.int64(1) << np.arange(len(stage.formulas)))
        formulas = tuple(self._formulas[f] for f in stage.formulas)
        return Table(
            self._frame(step)[0], formulas, tuple(integers), where, says, low.T, (high - low).T, tuple(splits), kinds,
            new[kind + 1], tuple(to) if ahead else (), tuple(ahead),
        )  # fmt: skip


class _Filling:
    """The cells of a step, cut until the checker sees what the graph did."""

    def __init__(self, proof: Tables, step: int, wanted: Bools) -> None:
        self.proof, self.step, self.wanted, self.tabling = proof, step, wanted, proof.tabling
        self.regions, self.stage = proof.regions[step], proof.graph.stages[step]
        self.next = proof.regions[step + 1] if step + 1 < len(proof.regions) else None
        self.places = {
            n: proof.space.locations[n].values for n in np.flatnonzero(np.bincount(self.regions.where)).tolist()
        }
        regions = self.regions
        self.tree = Tree(regions.low, regions.high)
        asked: Bools = np.asarray(wanted.any(1))
        used = asked[regions.piece_of]
        self.tree.follow(regions.piece_low[used], regions.piece_high[used], regions.piece_of[used])
        self.roots = np.flatnonzero(asked)
        self._bits: dict[int, Ints] = {}
        """Of choices that were asked about, the outcomes that are possible in every node of the tree, -1: not known."""
        self._choices: dict[int, list[int]] = {n: [] for n in self.places}
        """Choices that matter in a location."""
        self._odd: set[int] = set()
        """Locations in which something is not affine."""
        self._numbers = {id(n): i for i, n in enumerate(proof.book.choices)}

    def run(self) -> tuple[Step, Bools]:
        """What is written of the step, and what is wanted of the next one's regions."""
        for turn in range(MAX_ROUNDS + 1):
            _, cells = self.tree.leaves(self.roots)
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

    def _looked(self, cells: Index) -> tuple[Step, Bools]:
        """What cells do, and in which of them all that is wanted of their region fails."""
        regions, tabling = self.regions, self.tabling
        low, high, root = self.tree.low[cells], self.tree.high[cells], self.tree.root[cells]
        where = regions.where[root]
        wanted = self.wanted[root]
        places = [self.proof.space.locations[n].values for n in range(int(regions.where.max(initial=-1)) + 1)]
        none: dict[Formula, Bools] = {}
        verdict = Verdict(tabling, self.step, places, where, (low, high), none)
        plain = self._fine(verdict, wanted)
        fit = np.ones(len(regions.where), dtype=bool)
        if self.next is None or plain.all():
            nothing = np.full(len(cells), -1, dtype=np.intp)
            return Step(regions, self.wanted, self.tree, cells, nothing, [], {}, {}, fit), plain
        busy = np.flatnonzero(~plain)
        kind, kinds, made = self._kinds(cells, where, busy)
        after = self.proof.graph.stages[self.step + 1].formulas
        steps: dict[Formula, Bools] = {s: np.zeros(len(cells), dtype=bool) for f in after for s in (EX(f), AX(f))}
        ahead: dict[int, list[list[Ints]]] = {f: [] for f in range(len(after))}
        covers: dict[int, list[list[int]]] = {f: [] for f in range(len(after))}
        for k, does in enumerate(made):
            ask()
            at = np.flatnonzero(kind == k)
            ends = [self._image(m, low[at], high[at]) for m in does.moves]
            for f, formula in enumerate(after):
                columns = [self._held(f, m.integers, *e, covers[f]) for m, e in zip(does.moves, ends, strict=True)]
                ahead[f].append(columns)
                steps[EX(formula)][at], steps[AX(formula)][at] = step_fails(
                    does, [c != NO_ROW for c in columns], len(at)
                )
        verdict = Verdict(tabling, self.step, places, where, (low, high), steps)
        good = plain | self._fine(verdict, wanted)
        return Step(regions, self.wanted, self.tree, cells, kind, kinds, ahead, covers, fit), good

    def _fine(self, verdict: Verdict, wanted: Bools) -> Bools:
        fails = np.stack([verdict.fails(f) for f in self.stage.formulas], 1)
        return np.asarray((fails | ~wanted).all(1), dtype=bool)

    def _image(self, move: object, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        return self.tabling.image(move, self.step, self.step + 1).around(low, high)  # type: ignore[arg-type]

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
        asked: list[tuple[int, Index, Asked]] = []
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
        answers = self.tabling.asked([part for _, _, part in asked])
        for (choice, new, _), bits in zip(asked, answers, strict=True):
            self._bits[choice][new] = bits

    # -- what holds images ---------------------------------------------------------------------------------------------

    def _held(self, formula: int, integers: tuple[int, ...], low: Ints, high: Ints, covers: list[list[int]]) -> Ints:
        """Of images (B, n), the region of the next step that holds each and refutes a formula, or a new cover."""
        found = np.full(len(low), NO_ROW, dtype=np.int64)
        number = self.proof.space.known(integers)
        if number is None or self.next is None:
            return found
        rows = np.flatnonzero((self.next.where == number) & self.next.refuted[:, formula])
        a, b = self.next.low[rows], self.next.high[rows]
        turn = max(1, _PAIRS // max(1, len(rows)))
        for first in range(0, len(low), turn):
            ask()
            part = slice(first, first + turn)
            holds = np.ones((len(low[part]), len(rows)), dtype=bool)
            for i in range(low.shape[1]):
                holds &= (a[:, i] <= low[part, i, None]) & (high[part, i, None] <= b[:, i])
            one = holds.any(1)
            found[part][one] = rows[holds.argmax(1)[one]] if len(rows) else 0
        for i in np.flatnonzero(found == NO_ROW).tolist():
            ask()
            wide = high[i] > low[i]
            least, most = np.maximum(a, low[i]), np.minimum(b, high[i])
            near = np.flatnonzero(np.where(wide, most > least, most >= least).all(1))
            if not len(near):
                continue
            boxes = [(a[r].tolist(), b[r].tolist()) for r in near]
            if cover(low[i].tolist(), high[i].tolist(), boxes):
                found[i] = FIRST_COVER - len(covers)
                covers.append(rows[near].tolist())
        return found


def _distinct(columns: list[Ints], size: int) -> tuple[list[list[int]], Index]:
    """The different rows of some columns of so many entries, and which of them each row is."""
    if not columns:
        return [[]], np.zeros(size, dtype=np.intp)
    if len(columns) == 1:  # by far the most frequent, and the cheaper question
        found, which = np.unique(columns[0], return_inverse=True)
        return [[v] for v in found.tolist()], which
    rows, which = np.unique(np.stack(columns, 1), axis=0, return_inverse=True)
    return rows.tolist(), which.reshape(-1)


def write_tables(graph: Graph, question: Question, write: Callable[[Rule], None]) -> int:
    """Write the proof of what a graph, with its past, has refuted, in tables if it fits; the number of lines.

    Raises `IncompleteError`.
    """
    found: list[Rule] = []
    if question.semantics == "real":
        proof = Tables(graph, question.target, found.append, inside=question.inside)
        try:
            proof.run()
            if proof.left_box and not question.inside:
                raise IncompleteError("a state may leave its box")
            _checked(graph, question, found)
        except (CheckError, NotAffineError, OverflowError):
            found.clear()
    if not found:
        return write_proof(graph, question, write)
    for rule in found:
        write(rule)
    return len(found)


def _checked(graph: Graph, question: Question, found: list[Rule]) -> None:
    """Check what is to be written, as whoever reads it will. Raises `CheckError`."""
    lines = ((n, rule.to_json()) for n, rule in enumerate([*found, End(len(found) + 1)], 1))
    check(graph.space.system, question.formula, question.inside, lines, lambda _: ask(), question.semantics)
