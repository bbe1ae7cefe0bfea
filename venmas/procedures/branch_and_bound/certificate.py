"""Certificates of the search over boxes: the split tree as text, checked once by the pass that checks it later.

A leaf that floats closed and integers do not is cut further here, across the input that moves most what stays open, as
is the whole box where the search left no tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from venmas.answer import IncompleteError
from venmas.budget import ask
from venmas.checker.affine.batch import Batch
from venmas.checker.affine.definition import Weights
from venmas.checker.affine.scaled import ScaledProgram, UnscaledError
from venmas.checker.affine.tree import AXES, CUT, DIGITS, LEAF, MIDDLE, MIXED, MOST_GROUPS, cut, written
from venmas.checker.format.cuts import leaves
from venmas.checker.format.rule import Rule
from venmas.checker.goals.lemmas import Book
from venmas.checker.goals.rules import Program
from venmas.checker.goals.rules import Tree as TreeLine
from venmas.checker.goals.trees import Checking, digest, program_of
from venmas.logic import parse
from venmas.model.canonical.canonical import shared
from venmas.model.transform.program import Floats
from venmas.procedures.branch_and_bound.tree import LEAF as NO_AXIS
from venmas.procedures.branch_and_bound.tree import Tree
from venmas.question import Question, claim

BITS = (36, 30, 24)
"""Units of values that are tried in turn, ``2**-bits``: finer ones lose less, coarser ones hold larger numbers."""

MORE = 2
"""How many times as many leaves as the search had a certificate may have, beyond `FREE`."""
FREE = 1000

MOST_ADVISED = 64
"""Boxes that are advised on together."""


class LargeError(IncompleteError):
    """Numbers are too large for the unit of values."""


Box = tuple[list[int], list[int]]


@dataclass(frozen=True)
class SplitTrees:
    """The proof of a question that speaks of the box, too (`Question.boxed`).

    trees: by initial set, that of the search for its program, where it made one.
    """

    trees: Mapping[int, Tree]
    kind: ClassVar[str] = "goals"

    def lines(self, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
        """The program of each initial set with its tree. Raises `IncompleteError`."""
        book = _book(question)
        for index in range(len(book.system.regions)):
            yield from _proved(book, index, self.trees.get(index, Tree()))


def _book(question: Question) -> Book:
    """The system and the target as whoever reads the certificate has them: nodes that are equal are one there."""
    system = shared(question.system)
    formula = parse(str(question.formula), system.vocabulary)
    return Book(system, claim(system, formula, question.inside), question.semantics)


def _proved(book: Book, region: int, tree: Tree) -> list[Rule]:
    problem = ""
    for bits in BITS:
        try:
            program = program_of(book, region, bits)
        except UnscaledError as error:
            problem = str(error)
            continue
        try:
            splits, weights = proof(program, tree)
        except LargeError as error:
            problem = str(error)
            continue
        return [Program(region, bits, digest(program)), TreeLine(splits, weights)]
    raise IncompleteError(problem)


def proof(program: ScaledProgram, tree: Tree, most: int | None = None) -> tuple[str, str]:
    """Splits and weights of a tree that refutes the program. Raises `IncompleteError` beyond `most` leaves.

    tree: is not changed; its leaves are cut further where integers need it.
    """
    if len(program.low) > len(AXES):
        raise IncompleteError(f"a tree cuts {len(AXES)} inputs at most, these are {len(program.low)}")
    work = _Proof(program, tree, FREE + MORE * tree.leaves if most is None else most)
    work.run()
    return work.text()


@dataclass
class _Open:
    """A leaf that is to be shown free. mixed: weights have been tried."""

    node: int
    box: Box
    mixed: bool = False


class _Proof:
    def __init__(self, program: ScaledProgram, tree: Tree, most: int) -> None:
        self.program, self.most, self.tree = program, most, tree.copy()
        self.checking, self.advising = Checking(program, tree.leaves), Batch(program)
        self.weights: dict[int, Weights] = {}
        self.large = False
        """Were numbers of the last boxes that were open out of range?"""

    def run(self) -> None:
        """Show all leaves free."""
        left = self._leaves()
        while left:
            ask()
            size = self.checking.size
            take, left = left[-size:], left[:-size]
            left += self._check(take)
            if self.tree.leaves > self.most:
                kind = LargeError if self.large else IncompleteError
                raise kind(f"in integers it takes more than {self.most} boxes")

    def _leaves(self) -> list[_Open]:
        """The leaves of the search, the first one last."""

        def parts(here: _Open, _: int) -> list[_Open]:
            return [] if self.tree.axes[here.node] == NO_AXIS else self._halves(here)

        return list(leaves(_Open(0, (list(self.program.low), list(self.program.high))), parts))[::-1]

    def _halves(self, whole: _Open) -> list[_Open]:
        """The parts of a box that is cut; where it is too narrow for that, itself, which becomes a leaf."""
        (low, high), axis = whole.box, self.tree.axes[whole.node]
        middle, first = cut(low[axis], high[axis], self.tree.parts[whole.node]), self.tree.children[whole.node]
        if not low[axis] < middle < high[axis]:
            self.tree.axes[whole.node] = NO_AXIS
            return [whole]
        upper, lower = low.copy(), high.copy()
        upper[axis] = lower[axis] = middle
        return [_Open(first, (low, lower)), _Open(first + 1, (upper, high))]

    def _check(self, take: list[_Open]) -> list[_Open]:
        """What is left of some leaves."""
        low, high = (np.array([leaf.box[end] for leaf in take], dtype=np.int64) for end in (0, 1))
        weights = [self.weights.get(leaf.node, {}) for leaf in take]
        refuted = self.checking.refuted(low, high, weights)
        opened = np.flatnonzero(~refuted).tolist()
        left: list[_Open] = []
        for first in range(0, len(opened), MOST_ADVISED):
            part = opened[first : first + MOST_ADVISED]
            verdicts = self.advising.check(low[part], high[part], [weights[i] for i in part], moving=True)
            self.large = not verdicts.bounded.all()
            mixes: dict[int, dict[int, list[int]]] = {}
            for group, (boxes, values) in verdicts.mixes.items():
                for k, mix in zip(boxes.tolist(), values.tolist(), strict=True):
                    mixes.setdefault(k, {})[group] = mix
            for k, i in enumerate(part):
                left += self._further(take[i], mixes.get(k, {}), verdicts.influence[k])
        return left[::-1]

    def _further(self, leaf: _Open, mix: Weights, influence: Floats) -> list[_Open]:
        """A leaf that is not shown free: with other weights, else in two parts."""
        named = {group: values for group, values in mix.items() if group < MOST_GROUPS}
        useful = {group: values for group, values in named.items() if sum(v > 0 for v in values) > 1}
        if useful and not leaf.mixed:
            self.weights[leaf.node] = dict(list(useful.items())[: len(DIGITS) - 1])
            return [_Open(leaf.node, leaf.box, True)]
        low, high = leaf.box
        widths = np.array([b - a for a, b in zip(low, high, strict=True)], dtype=float)
        if not (widths > 1).any():
            raise IncompleteError("a box of single numbers stays open in integers")
        moved = np.where(widths > 1, influence + 1e-9 * widths, -1.0)
        self.weights.pop(leaf.node, None)
        self.tree.split(leaf.node, int(moved.argmax()))
        return self._halves(leaf)

    def text(self) -> tuple[str, str]:
        """Splits and weights."""
        splits: list[str] = []

        def parts(node: int, _: int) -> tuple[int, ...]:
            axis, first, part = self.tree.axes[node], self.tree.children[node], self.tree.parts[node]
            if axis == NO_AXIS:
                splits.append(MIXED if node in self.weights else LEAF)
                return ()
            splits.append(AXES[axis] if part == MIDDLE else CUT + AXES[axis] + DIGITS[part])
            return first, first + 1

        weights = [written(self.weights[leaf]) for leaf in leaves(0, parts) if leaf in self.weights]
        return "".join(splits), "".join(weights)
