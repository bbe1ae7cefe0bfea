"""Predicate sets in the order of Vinzent, Steinmetz, Hoffmann (ICAPS 2022, section 8.3): thresholds, coarse to fine.

    thresholds of a variable in levels of binary search: the middle of its range, then the quarters, ..
    Racetrack: level by level, all variables at once
    Blocksworld, SlidingTiles: the same without costs, then level by level those of costs
    Transport: the truck completely, then level by level the others

The greatest set tells all values apart that the policy or a guard reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from venmas.procedures.predicate_abstraction.states.predicates import Predicate
from venmas.procedures.predicate_abstraction.states.task import Task


def levels(low: int, high: int) -> list[list[int]]:
    """The thresholds low + 1 to high: those that cut all intervals that are left in half, again and again."""
    found: list[list[int]] = []
    spans = [(low, high)]
    while spans := [(a, b) for a, b in spans if a < b]:
        cuts = [(a + b) // 2 + 1 for a, b in spans]
        found.append(cuts)
        spans = [part for (a, b), c in zip(spans, cuts, strict=True) for part in ((a, c - 1), (c, b))]
    return found


def steps(task: Task, groups: Sequence[Sequence[int]]) -> list[list[Predicate]]:
    """Growing sets: a step for each level of each group of variables, on top of the groups before."""
    found: list[list[Predicate]] = []
    chosen: list[Predicate] = []
    for group in groups:
        each = [[(v, cuts) for cuts in levels(int(task.low[v]), int(task.high[v]))] for v in group]
        for level in zip_longest(*each):
            cuts = [pair for pair in level if pair is not None]
            chosen = [*chosen, *(Predicate(((v, 1),), c) for v, places in cuts for c in places)]
            found.append(chosen)
    return found


def groups(task: Task) -> list[list[int]]:
    """The variables of a task in the order of its domain; what an update alone reads and nothing else is left out."""
    told = [v for v, name in enumerate(task.names) if name != "step_cost"]
    if "truck" in task.names:
        truck = task.columns["truck"]
        return [[truck], [v for v in told if v != truck]]
    costs = [v for v in told if task.names[v].startswith("cost_")]
    return [group for group in ([v for v in told if v not in costs], costs) if group]
