"""Trees of cuts that close a claim: boxes on which it stays open are cut until none is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from venmas.answer import IncompleteError
from venmas.checker.exact.cell import Cell, negative, rational
from venmas.checker.format.cuts import leaves
from venmas.checker.format.numbers import write_number
from venmas.checker.format.rule import Rule
from venmas.checker.inductive.batch import Batch, Index
from venmas.checker.inductive.claims import Claim, Claims
from venmas.checker.inductive.constraints import Boxes
from venmas.checker.inductive.exact import Exact
from venmas.checker.inductive.rules import Safe, Set, Start, Step
from venmas.checker.inductive.trees import FORM, LEAF
from venmas.logic import Formula
from venmas.model.canonical.canonical import shared
from venmas.model.invariant import Invariant
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.procedures.inductive.cuts import Cut, Cutter
from venmas.procedures.inductive.merge import merged
from venmas.question import Question, always

MAX_NODES = 2_000_000
"""Most nodes of all trees of a claim."""
_AHEAD = 6
"""Cuts after which exact enclosures are tried for the first time, and then every so many: they know of ties."""
_MAX_EXACT = 400
"""Most leaves of a claim with real variables: each is enclosed in rationals."""


@dataclass
class Node:
    """A part of a cell: a leaf, or cut in two."""

    cut: tuple[int, object] | None = None
    parts: list[Node] = field(default_factory=list)

    def tokens(self) -> tuple[object, ...]:
        """The tree as a certificate has it."""
        found: list[object] = []

        def parts(node: Node, _: int) -> list[Node]:
            found.extend([LEAF] if node.cut is None else node.cut)
            return node.parts

        for _ in leaves(self, parts):
            pass
        return tuple(found)


class Divider:
    """Finds the trees of the claims about one inductive set. Raises `IncompleteError` where it finds none."""

    def __init__(self, claims: Claims, tick: Callable[[], None], semantics: Semantics = "real") -> None:
        self.claims, self._tick = claims, tick
        self._batch, self._exact = Batch(claims, semantics), Exact(claims, semantics)

    def start(self, claim: Claim) -> Node:
        """The tree of a claim about the declared box."""
        root = Node()
        box = self.claims.box
        if box is None:
            return root
        if self._batch.possible:
            self._cut_boxes(claim, [root], self._batch.whole(1), None)
        else:
            self._cut_cell(claim, root, box)
        return root

    def words(self, claim: Claim) -> dict[int, Node]:
        """The trees of a claim about each word, of those that are more than a leaf."""
        roots = [Node() for _ in self.claims.invariant.words]
        if self._batch.possible:
            boxes = self._batch.words
            words = np.flatnonzero(boxes.alive)
            self._cut_boxes(claim, [roots[w] for w in words], boxes[words], words)
        else:
            for word, root in enumerate(roots):
                cell = self.claims.cell(word)
                if cell is not None:
                    self._cut_cell(claim, root, cell)
        return {word: root for word, root in enumerate(roots) if root.cut is not None}

    def _cut_boxes(self, claim: Claim, nodes: Sequence[Node], boxes: Boxes, words: Index | None) -> None:
        cutter, count, depth = Cutter(self._batch, claim), 0, 0
        nodes = list(nodes)
        while len(nodes):
            self._tick()
            which = np.flatnonzero(self._batch.open(claim, boxes, words))
            nodes, boxes = [nodes[i] for i in which], boxes[which]
            words = None if words is None else words[which]
            if cutter.networks and depth and depth % _AHEAD == 0:
                which = np.array([i for i in range(len(nodes)) if self._open(claim, boxes, words, i)], dtype=np.intp)
                nodes, boxes = [nodes[i] for i in which], boxes[which]
                words = None if words is None else words[which]
            cuts = cutter.cuts(boxes, words) if nodes else []
            for i, cut in enumerate(cuts):
                if cut is None and (problem := self._open(claim, boxes, words, i)):
                    raise IncompleteError(self._refusal(claim, boxes, i, problem))
            which = np.array([i for i, cut in enumerate(cuts) if cut is not None], dtype=np.intp)
            made = [cut for cut in cuts if cut is not None]
            count += 2 * len(made)
            if count > MAX_NODES:
                raise IncompleteError(
                    f"{claim.where}: more than {MAX_NODES} parts of cells would have to be told apart"
                )
            nodes, boxes = _halved([nodes[i] for i in which], made, boxes[which])
            words = None if words is None else np.concatenate([words[which], words[which]])
            depth += 1

    def _open(self, claim: Claim, boxes: Boxes, words: Index | None, i: int) -> str:
        """Why the claim is open on a box in exact rationals; empty where it is not."""
        self._tick()
        cell = self.claims.box if words is None else self.claims.cell(int(words[i]))
        if cell is None:
            return ""
        return self._exact.open(claim, self._batch.narrowed(cell, boxes, i))

    def _refusal(self, claim: Claim, boxes: Boxes, i: int, problem: str) -> str:
        point = self._batch.shrunk(claim, boxes[np.array([i])])
        names = self.claims.system.variables
        state = ", ".join(f"{name} = {value}" for name, value in zip(names, point.low[0], strict=True))
        return f"the set is not inductive, or more than enclosures tell: {claim.where}: {problem} ({state})"[:2000]

    def _cut_cell(self, claim: Claim, root: Node, cell: Cell) -> None:
        """The same in exact rationals, for systems with real variables: the relatively widest side in two."""
        stack, leaves = [(root, cell)], 0
        while stack:
            self._tick()
            node, part = stack.pop()
            problem = self._exact.open(claim, part)
            if not problem:
                continue
            leaves += 1
            halves = self._along_form(node, claim, part) or self._in_two(node, part)
            if leaves > _MAX_EXACT or halves is None:
                raise IncompleteError(f"{claim.where}: {problem}, as far as {_MAX_EXACT} parts of its cells tell")
            node.parts = [Node(), Node()]
            stack += [(node.parts[1], halves[1]), (node.parts[0], halves[0])]

    def _along_form(self, node: Node, claim: Claim, cell: Cell) -> tuple[Cell, Cell] | None:
        """Cut along the first form that decides a choice and tells states of the cell apart.

        Also along its other side: where a choice is open on an edge of the cell only, the edge is a part of its own.
        """
        forms = self._exact.forms(claim, cell)
        for form in (*forms, *map(negative, forms)):
            if cell.inf(form).value < 0 <= cell.sup(form).value:
                first, second = cell.cut(form), cell.cut(negative(form), strict=True)
                if first is not None and second is not None:
                    node.cut = FORM, [write_number(c) for c in form]
                    return first, second
        return None

    def _in_two(self, node: Node, cell: Cell) -> tuple[Cell, Cell] | None:
        """Cut the relatively widest side in the middle."""
        at = self._widest(cell)
        if at is None:
            return None
        middle = (cell.low[at] + cell.high[at]) / 2
        below = above = middle
        if cell.integral[at]:
            below = rational(int(middle // 1))
            above = below + 1
        node.cut = at, int(below) if cell.integral[at] else write_number(below)
        high, low = list(cell.high), list(cell.low)
        high[at], low[at] = below, above
        return replace(cell, high=tuple(high)), replace(cell, low=tuple(low))

    def _widest(self, cell: Cell) -> int | None:
        decls = self.claims.system.variables.values()
        widths = [
            (b - a) / rational(d.upper - d.lower) if a < b else rational(0)
            for a, b, d in zip(cell.low, cell.high, decls, strict=True)
        ]
        best = max(range(len(widths)), key=widths.__getitem__)
        return best if widths[best] > 0 else None


def _halved(nodes: Sequence[Node], cuts: Sequence[Cut], boxes: Boxes) -> tuple[list[Node], Boxes]:
    """Cut nodes and their boxes in two: first all first parts, then all others."""
    for node, cut in zip(nodes, cuts, strict=True):
        node.cut, node.parts = cut, [Node(), Node()]
    places, ends = (np.array([cut[k] for cut in cuts], dtype=np.int64) for k in (0, 1))
    rows = np.arange(len(cuts))
    high, low = boxes.high.copy(), boxes.low.copy()
    high[rows, places], low[rows, places] = ends, ends + 1
    halves = Boxes(np.concatenate([boxes.low, low]), np.concatenate([high, boxes.high]))
    return [n.parts[0] for n in nodes] + [n.parts[1] for n in nodes], halves


def lines(invariant: Invariant, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
    """A set, and the trees of its claims."""
    holds, found = always(question).invariant, merged(question.system, invariant)
    yield Set.of(found)
    yield from closed(question.system, holds, found, tick, question.semantics)


def closed(
    system: System, holds: Formula, invariant: Invariant, tick: Callable[[], None], semantics: Semantics = "real"
) -> Iterator[Rule]:
    """The trees of the claims that a set is inductive and inside `holds`, a formula about one state.

    Raises `IncompleteError`.
    """
    claims = Claims(shared(system), holds, invariant)  # as who checks it reads it: equal nodes are told once
    divider = Divider(claims, tick, semantics)
    for index, claim in enumerate(claims.starts):
        root = divider.start(claim)
        if root.cut is not None:
            yield Start(index, root.tokens())
    for word, root in divider.words(claims.unsafe).items():
        yield Safe(word, root.tokens())
    for branch, claim in enumerate(claims.steps):
        for word, root in divider.words(claim).items():
            yield Step(branch, word, root.tokens())
