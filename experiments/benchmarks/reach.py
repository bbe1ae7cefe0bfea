"""Reach sets over 20 steps: 100,000 sampled runs inside, and how much wider than what is reached they are.

``python -m experiments.benchmarks.reach``: the double integrator, VerticalCAS with all pilots, and generated loops of
four variables (`experiments.benchmarks.loops`). The runs are others than those by which the sets are measured.
Seconds are CPU seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time

import numpy as np

from experiments.benchmarks.loops import Case, generated
from venmas import System, load_scenario, reach
from venmas.budget import Budget
from venmas.engine.reach.runs import sampled

STEPS, RUNS = 20, 100_000


def systems() -> Iterator[tuple[System, list[str]]]:
    """Systems and directions."""
    yield load_scenario("double_integrator").system(), ["x[1] + x[2]", "x[1] - x[2]"]
    yield load_scenario("vcas").system(), ["h + climb", "h - 20*climb"]
    for seed, units, layers in ((1, 16, 2), (3, 16, 1), (5, 8, 2)):
        case = Case(variables=4, units=units, layers=layers, seed=seed)
        yield generated(case)[0], ["x[1] + x[2]", "x[3] - x[4]"]


def main() -> None:
    """Print a line a system."""
    for system, directions in systems():
        begun = process_time()
        found = reach(system, STEPS, directions, timeout=120)
        seconds = process_time() - begun
        exprs = [d.expr for d in found.directions]
        runs, _ = sampled(system, exprs, STEPS, RUNS, 12345, 0, Budget())
        outside = 0.0
        for step, layer in enumerate(found.layers):
            values = runs[:, step]
            size = np.maximum(1e-300, np.maximum(np.abs(layer.low), np.abs(layer.high)))
            outside = max(outside, float((np.maximum(layer.low - values, values - layer.high) / size).max()))
        widest, used = max(found.slack(k) for k in range(len(found))), dict.fromkeys(w.name for w in found.worked)
        print(
            f"{system.name}: {len(found) - 1} steps, {len(runs)} runs, {max(outside, 0):.1e} outside (relative), "
            f"at most {100 * widest:.3g} % wider, {seconds:.1f} s; {', '.join(used)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
