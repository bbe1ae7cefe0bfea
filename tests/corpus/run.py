"""The long run: ``python -m tests.corpus.run --cases 2000 --seed 1``.

Every hand-written entry and `--cases` random ones, half of them finite and half over reals, in every mode, solver and
encoding. Each line of what is wrong begins with the name of its case, and ``--only "finite 17"`` or
``--only "entry tie-1"`` repeats it in all of them. Exit status 1 when anything disagrees.

With ``--rotate`` the run is wide instead of deep: each case is asked in one configuration, which changes from case to
case over every mode, solver and encoding, and by an exact proof whose certificate the checker has to accept. What takes
longer than ``--timeout`` is counted and listed as unknown (time); it agrees with nothing.

With ``--cluster local:2`` (or the address of a Dask scheduler) every case is asked over that cluster, one for all of
them, by the same programs in this process, and in mode adaptive.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context

from tests.corpus.check import (
    ADAPTIVE,
    EXACT,
    TIMEOUT,
    Config,
    Tally,
    available,
    check_entry,
    check_finite,
    check_pwl,
    configurations,
    rotated,
)
from tests.corpus.entries_more import CORPUS
from tests.corpus.finite import finite_case
from tests.corpus.pwl import pwl_case
from venmas.solvers.cluster.local import LocalCluster
from venmas.solvers.cluster.mapper import check_address


@dataclass(frozen=True)
class Job:
    """A case by name (``entry NAME``, ``finite SEED``, ``pwl SEED``).

    parallel: by comp-par and exactly too. turn: number of the case in a rotation, with `timeout` in seconds; None: all
    configurations. cluster: address of one to ask over.
    """

    name: str
    parallel: bool = False
    turn: int | None = None
    timeout: float = TIMEOUT
    cluster: str = ""


def run_case(job: Job) -> tuple[str, Tally]:
    """One case, asked as the job says."""
    name = job.name
    logging.disable(logging.WARNING)
    if job.cluster:
        here = Config("comp-seq", "highs", "big-m")
        configs = [
            ADAPTIVE,
            here,
            *(replace(here, mode=mode, cluster=job.cluster) for mode in ("comp-par", "adaptive")),
        ]
    elif job.turn is not None:
        configs = rotated(job.turn, job.timeout)
    else:
        configs = configurations()
        if job.parallel:
            configs += [EXACT] + [Config("comp-par", s, e) for s in available() for e in ("big-m", "indicator")]
    kind, _, which = name.partition(" ")
    match kind:
        case "entry":
            return name, check_entry(next(e for e in CORPUS if e.name == which), configs)
        case "finite":
            return name, check_finite(name, finite_case(int(which)), configs)
        case _:
            return name, check_pwl(name, pwl_case(int(which)), configs)


def main() -> int:
    """Run, show progress, the table and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="random cases, half of them finite")
    parser.add_argument("--seed", type=int, default=1, help="the cases are numbered from SEED * 1000000")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--parallel-every", type=int, default=25, help="comp-par and exact too; 0: never")
    parser.add_argument("--rotate", action="store_true", help="one configuration a case, and a certificate")
    parser.add_argument("--timeout", type=float, default=5.0, help="seconds for each question of --rotate")
    parser.add_argument("--cluster", metavar="ADDRESS|local:N", help="ask over this Dask cluster")
    parser.add_argument("--only", help='one case by name, such as "finite 17"')
    options = parser.parse_args()
    names = [f"entry {e.name}" for e in CORPUS]
    first = options.seed * 1_000_000
    names += [f"{kind} {first + i}" for i in range(options.cases // 2) for kind in ("finite", "pwl")]
    every = options.parallel_every
    jobs = [Job(name, bool(every) and i % every == 0) for i, name in enumerate(names)]
    if options.rotate:
        # the two kinds of random cases take turns, so that half of the number is the one that meets every configuration
        jobs = [Job(name, turn=i // 2, timeout=options.timeout) for i, name in enumerate(names)]
    if options.only:
        jobs = [Job(options.only, parallel=True)]
    own = None
    if options.cluster:
        workers = check_address(options.cluster)
        own = LocalCluster(workers) if workers else None
        jobs = [replace(job, cluster=own.address if own else options.cluster) for job in jobs]
    try:
        return _run(jobs, options.jobs)
    finally:
        if own is not None:
            own.close()


def _run(jobs: list[Job], processes: int) -> int:
    total, begun = Tally(), time.monotonic()
    for done, (_, tally) in enumerate(_answers(jobs, processes), 1):
        total.merge(tally)
        for line in tally.wrong:
            print(f"\nWRONG {line}", flush=True)
        if done % 20 == 0 or done == len(jobs):
            left = (time.monotonic() - begun) / done * (len(jobs) - done)
            print(f"\r{done}/{len(jobs)} cases, {left:.0f} s left   ", end="", flush=True)
    show(total)
    answers, seconds = sum(total.verdicts.values()), time.monotonic() - begun
    print(f"{len(jobs)} cases, {answers} answers, {len(total.wrong)} disagreements, {seconds:.0f} s")
    return 1 if total.wrong else 0


def show(total: Tally) -> None:
    """The table of verdicts by configuration, and every unknown."""
    labels = sorted({label for _, label in total.verdicts})
    print("\n\n" + " " * 34 + "".join(f"{label:>22}" for label in labels))
    for config in sorted({c for c, _ in total.verdicts}):
        print(f"{config:34}" + "".join(f"{total.verdicts[config, label]:22}" for label in labels))
    for label, count in sorted(total.certificates.items()):
        print(f"\n{count} certificates {label}", end="")
    print(f"\n{len(total.unknowns)} unknown:")
    for line, count in Counter(u.split(" [")[0] + ": " + u.split(": ", 1)[1] for u in total.unknowns).items():
        print(f"  {count} x {line}")
    for line in total.wrong:
        print(f"WRONG {line}")


def _answers(jobs: list[Job], processes: int) -> Iterator[tuple[str, Tally]]:
    """Answers as they come, from several processes where asked."""
    if processes < 2:
        yield from map(run_case, jobs)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield from (done.result() for done in as_completed([pool.submit(run_case, job) for job in jobs]))


if __name__ == "__main__":
    sys.exit(main())
