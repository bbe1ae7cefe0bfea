"""``python -m experiments.cluster [--repeat 3]``: what a cluster costs for each subproblem, tables in Markdown.

1. What the scheduler passes on: orders that their worker refuses at once, so that nothing but Dask is measured.
2. Jobs of a known duration (they sleep), on the pool and on a local cluster with as many workers: the time that each
   job takes beyond its duration.
3. A real stream, VerticalCAS, on both.

CPU times hardly depend on what else the machine does; rates do, and the first line says how busy it was. A local
cluster with as many workers as the pool can only lose. The question is how much, and how many more make up for it.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import pickle
import statistics
import time
from collections.abc import Callable, Sequence

import psutil

from experiments.benchmarks.machine import header
from experiments.cluster.sleeper import Sleeper
from venmas import load_scenario, verify
from venmas.logic import nnf
from venmas.procedures.milp.encoding import Task, encode
from venmas.procedures.milp.stream import deep_runs
from venmas.question import read_formula
from venmas.solvers.cluster import node
from venmas.solvers.cluster.local import LocalCluster
from venmas.solvers.cluster.mapper import Cluster
from venmas.solvers.workers.mapper import Job, Mapper
from venmas.solvers.workers.pool import Pool

DURATIONS = (0.0, 0.01, 0.1, 1.0)
SOLVERS = ("highs",)
REAL = (("-22.5..-18.7", "AX^3 safe"),)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.cluster", description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each figure; the median is shown")
    parser.add_argument("--seconds", type=float, default=3.0, help="about how long one run takes")
    parser.add_argument("--workers", type=int, nargs="+", default=[2], help="of the pool and of the cluster")
    options = parser.parse_args()
    logging.getLogger("venmas").setLevel(logging.CRITICAL)  # a Sleeper is a failure
    print("\n".join(header()), "\n\n## The scheduler alone\n")
    print("| orders under way | orders a second | CPU ms an order: scheduler | client | worker |\n" + "|---:" * 5 + "|")
    for window in (1, 8, 128):
        runs = [asyncio.run(_scheduler(window, options.seconds)) for _ in range(options.repeat)]
        rate, *cpu = (statistics.median(column) for column in zip(*runs, strict=True))
        print(f"| {window} | {rate:.0f} | {' | '.join(f'{1000 * c:.1f}' for c in cpu)} |", flush=True)
    for workers in options.workers:
        _durations(workers, options.seconds, options.repeat)
    print("\n## VerticalCAS, two workers\n")
    print(
        "| climb0 | formula | subproblems | mean ms | mean kB sent | pool s | cluster s |\n" + "|---|---|" + "---:|" * 5
    )
    for climb, formula in REAL:
        _real(climb, formula, options.repeat)
    return 0


def _median(repeat: int, measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(repeat))


async def _scheduler(window: int, seconds: float) -> tuple[float, ...]:
    """Orders a second, `window` of them under way at a time, on two workers; CPU s of scheduler, client, workers."""
    from distributed import Client

    local = LocalCluster(2)
    try:
        async with Client(local.address, asynchronous=True, set_as_default=False) as client:
            await client.wait_for_workers(2)
            workers = list((await client.scheduler.identity(n_workers=-1))["workers"])
            end, count = time.monotonic() + seconds, 0

            async def one(number: int) -> None:
                nonlocal count
                while time.monotonic() < end:
                    order = (node.solve_order, "nobody", b"")
                    await client.submit(*order, key=f"{number}-{count}", workers=[workers[number % 2]], pure=False)
                    count += 1

            await client.submit(node.solve_order, "nobody", b"", key="first")
            parties = [[local.scheduler.pid], [os.getpid()], [worker.pid for worker in local.workers]]
            before, begun = [_cpu(pids) for pids in parties], time.monotonic()
            await asyncio.gather(*(one(number) for number in range(window)))
            rate = count / (time.monotonic() - begun)
            return rate, *((_cpu(pids) - start) / count for pids, start in zip(parties, before, strict=True))
    finally:
        local.close()


def _cpu(pids: Sequence[int]) -> float:
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)


def _durations(workers: int, seconds: float, repeat: int) -> None:
    print(f"\n## Jobs of a known duration, {workers} workers\n")
    print("| duration ms | pool: jobs a second | beyond it, ms | cluster: jobs a second | beyond it, ms |")
    print("|---:|---:|---:|---:|---:|")
    with Pool(SOLVERS, workers=workers) as pool, Cluster(SOLVERS, address=f"local:{workers}") as cluster:
        mappers: tuple[Mapper, ...] = (pool, cluster)
        for mapper in mappers:
            _rate(mapper, workers, 0.5, 2.0)  # all of them have started
        for duration in DURATIONS:
            cells = []
            for mapper in mappers:
                rate = _median(repeat, lambda: _rate(mapper, workers, duration, seconds))  # noqa: B023
                cells += [f"{rate:.0f}" if rate > 20 else f"{rate:.2f}", f"{(workers / rate - duration) * 1000:.1f}"]
            print(f"| {duration * 1000:g} | {' | '.join(cells)} |", flush=True)


def _rate(mapper: Mapper, workers: int, duration: float, seconds: float) -> float:
    """Jobs a second."""
    count = max(4 * workers, min(1000, int(seconds * workers / (duration + 0.005))))
    begun = time.monotonic()
    stream = (Job(number, Sleeper(duration, b"x" * 100_000)) for number in range(count))  # type: ignore[arg-type]
    answered = sum(done is not None for done in mapper.map(stream))
    assert answered == count
    return count / (time.monotonic() - begun)


def _real(climb: str, formula: str, repeat: int) -> None:
    system = load_scenario("vcas").system(climb0=climb)
    task = Task(system, nnf(read_formula(system, formula), negate=True), "compositional")
    with deep_runs(task):
        programs = [found.program for found in encode(task) if found is not None]
    size = statistics.mean(
        len(pickle.dumps(node.Order(program, SOLVERS, None, None, 0), pickle.HIGHEST_PROTOCOL)) for program in programs
    )
    times: dict[str, float] = {}
    mean = count = 0.0
    local = LocalCluster(2)
    try:
        for name, options in (("pool", {"mode": "comp-par", "workers": 2}), ("cluster", {"cluster": local.address})):

            def run(options: dict[str, object] = options) -> float:
                nonlocal mean, count
                report = verify(system, formula, solver="highs", trust="solver", **options)  # type: ignore[arg-type]
                assert report.satisfied
                count = report.subproblems.solved
                mean = report.seconds.solve / count
                return report.seconds.total

            times[name] = _median(repeat, run)
    finally:
        local.close()
    print(
        f"| {climb} | {formula} | {count:.0f} | {mean * 1000:.0f} | {size / 1000:.0f} | {times['pool']:.1f} | "
        f"{times['cluster']:.1f} |",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
