"""Limits of time on heavy questions, idle and with busy processes beside: what they are overrun by.

python -m experiments.zoo.limits [--timeout 5 12] [--beside 0 2] [--most 20] [--rows zoo.csv]

Asked are the questions of the zoo that a file of its rows has as undecided or slowest, each in a process of its own.
Seconds are those of `verify` alone, without loading. Wanted: at most 1 s + 3 % over. Status 1 where one is over.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from experiments.zoo.__main__ import Row, ask
from experiments.zoo.sample import stored


def main(arguments: list[str] | None = None) -> int:
    """Ask, and print a line for each limit and load."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, nargs="+", default=[5.0, 12.0], metavar="S")
    parser.add_argument("--beside", type=int, nargs="+", default=[0, 2], metavar="N", help="busy processes")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="questions")
    parser.add_argument("--rows", type=Path, default=Path("zoo.csv"), metavar="FILE", help="of `experiments.zoo`")
    options = parser.parse_args(arguments)
    with options.rows.open(encoding="utf-8", newline="") as text:
        heavy = sorted(csv.DictReader(text), key=lambda row: -float(row["seconds"]))[: options.most]
    print("| limit s | busy beside | questions | ended within | median s over | largest | of |", flush=True)
    print("|---|---|---|---|---|---|---|", flush=True)
    worst = 0.0
    for seconds in options.timeout:
        for beside in options.beside:
            with busy(beside):
                rows = [_asked(row, seconds) for row in heavy]
            over = [(float(row["seconds"]) - seconds, f"{row['loop']} {row['formula']}") for row in rows]
            allowed = 1 + 0.03 * seconds
            worst = max(worst, max(over)[0] - allowed)
            within = sum(late <= allowed for late, _ in over)
            late, name = max(over)
            print(
                f"| {seconds:g} | {beside} | {len(rows)} | {within} | {max(0.0, median(o for o, _ in over)):.2f} "
                f"| {late:.2f} | {name} |",
                flush=True,
            )
    return int(worst > 0)


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that compute for as long as the block lasts."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def _asked(row: Row, seconds: float) -> Row:
    number = int(row["number"])
    return ask(row["loop"], number, stored()[row["loop"]][number], seconds, workers=2)


if __name__ == "__main__":
    raise SystemExit(main())
