"""``python -m experiments.benchmarks NAME [--quick] [--repeat 3] [--csv FILE]``: one benchmark, tables in Markdown.

Every verdict is compared with what is known without the verifier, and modes with one another; a contradiction or a
crash ends the run with status 1. --only and --modes pick cells, so that one can be repeated.
"""

from __future__ import annotations

import argparse
import logging
import sys
from importlib import import_module
from pathlib import Path

from experiments.benchmarks.bench import Bench
from experiments.benchmarks.machine import DATA

NAMES = (
    "vcas",
    "wide",
    "frozenlake",
    "forever",
    "double_integrator",
    "scaling",
    "loops",
    "marabou",
    "acasxu",
    "nested",
    "workers",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--quick", action="store_true", help="a few cells, once, in a minute or two")
    parser.add_argument("--repeat", type=int, help="runs of each cell (default 3, with --quick 1); the median counts")
    parser.add_argument("--csv", type=Path, help="write all rows to this file")
    parser.add_argument(
        "--resume", type=Path, metavar="FILE", help="keep rows there, and ask no cell again that it has"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="cells with TEXT in 'section: name$'")
    parser.add_argument("--modes", nargs="+", default=(), help="only these modes")
    parser.add_argument("--timeout", type=float, help="seconds per run, in place of the benchmark's own limits")
    parser.add_argument("--fresh", action="store_true", help="every run in a process of its own, to measure its memory")
    parser.add_argument("--workers", type=int, help="worker processes of a run")
    parser.add_argument(
        "--certify", action="store_true", help="adaptive, exact, invariant: write a certificate and check it"
    )
    parser.add_argument("--trust", default="auto", choices=("auto", "exact", "solver"))
    parser.add_argument("--solver", default="highs", help="for the modes that need one")
    args = parser.parse_args()
    if not DATA.is_dir():
        print(f"the published data is not at {DATA}: set VENMAS_DATA", file=sys.stderr)
        return 2
    logging.disable(logging.WARNING)
    options = vars(args) | {"repeat": args.repeat or (1 if args.quick else 3), "modes": tuple(args.modes)}
    bench = Bench(**options)
    bench.start()
    import_module(f"experiments.benchmarks.{args.name}").run(bench)
    return bench.finish()


if __name__ == "__main__":
    raise SystemExit(main())
