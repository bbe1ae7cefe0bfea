"""Random runs that end in a deadlock: they meet those that lie deep long before all states above them are found."""

from __future__ import annotations

import numpy as np

from venmas.procedures.explicit.graph.graph import StateGraph
from venmas.procedures.explicit.paths import Path

_RUNS, _STEPS = 16, 256


def random_run(graph: StateGraph) -> Path | None:
    """A run from an initial state to a state without a successor; None where none of some runs ends in one.

    Runs that leave the box are given up: that is another question.
    """
    rng = np.random.default_rng(0)
    states = graph.states(0, graph.initial)[rng.integers(0, graph.initial, _RUNS)].astype(np.int64)
    first, taken = states, np.zeros((0, _RUNS), np.int64)
    for _ in range(_STEPS):
        graph.tick()
        score, chosen, after = np.zeros(len(states)), np.full(len(states), -1), states.copy()
        left = np.zeros(len(states), bool)
        for branch, rows, new, outside in graph.columns.steps(states):
            drawn = 1 - rng.random(len(rows))
            better = drawn > score[rows]
            at = rows[better]
            score[at], chosen[at], after[at], left[at] = drawn[better], branch, new[better], outside[better]
        if (stuck := np.flatnonzero(chosen < 0)).size:
            run = int(stuck[0])
            return Path(graph.named(first[run]), tuple(taken[:, run].tolist()))
        stay = ~left
        if not stay.any():
            return None
        states, first = after[stay], first[stay]
        taken = np.concatenate([taken, chosen[None]])[:, stay]
    return None
