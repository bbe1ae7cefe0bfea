"""Claims closed on many boxes of integers at once, by bounds that hold whatever is rounded.

Boxes shrink by conditions: by a linear comparison, each variable to what the greatest values of the other terms leave
it; by a conjunction, one after the other; by a disjunction, to the hull of what its parts leave. The boxes of words
shrink so by their literals, twice over, and leaves by the box of their word. Where that does not close a leaf, it
shrinks by the literals of its word over several variables, once, one after the other, and is tried again. Updates are
enclosed by intervals; argmaxes by the differences of outputs, lower indices winning ties; networks by zonotopes, their
inputs independent. A predicate over variables that the branch does not change has the truth that the word gives it.

What stays open here is left to `exact`: nothing that is closed here could be open in truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.checker.exact.cell import Cell, rational
from venmas.checker.inductive.claims import Claim, Claims
from venmas.checker.inductive.constraints import LARGEST, Bools, Boxes, Linear, Shrink, Shrinker
from venmas.checker.inductive.intervals import Intervals
from venmas.checker.inductive.words import Words
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.expressions.expr import All, Compare, Condition, Truth, to_comparison
from venmas.nn.network import Semantics

Index: TypeAlias = NDArray[np.intp]

CHUNK = 1024
"""Boxes whose networks are enclosed at once."""


class Batch:
    """Decides claims about one inductive set on boxes of integers.

    `possible` is False where the system has real variables, or numbers too large for this: then nothing is closed.
    """

    def __init__(self, claims: Claims, semantics: Semantics = "real") -> None:
        self.claims, self.system, self._semantics = claims, claims.system, semantics
        decls = list(self.system.variables.values())
        self.number = {name: i for i, name in enumerate(self.system.variables)}
        self.possible = claims.box is not None and all(
            d.integral and max(abs(d.lower), abs(d.upper)) <= LARGEST for d in decls
        )
        if not self.possible or claims.box is None:
            return
        self.ranges = np.array([[int(v) for v in claims.box.low], [int(v) for v in claims.box.high]], dtype=np.int64)
        names, shrinking = tuple(self.system.variables), []
        for row in claims.invariant.predicates:
            expr = LinearExpr.of(zip(names, row[1:], strict=True), row[0])
            shrinking.append(Linear.of(Comparison(expr, Relation.GE), self.number, self.ranges))
        self.possible = all(p is not None for p in shrinking)
        if not self.possible:
            return
        self.predicates = [p for p in shrinking if p is not None]
        self._rows = np.zeros((len(names), len(self.predicates)))
        for i, p in enumerate(self.predicates):
            self._rows[p.places, i] = p.factors
        self._constants = np.array([p.constant for p in self.predicates], dtype=np.float64)
        words = np.array([list(w.encode()) for w in claims.invariant.words], dtype=np.uint8)
        words = words.reshape(len(claims.invariant.words), len(self.predicates))
        self.true, self.false = words == ord("1"), words == ord("0")
        self._words = Words(*self._spelt_out())
        self._shrinks: dict[int, Shrink] = {}

    def boxes(self, cells: Sequence[Cell], word: int | None = None) -> Boxes:
        """The boxes of cells; the word that all are of may tell smaller ones."""
        low = np.array([[int(v) for v in c.low] for c in cells], dtype=np.int64).reshape(-1, len(self.number))
        high = np.array([[int(v) for v in c.high] for c in cells], dtype=np.int64).reshape(-1, len(self.number))
        if word is not None:
            low, high = np.maximum(low, self.words.low[word]), np.minimum(high, self.words.high[word])
            high = np.maximum(high, low - 1)
        return Boxes(low, high)

    @staticmethod
    def narrowed(cell: Cell, boxes: Boxes, i: int) -> Cell:
        """The part of a cell in a box."""
        low = tuple(max(a, rational(int(b))) for a, b in zip(cell.low, boxes.low[i], strict=True))
        high = tuple(min(a, rational(int(b))) for a, b in zip(cell.high, boxes.high[i], strict=True))
        return replace(cell, low=low, high=high)

    def whole(self, count: int) -> Boxes:
        """So many copies of the declared box."""
        return Boxes(np.tile(self.ranges[0], (count, 1)), np.tile(self.ranges[1], (count, 1)))

    @cached_property
    def words(self) -> Boxes:
        """Boxes that hold the states of each word."""
        boxes = self.whole(len(self.true))
        for _ in range(2):  # what a relation between variables says of one may say more of the other
            self._keep(boxes, np.arange(len(self.true)), range(len(self.predicates)))
        return boxes

    def open(self, claim: Claim, boxes: Boxes, words: Index | None) -> Bools:
        """The boxes (B,) on which the claim is not closed. words: that each is a part of, if it is of one."""
        unclosed = np.zeros(len(boxes.low), bool)
        for first in range(0, len(unclosed), CHUNK):
            ask()
            which = np.arange(first, min(first + CHUNK, len(unclosed)))
            unclosed[which] = self._open(claim, boxes[which], None if words is None else words[which])
        if words is not None and self._several:
            which = np.flatnonzero(unclosed)
            again = boxes[which]
            self._keep(again, words[which], self._several)
            part = boxes[which]
            less = np.any((again.low != part.low) | (again.high != part.high), axis=1) | ~again.alive
            unclosed[which[less]] = self._open(claim, again[less], words[which[less]])
        return unclosed

    def _open(self, claim: Claim, boxes: Boxes, words: Index | None) -> Bools:
        self._shrunk(claim, boxes)
        which = np.flatnonzero(boxes.alive)
        if claim.member and len(which):
            part = boxes[which]
            low, high, inside = self.led(claim, part)
            truths = self.truths(low, high, claim, None if words is None else words[which])
            which = which[~(inside & self._words.cover(*truths))]
        unclosed = np.zeros(len(boxes.alive), bool)
        if len(which):
            unclosed[which] = self.reachable(claim, boxes[which])
        return unclosed

    def _shrunk(self, claim: Claim, boxes: Boxes) -> None:
        """Shrink boxes to what the linear part of the condition leaves."""
        if id(claim) not in self._shrinks:
            compiler = Shrinker(self.number, self.ranges, lambda _: lambda _: None)
            self._shrinks[id(claim)] = compiler.compile(claim.condition)
        self._shrinks[id(claim)](boxes)

    def shrunk(self, claim: Claim, boxes: Boxes, words: Index | None = None) -> Boxes:
        """Boxes that hold the states of boxes that meet the condition of a claim, as far as it is linear, and words."""
        contracted = boxes.copy()
        if words is not None:
            self._keep(contracted, words, self._several)
        self._shrunk(claim, contracted)
        return contracted

    def led(self, claim: Claim, boxes: Boxes) -> tuple[NDArray[np.int64], NDArray[np.int64], Bools]:
        """Ends of the variables after the branch, and where they are inside the declared ranges."""
        inside = np.ones(len(boxes.low), bool)
        if claim.branch is None:
            return boxes.low, boxes.high, inside
        low, high, intervals = boxes.low.copy(), boxes.high.copy(), Intervals(self.number, boxes, self._semantics)
        for name, expr in self.system.branches[claim.branch].updates:
            at = self.number[name]
            least, most = intervals.value(expr)
            first, last = self.ranges[:, at]
            least, most = np.ceil(least), np.floor(most)  # it is an integer
            inside &= (least >= first) & (most <= last)
            low[:, at] = np.clip(np.nan_to_num(least, nan=first), first, last)
            high[:, at] = np.clip(np.nan_to_num(most, nan=last), first, last)
        return low, high, inside

    def truths(
        self, low: NDArray[np.int64], high: NDArray[np.int64], claim: Claim, words: Index | None
    ) -> tuple[Bools, Bools]:
        """Masks of predicates that are true, and false, on all of a box after the branch: (B, predicates)."""
        up, down = np.maximum(self._rows, 0), np.minimum(self._rows, 0)
        least = low @ up + high @ down + self._constants  # integers of moderate size: exact
        most = high @ up + low @ down + self._constants
        true, false = least >= 0, most < 0
        if words is not None and claim.branch is not None:
            changed = [self.number[name] for name, _ in self.system.branches[claim.branch].updates]
            same = ~np.any(self._rows[changed] != 0, axis=0)
            true |= self.true[words] & same
            false |= self.false[words] & same
        return true, false

    def _spelt_out(self) -> tuple[Bools, Bools]:
        """The literals of the words, and those that follow from others about the same variable alone."""
        boxes = self.whole(len(self.true))
        single = [i for i, p in enumerate(self.predicates) if len(p.places) == 1]
        self._keep(boxes, np.arange(len(self.true)), single)
        true, false = self.true.copy(), self.false.copy()
        for i in single:
            linear = self.predicates[i]
            true[:, i] |= linear.constant - sum(linear.greatest(boxes, -1)) >= 0
            false[:, i] |= linear.constant + sum(linear.greatest(boxes, 1)) < 0
        return true, false

    @cached_property
    def _several(self) -> list[int]:
        """The predicates over several variables: of a part of a word they may tell more than of the whole."""
        return [i for i, p in enumerate(self.predicates) if len(p.places) > 1]

    def _keep(self, boxes: Boxes, words: Index, predicates: Iterable[int]) -> None:
        """Shrink boxes, each of a word (B,), by the literals that the words have of predicates."""
        for i in predicates:
            for truth, sign, least in ((self.true, 1, 0), (self.false, -1, 1)):
                which = np.flatnonzero(truth[words, i])
                if len(which):
                    part = boxes[which]
                    self.predicates[i].keep(part, sign, least)
                    boxes.low[which], boxes.high[which], boxes.alive[which] = part.low, part.high, part.alive

    def reachable(self, claim: Claim, boxes: Boxes) -> Bools:
        """The boxes (B,) in which the condition of the claim may hold, as far as bounds on networks tell."""
        rest = _not_linear(claim.condition)
        if isinstance(rest, Truth) and rest.value:
            return np.ones(len(boxes.low), bool)
        return Intervals(self.number, boxes, self._semantics).truth(rest)[0]


def _not_linear(condition: Condition) -> Condition:
    """The conjuncts of a condition that are not linear; linear ones have cut the boxes already."""
    parts = condition.operands if isinstance(condition, All) else (condition,)
    rest = tuple(p for p in parts if not isinstance(p, Compare) or to_comparison(p) is None)
    return All(rest) if rest else Truth(True)
