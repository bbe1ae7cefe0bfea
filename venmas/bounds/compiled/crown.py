"""The compiled sweep of queries on several threads; importing it takes half a second."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from venmas.bounds.compiled.crown_kernel import sweep_boxes
from venmas.bounds.crown import Swept
from venmas.bounds.crown_plan import Plan
from venmas.bounds.crown_slopes import ROUNDS
from venmas.bounds.rounding import Bools, Floats, gammas

_WORTH_THREADS = 8
"""Boxes from which several threads sweep them."""


def sweep(
    plan: Plan,
    low: Floats,
    high: Floats,
    cap: int,
    threads: int = 1,
    opened: Bools | None = None,
    narrow: bool = True,
    rounds: int = ROUNDS,
) -> Swept:
    """As `venmas.bounds.crown.sweep`, on several threads."""
    count, m = low.shape
    largest = int(np.diff(plan.starts).max(initial=1))
    most = int(max(plan.sizes.max(), plan.goal.shape[1], largest)) + cap + 2 * m + 64
    begins = np.cumsum([0, *plan.sizes[1:]])
    network = (plan.sizes, begins, plan.offsets, plan.weights, plan.rows, plan.biases, plan.relus, plan.errors)
    goals = (plan.goal, plan.goal_error, plan.goal_bias, plan.bias_error, plan.direct, plan.strict)
    condition = (plan.starts, plan.levels, plan.order, plan.first, plan.program)
    opened = np.ones((count, plan.groups), dtype=bool) if opened is None else opened.copy()
    swept = Swept(
        *(np.zeros(count, dtype=bool), np.zeros(count), np.zeros((count, m)), np.zeros((count, m)), np.zeros(count)),
        *(opened, np.zeros((count, m)), np.zeros((count, m))),
    )
    low, high = np.ascontiguousarray(low), np.ascontiguousarray(high)
    threads = threads if count >= _WORTH_THREADS else 1
    size = max(1, -(-count // (4 * threads))) if threads > 1 else max(1, count)

    def part(first: int) -> None:
        at = slice(first, min(first + size, count))
        arrays = (
            *(swept.closed[at], swept.lower[at], swept.influence[at], swept.tried[at], swept.worst[at]),
            *(swept.opened[at], swept.low[at], swept.high[at]),
        )
        sweep_boxes(network, goals, condition, low[at], high[at], cap, gammas(most), plan.cuts, narrow, rounds, arrays)

    if threads == 1:  # not in a pool: the end of the process would wait for its threads, which may be compiling
        part(0)
        return swept
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(part, range(0, count, size)))
    return swept
