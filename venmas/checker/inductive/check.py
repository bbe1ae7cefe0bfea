"""Checking that a set is inductive: every claim is closed, on the whole of its cell or on the leaves of its tree.

The claims are made here, of the header alone: a certificate chooses where cells are cut and nothing else.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from venmas.checker.exact.cell import Cell
from venmas.checker.format.about import About
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import End
from venmas.checker.goals.check import Checked
from venmas.checker.inductive.batch import CHUNK, Batch
from venmas.checker.inductive.claims import Claim, Claims
from venmas.checker.inductive.exact import Exact
from venmas.checker.inductive.rules import Safe, Set, Start, Step, Tree, place
from venmas.checker.inductive.trees import leaves
from venmas.logic import Formula
from venmas.model.invariant import Invariant
from venmas.model.system.system import System
from venmas.nn.network import Semantics


def check_inductive(
    system: System, holds: Formula, invariant: Invariant, lines: Lines, semantics: Semantics = "real"
) -> Checked:
    """Check that `invariant` holds the initial states of the valid `system`, meets `holds`, and is never left.

    So no run leaves the declared box, and every state of every run satisfies `holds`. Raises `CheckError`.
    """
    with lines.refusing():
        checker = _Checker(Claims(system, holds, invariant), lines, semantics)
        checker.run()
        return Checked(lines.number, leaves=checker.closed)


class _Checker:
    def __init__(self, claims: Claims, lines: Lines, semantics: Semantics) -> None:
        self.claims, self._lines = claims, lines
        self._batch, self._exact = Batch(claims, semantics), Exact(claims, semantics)
        self.closed = 0
        self._ahead = self._read()

    def run(self) -> None:
        claims, count = self.claims, len(self.claims.invariant.words)
        for i, claim in enumerate(claims.starts):
            self._close(claim, Start, (i,), claims.box, None)
        self._words(Safe, (), claims.unsafe, count)
        for b, claim in enumerate(claims.steps):
            self._words(Step, (b,), claim, count)
        if self._ahead is not None:
            raise self._lines.refused("this claim is not there, or was closed before: trees stand in order")

    def _words(self, kind: type[Tree], about: tuple[int, ...], claim: Claim, count: int) -> None:
        """Close a claim about every word: on those without a tree at once."""
        cut: list[int] = []
        while isinstance(self._ahead, kind) and place(self._ahead)[:-1] == about:
            word = place(self._ahead)[-1]
            if (cut and word <= cut[-1]) or word >= count:
                break
            cut.append(word)
            self._close(claim, kind, (*about, word), self.claims.cell(word), word)
        rest = sorted(set(range(count)).difference(cut))
        if self._batch.possible:
            words = np.array(rest, dtype=np.intp)
            open_ = self._batch.open(claim, self._batch.words[words], words)
            rest = [rest[int(i)] for i in np.flatnonzero(open_)]
            self.closed += len(words) - len(rest)
        for word in rest:
            cell = self.claims.cell(word)
            if cell is not None:
                boxes = self._batch.words if self._batch.possible else None
                cell = cell if boxes is None else self._batch.narrowed(cell, boxes, word)
                self._exactly(claim, cell, word, self._lines.number)
            self.closed += 1

    def _close(
        self, claim: Claim, kind: type[Tree], about: tuple[int, ...], cell: Cell | None, word: int | None
    ) -> None:
        """Close a claim on a cell, along its tree if the next line has it."""
        line, tree = self._lines.number, self._ahead
        mine = isinstance(tree, kind) and place(tree) == about
        if tree is None or not mine:
            parts = iter([] if cell is None else [cell])
        elif cell is None:
            raise CheckError(line, "this cell has no state that a tree could tell apart")
        else:
            parts = leaves(line, tree.tree, cell)
        while some := list(islice(parts, CHUNK)):
            self._lines.tick()
            for part in self._left(claim, some, word):
                self._exactly(claim, part, word, line)
            self.closed += len(some)
        if mine:
            self._ahead = self._read()

    def _left(self, claim: Claim, cells: list[Cell], word: int | None) -> list[Cell]:
        """The cells on which bounds do not close the claim."""
        if not self._batch.possible:
            return cells
        words = None if word is None else np.full(len(cells), word, dtype=np.intp)
        boxes = self._batch.boxes(cells, word)
        open_ = [int(i) for i in np.flatnonzero(self._batch.open(claim, boxes, words))]
        return [self._batch.narrowed(cells[i], boxes, i) for i in open_]

    def _exactly(self, claim: Claim, cell: Cell, word: int | None, line: int) -> None:
        self._lines.tick()
        if problem := self._exact.open(claim, cell):
            about = claim.where if word is None else f"word {word}, {claim.where}"
            ends = ", ".join(
                f"{name} in [{low}, {high}]" for name, low, high in zip(cell.names, cell.low, cell.high, strict=True)
            )
            raise CheckError(line, f"{about}: {problem}: {ends}"[:1000])

    def _read(self) -> Tree | None:
        """The next line; None for the last one, after which there must be nothing."""
        line = self._lines.next(Start, Safe, Step, End)
        if isinstance(line, Start | Safe | Step):
            return line
        self._lines.end(line)
        return None


def proved(about: About, lines: Lines) -> Checked:
    """Check a proof of the kind inductive. Raises `CheckError`."""
    invariant = lines.next(Set).read_at(lines, len(about.system.variables))
    return check_inductive(about.system, about.invariant, invariant, lines, about.claim.semantics)
