"""Sets of states as boxes: states that differ in one variable only, by values side by side, are one box."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from venmas.model.invariant import Invariant
from venmas.model.system import System
from venmas.search.closure.graph.graph import StateGraph

MAX_BOXES = 100_000
"""Boxes of an inductive set that is written down."""


def inductive_set(whole: System, graph: StateGraph, tick: Callable[[], None]) -> Invariant | None:
    """The states of a closed graph of a part of a system, whatever the other variables are; None for too many boxes."""
    names = list(graph.system.variables)
    low, high = boxes_of(graph.states(0, graph.count).astype(np.int64), tick)
    if len(low) > MAX_BOXES:
        return None
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return Invariant.of_boxes(
        whole,
        ({n: (Fraction(a), Fraction(b)) for n, a, b in zip(names, *box, strict=True)} for box in ends),
    )


def boxes_of(states: NDArray[np.int64], tick: Callable[[], None]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Different states (B, variables) -> least and greatest values (boxes, variables) of boxes of just these states."""
    low, high, before = states, states.copy(), -1
    while len(low) != before:
        before = len(low)
        for i in range(states.shape[1]):
            tick()
            rest = np.delete(np.concatenate([low, high], axis=1), (i, i + states.shape[1]), axis=1)
            order = np.lexsort((low[:, i], *rest.T))
            low, high, rest = low[order], high[order], rest[order]
            begins = np.ones(len(low), bool)
            begins[1:] = (rest[1:] != rest[:-1]).any(1) | (low[1:, i] != high[:-1, i] + 1)
            first = np.flatnonzero(begins)
            last = np.append(first[1:], len(low)) - 1
            low, joined = low[first], high[first]
            joined[:, i] = high[last, i]
            high = joined
    return low, high
