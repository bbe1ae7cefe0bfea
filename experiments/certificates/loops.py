"""What certificates of unrolled loops cost: ``python -m experiments.certificates.loops [--limit SECONDS] [NAME ..]``.

The questions of the benchmark `loops` (`experiments.benchmarks.loops`: published loops, generated ones, the cruise
control) that the default mode finds satisfied, each decided without and with a certificate, which is then checked.
Seconds are those of the process on all cores (user and system), once what is compiled is loaded (0.4 s).
`solve` is what deciding takes of the time with a certificate. NAME: only rows whose name contains one of them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from experiments.benchmarks.ask import Built
from experiments.benchmarks.loops import FACTORS, LEADERS, LOOPS, Case, cruise, generated, questions
from venmas import verify
from venmas.checker.file import check_certificate
from venmas.engine.certificates import file
from venmas.engine.report import Verdict
from venmas.runtime.extras import compiled

RATIO, LEAST = 2.5, 0.5
"""Writing and checking may take so many times what solving takes, or so many seconds."""


@dataclass(frozen=True)
class Job:
    name: str
    build: Callable[[], Built]


def jobs() -> Iterator[Job]:
    for name in LOOPS:
        for question in questions(name):
            if question.expected != "violated":
                yield Job(f"{name} {question.name}", question.build)
    for factor, values in FACTORS.items():
        for value in values:
            if factor != "violated":
                shown = ", ".join(f"{k} {v}" for k, v in value.items())
                yield Job(f"generated {shown}", partial(generated, replace(Case(), **value)))
    for leader, steps in zip(LEADERS, (2, 3, 5, 7, 11, 19), strict=True):
        yield Job(f"cruise {leader} AG^{steps}", partial(cruise, leader, steps))
    yield Job("cruise 26 AG^50", partial(cruise, 26, 50))


class Timed:
    """Writing, with the seconds that it took."""

    def __init__(self) -> None:
        self.spent, self._write = 0.0, file.write

    def __call__(self, *args: Any) -> Any:
        begun = process_time()
        try:
            return self._write(*args)
        finally:
            self.spent += process_time() - begun


def asked(job: Job, limit: float, path: Path | None) -> tuple[Any, float]:
    """The report of a question, and its seconds."""
    system, formula = job.build()
    begun = process_time()
    report = verify(system, formula, timeout=limit, certificate=path)
    return report, process_time() - begun


def row(job: Job, limit: float, path: Path, timed: Timed) -> str:
    plain, alone = asked(job, limit, None)
    if plain.verdict is not Verdict.SATISFIED:
        return f"| {job.name} | {alone:.2f} | {plain.verdict.value} | | | | | | |"
    timed.spent = 0.0
    report, together = asked(job, 3 * limit, path)
    write, solve = timed.spent, together - timed.spent
    if not path.exists():
        return f"| {job.name} | {alone:.2f} | {solve:.2f} | {write:.2f} | not written: {report.notes} | | | | |"
    system, _ = job.build()
    begun = process_time()
    done = check_certificate(path, system)
    check, size = process_time() - begun, path.stat().st_size
    path.unlink()
    fine = write + check <= max(LEAST, RATIO * alone)
    figures = f"{alone:.2f} | {solve:.2f} | {write:.2f} | {check:.2f} | {(write + check) / alone:.2f}"
    return f"| {job.name} | {figures} | {done.leaves} | {size} | {'' if fine else 'dear'} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of a question")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    timed = Timed()
    file.write = timed
    compiled("venmas.checker.affine.compiled")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.gz"
        row(Job("", partial(generated, Case(variables=12))), given.limit, path, timed)
        print("| question | alone | solve | write | check | (write + check) / alone | leaves | bytes | |")
        print("|---|---|---|---|---|---|---|---|---|")
        for job in jobs():
            if not given.names or any(name in job.name for name in given.names):
                print(row(job, given.limit, path, timed), flush=True)


if __name__ == "__main__":
    main()
