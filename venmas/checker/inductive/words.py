"""Matching of many rows of truths against many words: by products of matrices, or by looking words up."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from venmas.checker.inductive.constraints import Bools

_LOOK_UP = 1 << 18
"""Operations of a product that take as long as looking words of one kind up."""

_ENTRIES = 1 << 24
"""Entries of a product that are computed at once."""


class Words:
    """Words as literals, (words, predicates) each: those that say `true`, and those that say `false`."""

    def __init__(self, true: Bools, false: Bools) -> None:
        self._true, self._false = true, false

    def cover(self, true: Bools, false: Bools) -> Bools:
        """The rows (B, predicates) where all literals of some word hold: (B,)."""
        if not len(self._true):
            return np.zeros(len(true), bool)
        if 2 * true.size * len(self._true) < _LOOK_UP * len(self._kinds):
            return self._multiplied(true, false)
        matched = np.zeros(len(true), bool)
        for known, words in self._kinds:
            which = np.flatnonzero(~matched & np.all((true | false)[:, known], axis=1))
            matched[which] = np.isin(_packed(true[which][:, known]), words)
        return matched

    def _multiplied(self, true: Bools, false: Bools) -> Bools:
        rows, matched = np.concatenate([true, false], axis=1).astype(np.float32), np.zeros(len(true), bool)
        turn = max(1, _ENTRIES // len(self._true))
        for first in range(0, len(rows), turn):
            held = rows[first : first + turn] @ self._wanted
            matched[first : first + turn] = np.any(held == self._literals, axis=1)
        return matched

    @cached_property
    def _wanted(self) -> NDArray[np.float32]:
        return np.concatenate([self._true, self._false], axis=1).astype(np.float32).T

    @cached_property
    def _literals(self) -> NDArray[np.float32]:
        counts: NDArray[np.float32] = self._wanted.sum(0)  # counts of less than 2^24: exact
        return counts

    @cached_property
    def _kinds(self) -> list[tuple[Bools, NDArray[np.void]]]:
        """For each set of predicates that a word speaks of, (predicates,), the words that speak of these, packed."""
        masks = self._true | self._false
        kinds, kind = np.unique(masks, axis=0, return_inverse=True)
        return [(mask, _packed(self._true[kind.ravel() == i][:, mask])) for i, mask in enumerate(kinds)]


def _packed(truths: Bools) -> NDArray[np.void]:
    """Rows of truths as one value each."""
    rows = np.packbits(truths, axis=1)
    rows = np.ascontiguousarray(np.concatenate([rows, np.zeros((len(rows), 1), np.uint8)], axis=1))  # never empty
    return rows.view(np.dtype((np.void, rows.shape[1]))).ravel()
