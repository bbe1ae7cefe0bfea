"""``python -m experiments.domains [--out FOLDER] [--only TEXT] [--quick] [--bundle]``.

Writes the domains as JANI with policies of 2x16, 2x32, 2x64 into a folder (training what is not there), then decides
each in the ways below and prints a table. What is decided is kept in ``verdicts.db`` of the folder, and the same
command goes on where it stopped. --bundle writes the files of the scenario ``blocks`` instead.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.domains.make import SHAPES, bundle, make
from experiments.domains.tasks import tasks
from experiments.policies.cells import Cell, Cells, line, table
from experiments.policies.instances import OUT, own

WAYS = {"default": {}, "abstraction, no slice": {"mode": "abstraction", "slice": "off"}}


def main() -> int:
    """Make and measure."""
    parser = argparse.ArgumentParser(prog="python -m experiments.domains", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", default="", metavar="TEXT", help="instances with TEXT in their name")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of each run")
    parser.add_argument("--train", action="store_true", help="do not decide anything")
    parser.add_argument(
        "--quick", action="store_true", help="a short training of the smallest shape, to see that it runs"
    )
    parser.add_argument("--bundle", action="store_true")
    args = parser.parse_args()
    if args.bundle:
        bundle({name: build() for name, build in tasks().items() if name.startswith("blocks_4")})
        return 0
    shapes = {"16_16": SHAPES["16_16"]} if args.quick else SHAPES
    for name, build in tasks().items():
        wanted = {n: shape for n, shape in shapes.items() if args.only in f"{name} {n}"}
        if wanted:
            make(build(), args.out / name, wanted, args.quick)
    if args.train:
        return 0
    columns = ("verdict", "by", "iterations", "predicates", "states", "seconds")
    with Cells(args.out / "verdicts.db") as cells:
        print(table("instance", "way", *columns))
        for instance in own(args.out):
            if args.only not in instance.name or (args.quick and "16_16" not in instance.name):
                continue
            for way, options in WAYS.items():
                found = cells.decide(Cell(instance, options, args.timeout))
                print(line(instance.name, way, *(found[c] for c in columns)), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
