"""The compiled sweep of queries on several threads; importing it takes numba (extra ``fast``)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from venmas.bounds.compiled.crown_kernel import sweep_boxes
from venmas.bounds.crown import Swept
from venmas.bounds.crown_plan import Plan
from venmas.bounds.rounding import Floats, gammas


def sweep(plan: Plan, low: Floats, high: Floats, cap: int, threads: int = 1) -> Swept:
    """As `venmas.bounds.crown.sweep`, on several threads."""
    count, m = low.shape
    most = int(max(plan.sizes.max(), plan.goal.shape[1], len(plan.goals))) + cap + 2 * m + 64
    network = (plan.sizes, plan.weights, plan.rows, plan.biases, plan.relus, plan.errors)
    goals = (plan.goal, plan.goal_error, plan.goal_bias, plan.bias_error, plan.direct, plan.strict)
    condition = (plan.starts, plan.members, plan.program)
    swept = Swept(
        np.zeros(count, dtype=bool), np.zeros(count), np.zeros((count, m)), np.zeros((count, m)), np.zeros(count)
    )
    low, high = np.ascontiguousarray(low), np.ascontiguousarray(high)
    size = max(1, -(-count // (4 * threads)))

    def part(first: int) -> None:
        at = slice(first, min(first + size, count))
        found = (swept.closed[at], swept.lower[at], swept.influence[at], swept.tried[at], swept.worst[at])
        sweep_boxes(network, goals, condition, low[at], high[at], cap, gammas(most), found)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(part, range(0, count, size)))
    return swept
