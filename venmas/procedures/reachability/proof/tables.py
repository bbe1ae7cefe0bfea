"""Certificate of a reachability graph as tables, a record a step (`venmas.checker.goals.tables.table`).

All is computed by the checker's own batches of integers. The graph says which regions refute what, and where to cut
them. Cells, the outcomes that are possible in them, their images and what covers those are computed as the checker
does, so that it accepts what is written; a cell in which it sees less than the graph is cut further. A region in
which that does not help is left to the rules for single goals (`venmas.procedures.reachability.proof.certificate`),
whose lemmas stand beside the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from venmas.answer import IncompleteError
from venmas.bounds.rounding import Index
from venmas.budget import ask
from venmas.checker.exact.moves import NotAffineError
from venmas.checker.fixed_point.evaluation import Tabling
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import End, Rule
from venmas.checker.goals.check import check
from venmas.checker.goals.rules import Listed, Table, Within
from venmas.checker.goals.tables.check import FIRST_COVER, NO_ROW
from venmas.checker.goals.tables.table import Ahead
from venmas.procedures.reachability.graph.graph import Graph
from venmas.procedures.reachability.proof.certificate import GraphProof, graph_lines
from venmas.procedures.reachability.proof.filling import Filled, Filling
from venmas.procedures.reachability.proof.lemma_index import Key
from venmas.question import Question


class Tables(GraphProof):
    """Writes a graph's proof in tables, and in lines what does not fit into them."""

    def run(self) -> None:
        """Tables and lemmas from the last step to the first, then the initial regions. Raises `IncompleteError`."""
        graph = self.graph
        frames = [self._frame(step)[1:] for step in range(max(map(len, graph.past)))]
        self.tabling = Tabling(self.space.system, self.book.choices, frames)
        self.regions = [self.cover.regions(step) for step in range(len(frames))]
        steps: list[Filled] = []
        fillings = [Filling(self.space, self.tabling, graph.stages, self.regions, n) for n in range(len(frames))]
        questions = [filling.first_questions() for filling in fillings]
        answers = iter(self.tabling.asked([asked for part in questions for _, _, asked in part]))
        wanted = self.regions[0].refuted
        for filling, part in zip(fillings, questions, strict=True):
            graph.tick()
            filling.told(part, [next(answers) for _ in part])
            made, wanted = filling.run(wanted)
            steps.append(made)
        later: dict[int, Index] = {}
        to: list[int] = []
        for step in reversed(range(len(frames))):
            graph.tick()
            to, later = self._write(step, steps[step], to, later)
        super().run()

    def _write(
        self, step: int, made: Filled, to: list[int], later: dict[int, Index]
    ) -> tuple[list[int], dict[int, Index]]:
        """The tables of a step, and lines of regions that are not in them.

        Their numbers, and for every formula the rows, counted through; to, later: the same of the next step.
        """
        regions, stage = made.regions, self.graph.stages[step]
        asked = made.wanted.any(1)
        rows = np.flatnonzero(asked & made.fit)
        numbers: list[int] = []
        place = np.full(len(regions.where), -1, dtype=np.intp)
        line = np.full(len(regions.where), -1, dtype=np.intp)
        first = np.zeros(len(regions.where), dtype=np.intp)
        for part in made.parts(rows):
            first[part] = place[rows].max() + 1
            numbers.append(self._emit([self._table(step, made, part, to, later)]))
            line[part], place[part] = numbers[-1], first[part] + np.arange(len(part))
        found = {f: np.where(made.wanted[:, f], place, -1) for f in range(len(stage.formulas))}
        for f in found:
            for row in np.flatnonzero(found[f] >= 0).tolist():
                self._named[Key(step, row, f)] = Listed(int(line[row]), int(place[row] - first[row]))
        count = len(rows)
        for row in np.flatnonzero(asked & ~made.fit).tolist():
            for f in np.flatnonzero(made.wanted[row]).tolist():
                key = Key(step, row, f)
                if key not in self._named:
                    self._drive(self._lemma(key), key)
                named = self._named[key]
                assert isinstance(named, Within)
                numbers.append(named.lemma)
                found[f][row] = count
                count += 1
        return numbers, found

    def _table(self, step: int, made: Filled, rows: Index, to: list[int], later: dict[int, Index]) -> Table:
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
            self._frame(step)[0], formulas, tuple(integers), where, says,
            tuple(low.T), tuple((high - low).T), tuple(splits), kinds,
            new[kind + 1], tuple(to) if ahead else (), tuple(ahead),
        )  # fmt: skip


@dataclass(frozen=True)
class GraphTables:
    """The proof of what a graph, with its past, has refuted."""

    graph: Graph
    kind: ClassVar[str] = "goals"

    def lines(self, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
        """In tables if it fits into them. Raises `IncompleteError`."""
        yield from self._tables(question) or graph_lines(self.graph, question)

    def _tables(self, question: Question) -> list[Rule]:
        """Nothing where they do not do. Raises `IncompleteError`."""
        found: list[Rule] = []
        if question.semantics == "real":
            proof = Tables(self.graph, question.target, found.append, inside=question.inside)
            try:
                proof.run()
                if proof.left_box and not question.inside:
                    raise IncompleteError("a state may leave its box")
                self._checked(question, found)
            except (CheckError, NotAffineError, OverflowError, RecursionError):
                return []
        return found

    def _checked(self, question: Question, found: list[Rule]) -> None:
        """Check what is to be written, as whoever reads it will. Raises `CheckError`."""
        rows = (rule.to_json() for rule in [*found, End(len(found) + 1)])
        system = self.graph.space.system
        check(system, question.formula, question.inside, Lines(rows, lambda _: ask()), question.semantics)
