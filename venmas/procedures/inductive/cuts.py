"""Where to cut boxes of integers on which a claim stays open: what to close it by, membership or the networks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.checker.inductive.batch import Batch, Index
from venmas.checker.inductive.claims import Claim
from venmas.checker.inductive.constraints import Boxes
from venmas.checker.inductive.intervals import Intervals
from venmas.model.expressions.expr import Application, Condition, Expr, Output, Variable, to_linear
from venmas.model.expressions.walk import walk

Cut: TypeAlias = tuple[int, int]
"""A variable, by its place, and the greatest value of the first part."""


class Cutter:
    """Chooses cuts for one claim."""

    def __init__(self, batch: Batch, claim: Claim) -> None:
        self._batch, self._claim = batch, claim
        branch = None if claim.branch is None else batch.system.branches[claim.branch]
        self._updates: dict[int, Expr] = {} if branch is None else {batch.number[n]: e for n, e in branch.updates}
        self._shifts = {at: shift for at, e in self._updates.items() if (shift := self._shift(e)) is not None}
        self._sources = {at: self._read([e]) for at, e in self._updates.items()}
        self._condition = self._read([claim.condition])
        self.networks = _applications(claim.condition)

    def _shift(self, expr: Expr) -> tuple[int, int] | None:
        """(place, k) where the new value is that of one variable plus k."""
        linear = to_linear(expr)
        if linear is None or len(linear.terms) != 1 or linear.terms[0][1] != 1 or linear.constant.denominator != 1:
            return None
        return self._batch.number[linear.terms[0][0]], int(linear.constant)

    def _read(self, nodes: Iterable[Expr | Condition]) -> list[int]:
        """Places of the variables that nodes rest on."""
        return sorted({self._batch.number[v.name] for v in walk(nodes) if isinstance(v, Variable)})

    def cuts(self, boxes: Boxes, words: Index | None) -> list[Cut | None]:
        """A cut through each open box that has more than one state and meets the condition; None for the others."""
        part = self._batch.shrunk(self._claim, boxes, words)
        chosen: list[Cut | None] = [None] * len(part.low)
        open_ = list(range(len(chosen)))
        if self._claim.member:
            for i, cut in enumerate(self._towards_words(part, words)):
                chosen[i] = cut
            open_ = [i for i in open_ if chosen[i] is None]
        if open_:
            for i, cut in zip(open_, self._apart(part[np.array(open_)]), strict=True):
                chosen[i] = cut
        everything = range(len(self._batch.number))
        # a box that shrinks to a point may hold others that rationals, which shrink less, do not exclude
        return [cut or self._middle(boxes, i, everything) for i, cut in enumerate(chosen)]

    # -- into the set --------------------------------------------------------------------------------------------------

    def _towards_words(self, boxes: Boxes, words: Index | None) -> list[Cut | None]:
        """Cuts along the missing literal of a word that the box may be brought into; None where there is no such."""
        batch, claim = self._batch, self._claim
        low, high, inside = batch.led(claim, boxes)
        true, false = batch.truths(low, high, claim, words)
        against = true.astype(np.float32) @ batch.false.T + false.astype(np.float32) @ batch.true.T
        missing = (~true).astype(np.float32) @ batch.true.T + (~false).astype(np.float32) @ batch.false.T
        best = np.where(against == 0, missing, np.inf)
        found: list[Cut | None] = []
        for i in range(len(boxes.low)):
            cut = None if inside[i] else self._into_ranges(boxes, i)
            if cut is None and best.shape[1] and inside[i]:
                word = int(np.argmin(best[i]))
                if np.isfinite(best[i, word]):
                    literals = np.flatnonzero((batch.true[word] & ~true[i]) | (batch.false[word] & ~false[i]))
                    cut = next((c for p in literals if (c := self._along(boxes, i, int(p))) is not None), None)
            found.append(cut)
        return found

    def _into_ranges(self, boxes: Boxes, i: int) -> Cut | None:
        for at in self._updates:
            least, most = (int(v) for v in self._batch.ranges[:, at])
            if at in self._shifts:
                source, k = self._shifts[at]
                for end in (least - k - 1, most - k):
                    if boxes.low[i, source] <= end < boxes.high[i, source]:
                        return source, end
        return None

    def _along(self, boxes: Boxes, i: int, predicate: int) -> Cut | None:
        """A cut that decides a predicate after the branch, or makes what it rests on smaller."""
        linear = self._batch.predicates[predicate]
        if len(linear.places) == 1:
            at, factor = linear.places[0], linear.factors[0]
            end = -(linear.constant // factor) - 1 if factor > 0 else linear.constant // -factor
            source, k = (at, 0) if at not in self._updates else self._shifts.get(at, (-1, 0))
            if source >= 0 and boxes.low[i, source] <= end - k < boxes.high[i, source]:
                return source, end - k
        sources = {s for at in linear.places for s in (self._sources[at] if at in self._updates else [at])}
        return self._middle(boxes, i, sorted(sources))

    def _middle(self, boxes: Boxes, i: int, places: Sequence[int]) -> Cut | None:
        """The middle of the widest of some variables."""
        widths = boxes.high[i, places] - boxes.low[i, places]
        if not len(widths) or not widths.max():
            return None
        at = places[int(np.argmax(widths))]
        return at, int(boxes.low[i, at] + boxes.high[i, at]) // 2

    # -- out of the condition ------------------------------------------------------------------------------------------

    def _apart(self, boxes: Boxes) -> list[Cut | None]:
        """Cuts in the middle of the input that matters most to the networks of the condition, or of what it reads."""
        weights = self._influence(boxes)
        found: list[Cut | None] = []
        for i in range(len(boxes.low)):
            at = int(np.argmax(weights[i]))
            if weights[i, at] > 0:
                found.append((at, int(boxes.low[i, at] + boxes.high[i, at]) // 2))
                continue
            everything = range(len(self._batch.number))
            found.append(self._middle(boxes, i, self._condition) or self._middle(boxes, i, everything))
        return found

    def _influence(self, boxes: Boxes) -> NDArray[np.float64]:
        """How much each variable moves the scores of the networks (B, variables); 0 for what is one point."""
        weights = np.zeros(boxes.low.shape)
        intervals = Intervals(self._batch.number, boxes)
        for application in self.networks:
            for entry, moved in zip(application.inputs, intervals.influence(application), strict=True):
                for at in self._read([entry]):
                    weights[:, at] = np.maximum(weights[:, at], moved)
        return np.where(boxes.high > boxes.low, np.nan_to_num(weights), 0.0)


def _applications(root: Condition) -> list[Application]:
    """Network applications below a condition, in the order in which they are met."""
    return list({id(node.application): node.application for node in walk([root]) if isinstance(node, Output)}.values())
