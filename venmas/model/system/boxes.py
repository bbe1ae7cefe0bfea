"""Unions of boxes of integers: neighbours that agree but for one side become one."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask

Ints: TypeAlias = NDArray[np.int64]


def merged_boxes(low: NDArray[np.integer], high: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """The same union in fewer boxes: ends (B, n) of boxes that are not empty -> ends of others, none given twice.

    For one side after the other, boxes that agree in all other sides and meet, or leave no integer between them, become
    one, until nothing changes.
    """
    size = low.shape[1]
    ends = np.unique(np.concatenate([low, high], axis=1).astype(np.int64), axis=0)
    before = -1
    while len(ends) != before:
        before = len(ends)
        for i in range(size):
            ask()
            low, high = ends[:, i], ends[:, size + i]
            if len(ends) < 2 or (low.min() == low.max() and high.min() == high.max()):
                continue
            rest = np.delete(ends, (i, size + i), axis=1)
            order = np.lexsort((high, low, *rest.T))
            ends, rest = ends[order], rest[order]
            begins = np.ones(len(ends), bool)
            begins[1:] = (rest[1:] != rest[:-1]).any(1) | (ends[1:, i] > ends[:-1, size + i] + 1)
            first = np.flatnonzero(begins)
            most = np.maximum.reduceat(ends[:, size + i], first)
            ends = ends[first]
            ends[:, size + i] = most
    return ends[:, :size], ends[:, size:]
