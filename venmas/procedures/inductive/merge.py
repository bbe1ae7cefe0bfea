"""The same set in fewer words: those that differ in one interval, or in one predicate over several variables, are one.

A word whose predicates over one variable each are thresholds is a box of integers and truths of the other predicates,
which are sides of it, too: 0, 1, or both.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.model.invariant import Invariant
from venmas.model.system.boxes import merged_boxes
from venmas.model.system.system import System

_LARGEST = 2**62


def merged(system: System, invariant: Invariant) -> Invariant:
    """The same set of states; where a variable is real, words that are given twice and unused predicates go."""
    if all(d.integral and max(abs(d.lower), abs(d.upper)) < _LARGEST for d in system.variables.values()):
        return _Merging(system, invariant).run()
    words = tuple(dict.fromkeys(invariant.words))
    used = [i for i in range(len(invariant.predicates)) if any(word[i] != "-" for word in words)]
    return Invariant(
        tuple(invariant.predicates[i] for i in used), tuple("".join(word[i] for i in used) for word in words)
    )


class _Merging:
    def __init__(self, system: System, invariant: Invariant) -> None:
        self._invariant = invariant
        self._ranges = [(ceil(d.lower), floor(d.upper)) for d in system.variables.values()]
        places = [[j for j, c in enumerate(row[1:]) if c] for row in invariant.predicates]
        self._single = [i for i, found in enumerate(places) if len(found) == 1]
        self._places = {i: places[i][0] for i in self._single}
        self._several = [i for i, found in enumerate(places) if len(found) != 1]

    def run(self) -> Invariant:
        """The set in fewer words."""
        low, high = merged_boxes(*self._boxes())
        size, rows, columns = len(self._ranges), list[tuple[Fraction, ...]](), []
        for at, (least, most) in enumerate(self._ranges):
            below, above = low[:, at] > least, high[:, at] < most
            for end in np.unique(np.concatenate([low[below, at], high[above, at] + 1])).tolist():
                ask()
                rows.append((Fraction(-end), *(Fraction(int(i == at)) for i in range(size))))
                column = np.full(len(low), "-")
                column[below & (low[:, at] == end)] = "1"
                column[above & (high[:, at] + 1 == end)] = "0"
                columns.append(column)
        for j, i in enumerate(self._several, size):
            decided = low[:, j] == high[:, j]
            if decided.any():
                rows.append(self._invariant.predicates[i])
                columns.append(np.where(decided, np.where(low[:, j] == 1, "1", "0"), "-"))
        if not columns:
            return Invariant((), ("",) * len(low))
        return Invariant(tuple(rows), tuple("".join(word) for word in np.stack(columns, 1).tolist()))

    def _boxes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The words as boxes, those without a state left out."""
        words, count = self._invariant.words, len(self._invariant.predicates)
        truths = np.array([list(word.encode()) for word in words], dtype=np.uint8).reshape(len(words), count)
        size = len(self._ranges)
        low = np.zeros((len(words), size + len(self._several)), np.int64)
        high = np.ones_like(low)
        low[:, :size], high[:, :size] = np.array(self._ranges, dtype=np.int64).T
        for i in self._single:
            at = self._places[i]
            root = -self._invariant.predicates[i][0] / self._invariant.predicates[i][1 + at]
            rising = 1 if self._invariant.predicates[i][1 + at] > 0 else 0
            # from the root on, itself included where the predicate holds there; or up to it
            ends = {1: (ceil(root), floor(root)), 0: (floor(root) + 1, ceil(root) - 1)}
            for truth in (0, 1):
                which = truths[:, i] == ord("01"[truth])
                end = min(max(ends[truth][rising != truth], -_LARGEST), _LARGEST)
                if rising == truth:
                    low[which, at] = np.maximum(low[which, at], end)
                else:
                    high[which, at] = np.minimum(high[which, at], end)
        for j, i in enumerate(self._several, size):
            low[truths[:, i] == ord("1"), j], high[truths[:, i] == ord("0"), j] = 1, 0
        some = (low <= high).all(1)
        return low[some], high[some]
