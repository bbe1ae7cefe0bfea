"""Conditions over boxes of integers: truth by intervals for many boxes at once, and which abstract states meet one.

A box is dropped where the condition is false, kept where it is true and lies in one abstract state, and else shrunk by
what must hold (unit propagation) or cut where most open atoms depend on it.
"""

from __future__ import annotations

import numpy as np

from venmas.bounds.rounding import Ints
from venmas.budget import ask
from venmas.procedures.predicate_abstraction.states.box_condition import FALSE, OPEN, TRUE, BoxCondition
from venmas.procedures.predicate_abstraction.states.cells import Cells, States, keys
from venmas.procedures.predicate_abstraction.states.points import shrink

_BATCH = 2048


def split(low: Ints, high: Ints, axis: Ints, place: Ints) -> tuple[Ints, Ints]:
    """Both parts of boxes, cut before `place`."""
    rows = np.arange(len(low))
    left, right = high.copy(), low.copy()
    left[rows, axis], right[rows, axis] = place - 1, place
    return np.concatenate([low, right]), np.concatenate([left, high])


def states_of(condition: BoxCondition, cells: Cells, given: Ints | None = None) -> tuple[States, Ints]:
    """The abstract states in which the condition holds somewhere (S, n + m), and a point of each (S, n).

    given: all points that meet it (P, n), where somebody knows them.
    """
    if given is not None:
        given = given[((given >= condition.low) & (given <= condition.high)).all(1)]
        distinct, at = np.unique(cells.of(given), axis=0, return_index=True)
        return distinct, given[at]
    low, high = condition.low[None], condition.high[None]
    found: dict[bytes, int] = {}
    states: list[States] = []
    points: list[Ints] = []
    while len(low):
        ask()
        a, b = low[-_BATCH:], high[-_BATCH:]
        low, high = low[:-_BATCH], high[:-_BATCH]
        known = condition.over(a, b)
        first, last, bits = cells.intervals(a), cells.intervals(b), cells.truths(a, b)
        spans = first != last
        single = ~spans.any(1) & (bits >= 0).all(1)
        state = np.concatenate([first, bits], axis=1)
        for i in np.flatnonzero(single & (known.truth == TRUE)).tolist():
            (key,) = keys(state[i : i + 1])
            if key not in found:
                found[key] = len(found)
                states.append(state[i : i + 1])
                points.append(a[i : i + 1])
        more = (known.truth != FALSE) & ~(single & (known.truth == TRUE))
        for i in np.flatnonzero(more & single).tolist():
            more[i] = keys(state[i : i + 1])[0] not in found
        opened = np.flatnonzero(more & (known.truth == OPEN))
        part = known.take(opened)
        tight_low, tight_high, changed = condition.tightened(part, a[opened], b[opened])
        fits = changed & (tight_low <= tight_high).all(1)
        low, high = np.concatenate([low, tight_low[fits]]), np.concatenate([high, tight_high[fits]])
        rest = np.flatnonzero(~changed)
        axis, place = condition.cuts(part.take(rest), a[opened[rest]], b[opened[rest]])
        low, high = _pushed(low, high, split(a[opened[rest]], b[opened[rest]], axis, place))
        sure = np.flatnonzero(more & (known.truth == TRUE))
        axis, place = _cell_cuts(cells, a[sure], b[sure], first[sure], last[sure], bits[sure])
        low, high = _pushed(low, high, split(a[sure], b[sure], axis, place))
    n = condition.low.shape[0] + len(cells.relational)
    if not states:
        return np.zeros((0, n), np.int32), np.zeros((0, condition.low.shape[0]), np.int64)
    return np.concatenate(states), np.concatenate(points)


def _pushed(low: Ints, high: Ints, more: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    return np.concatenate([low, more[0]]), np.concatenate([high, more[1]])


def _cell_cuts(cells: Cells, low: Ints, high: Ints, first: States, last: States, bits: States) -> tuple[Ints, Ints]:
    """Where boxes that lie in several abstract states are cut: at a threshold in the middle, else through open bits."""
    rows = np.arange(len(low))
    axis = (last - first).argmax(1)
    spans = last[rows, axis] > first[rows, axis]
    place = np.zeros(len(low), np.int64)
    for i in np.flatnonzero(spans).tolist():
        v = int(axis[i])
        place[i] = cells.begin[v][(int(first[i, v]) + int(last[i, v]) + 1) // 2]
    rest = np.flatnonzero(~spans)
    if len(rest):
        touched = (bits[rest] < 0).astype(np.int64) @ np.abs(cells.rows)
        axis[rest] = (touched * (high[rest] - low[rest])).argmax(1)
        place[rest] = (low[rest, axis[rest]] + high[rest, axis[rest]]) // 2 + 1
    return axis, place


def first_point(condition: BoxCondition, low: Ints, high: Ints, rows: Ints, constants: Ints) -> Ints | None:
    """A point (n,) of the box low..high (n,) that meets the condition and rows (R, n), constants (R,); None: none."""
    low, high = np.maximum(low, condition.low)[None], np.minimum(high, condition.high)[None]
    rows, constants = rows[None], constants[None]
    while len(low):
        ask()
        a, b = low[-_BATCH // 8 :], high[-_BATCH // 8 :]
        low, high = low[: -_BATCH // 8], high[: -_BATCH // 8]
        a, b = shrink(a, b, np.repeat(rows, len(a), 0), np.repeat(constants, len(a), 0))
        keep = (a <= b).all(1)
        a, b = a[keep], b[keep]
        known = condition.over(a, b)
        least = (np.maximum(rows, 0) @ a[:, :, None] + np.minimum(rows, 0) @ b[:, :, None])[:, :, 0] + constants
        open_rows = least < 0
        done = (known.truth == TRUE) & ~open_rows.any(1)
        if done.any():
            return np.asarray(a[done.argmax()])
        keep = known.truth != FALSE
        a, b, open_rows = a[keep], b[keep], open_rows[keep]
        known = known.take(keep)
        tight_low, tight_high, changed = condition.tightened(known, a, b)
        fits = changed & (tight_low <= tight_high).all(1)
        axis, place = condition.cuts(known, a, b)
        for i in np.flatnonzero(known.truth == TRUE).tolist():
            touched = np.abs(rows[0][open_rows[i]]).sum(0) * (b[i] - a[i])
            axis[i] = touched.argmax()
            place[i] = (a[i, axis[i]] + b[i, axis[i]]) // 2 + 1
        rest = ~changed
        low, high = _pushed(low, high, split(a[rest], b[rest], axis[rest], place[rest]))
        low, high = np.concatenate([low, tight_low[fits]]), np.concatenate([high, tight_high[fits]])
    return None
