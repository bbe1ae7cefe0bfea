"""Certificates of the search over boxes: the split tree as text, checked once by the pass that checks it later.

A leaf that floats closed and integers do not is cut further here, across the input that moves most what stays open, as
is the whole box where the search left no tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from venmas.answer import IncompleteError, Write
from venmas.budget import ask
from venmas.checker.affine.batch import Batch, Verdicts
from venmas.checker.affine.reference import Weights
from venmas.checker.affine.scaled import ScaledProgram, UnscaledError
from venmas.checker.affine.tree import AXES, DIGITS, LEAF, MIXED, cut, written
from venmas.checker.lemmas import Book
from venmas.checker.rule import Rule
from venmas.checker.rules import Program as ProgramLine
from venmas.checker.rules import Region
from venmas.checker.rules import Tree as TreeLine
from venmas.checker.trees import batch_size, digest, program_of
from venmas.question import Question
from venmas.search.unrolled.tree import LEAF as NO_AXIS
from venmas.search.unrolled.tree import Tree

BITS = (36, 30, 24)
"""Units of values that are tried in turn, ``2**-bits``: finer ones lose less, coarser ones hold larger numbers."""

MORE = 2
"""How many times as many leaves as the search had a certificate may have, beyond `FREE`."""
FREE = 20_000

Box = tuple[list[int], list[int]]


def writer(question: Question, trees: Mapping[int, Tree]) -> Write:
    """Writes the proof of a question that speaks of the box, too (`Question.boxed`).

    trees: by initial set, that of the search for its program; a set without one has no states that matter.
    """

    def write(out: Callable[[Rule], None]) -> int:
        lines: list[Rule] = []
        book = Book(question.system, question.target, question.semantics)
        for index in range(len(question.system.regions)):
            lines += _proved(book, index, trees[index]) if index in trees else [Region(index)]
        for line in lines:
            out(line)
        return len(lines)

    return write


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
        except IncompleteError as error:
            problem = str(error)
            continue
        return [ProgramLine(region, bits, digest(program)), TreeLine(splits, weights)]
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
    """A leaf that is to be shown free."""

    node: int
    box: Box
    tried: bool = False


class _Proof:
    def __init__(self, program: ScaledProgram, tree: Tree, most: int) -> None:
        self.program, self.most, self.checking = program, most, Batch(program)
        self.tree = Tree(list(tree.axes), list(tree.children))
        self.weights: dict[int, Weights] = {leaf: _quantised(w) for leaf, w in tree.weights.items()}

    def run(self) -> None:
        """Show all leaves free."""
        size = batch_size(self.program)
        left = self._leaves()
        while left:
            ask()
            take, left = left[-size:], left[:-size]
            left += self._check(take)
            if self.tree.leaves > self.most:
                raise IncompleteError(f"in integers it takes more than {self.most} boxes")

    def _leaves(self) -> list[_Open]:
        """The leaves of the search, the first one last."""
        found, stack = [], [_Open(0, (list(self.program.low), list(self.program.high)))]
        while stack:
            here = stack.pop()
            axis = self.tree.axes[here.node]
            if axis == NO_AXIS:
                found.append(here)
            else:
                stack += reversed(self._halves(here, axis, self.tree.children[here.node]))
        return found[::-1]

    def _halves(self, whole: _Open, axis: int, first: int) -> list[_Open]:
        low, high = whole.box
        middle = cut(low[axis], high[axis])
        if not low[axis] < middle < high[axis]:
            raise IncompleteError("boxes become smaller than the unit of a certificate")
        upper, lower = low.copy(), high.copy()
        upper[axis] = lower[axis] = middle
        return [_Open(first, (low, lower)), _Open(first + 1, (upper, high))]

    def _check(self, take: list[_Open]) -> list[_Open]:
        """What is left of some leaves."""
        low, high = (np.array([leaf.box[end] for leaf in take], dtype=np.int64) for end in (0, 1))
        weights = [self.weights.get(leaf.node, {}) for leaf in take]
        verdicts = self.checking.check(low, high, weights)
        opened = np.flatnonzero(~verdicts.refuted)
        if not len(opened):
            return []
        again = self.checking.check(low[opened], high[opened], [weights[i] for i in opened], moving=True)
        left = []
        for k, i in enumerate(opened.tolist()):
            left += self._further(take[i], again, k)
        return left

    def _further(self, leaf: _Open, verdicts: Verdicts, k: int) -> list[_Open]:
        """A leaf that is not shown free: with other weights, or in two parts."""
        low, high = leaf.box
        able = np.array([b - a > 1 for a, b in zip(low, high, strict=True)], dtype=bool)
        if not able.any():
            raise IncompleteError("a box of single numbers stays open in integers")
        widths = np.array([b - a for a, b in zip(low, high, strict=True)], dtype=float)
        moved = np.where(able, verdicts.influence[k] + 1e-9 * widths, -1.0)
        axis = int(moved.argmax())
        self.weights.pop(leaf.node, None)
        return self._halves(leaf, axis, self.tree.split(leaf.node, axis))[::-1]

    def text(self) -> tuple[str, str]:
        """Splits and weights."""
        splits, weights, stack = [], [], [0]
        while stack:
            node = stack.pop()
            axis, first = self.tree.axes[node], self.tree.children[node]
            if axis != NO_AXIS:
                splits.append(AXES[axis])
                stack += [first + 1, first]
            elif self.weights.get(node):
                splits.append(MIXED)
                weights.append(written(self.weights[node]))
            else:
                splits.append(LEAF)
        return "".join(splits), "".join(weights)


def _quantised(weights: Mapping[int, Sequence[float]]) -> Weights:
    """Weights as digits, the greatest of a group being the greatest digit."""
    top = len(DIGITS) - 1
    made = {}
    for group, values in weights.items():
        greatest = max(values, default=0.0)
        if greatest > 0:
            made[group] = [round(top * max(0.0, v) / greatest) for v in values]
    return dict(list(made.items())[:top])
