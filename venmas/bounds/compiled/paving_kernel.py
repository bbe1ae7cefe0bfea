"""Hulls of what boxes have in each cell of a grid, compiled by numba: as of `venmas.checker.covers.paving.paved`."""
# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# numba infers the types

from __future__ import annotations

import numpy as np
from numba import njit

from venmas.bounds.compiled.load import forget_stale

forget_stale()

_FIRST = 1 << 10


@njit(nogil=True, cache=True)
def hulls(low, high, first, sizes, least, width, side):
    """Numbers of the cells that boxes meet, (U,), in no order, and the hull of what is in each, (U, n) twice.

    low, high: (R, n), of the boxes; first, sizes: their first cells along each coordinate, and how many there are.
    least, width: of all cells along each coordinate, (n,); a number is made of places after the least one.
    """
    n, count, room = low.shape[1], 0, _FIRST
    table = np.full(2 * room, -1, np.int64)  # open addressing: rows by the number of a cell
    keys, lows, highs = np.empty(room, np.int64), np.empty((room, n), np.int64), np.empty((room, n), np.int64)
    place = np.zeros(n, np.int64)
    for box in range(low.shape[0]):
        place[:] = 0
        left = True
        while left:
            key = np.int64(0)
            for i in range(n):
                key = key * width[i] + (first[box, i] + place[i] - least[i])
            at = _slot(table, keys, key)
            row = table[at]
            new = row < 0
            if new:
                if count == room:
                    room *= 2
                    keys, lows, highs = _more(keys), _wider(lows), _wider(highs)
                    table = np.full(2 * room, -1, np.int64)
                    for other in range(count):
                        table[_slot(table, keys, keys[other])] = other
                    at = _slot(table, keys, key)
                row = table[at] = count
                keys[row] = key
                count += 1
            for i in range(n):
                corner = (first[box, i] + place[i]) * side
                a, b = max(low[box, i], corner), min(high[box, i], corner + side)
                lows[row, i] = a if new else min(a, lows[row, i])
                highs[row, i] = b if new else max(b, highs[row, i])
            left = False
            for i in range(n - 1, -1, -1):
                place[i] += 1
                if place[i] < sizes[box, i]:
                    left = True
                    break
                place[i] = 0
    return keys[:count], lows[:count], highs[:count]


@njit(nogil=True, cache=True)
def _slot(table, keys, key):
    """Where a number is in the table, or is to be."""
    last = len(table) - 1
    mixed = (key ^ (key >> 31)) * 0x2545F4914F6CDD1D
    at = (mixed ^ (mixed >> 29)) & last
    while table[at] >= 0 and keys[table[at]] != key:
        at = (at + 1) & last
    return at


@njit(nogil=True, cache=True)
def _more(values):
    made = np.empty(2 * len(values), np.int64)
    made[: len(values)] = values
    return made


@njit(nogil=True, cache=True)
def _wider(values):
    made = np.empty((2 * values.shape[0], values.shape[1]), np.int64)
    made[: values.shape[0]] = values
    return made
