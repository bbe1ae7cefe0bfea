"""``python -m experiments.domains [--out FOLDER] [--only TEXT] [--timeout S] [--quick] [--train|--keep|--bundle]``.

Writes the domains as JANI with policies of 2x16, 2x32, 2x64 into a folder (those of ``policies/``; what is not kept
there is trained), then decides each in the ways below and prints a table: by the verifier's default, by predicate
abstraction of all variables, and, where the policy reads no counters, by following it with a simulator of our own.
What is decided is kept in ``verdicts.db`` of the folder, and the same command goes on where it stopped. Exit status 1
where two ways contradict each other.

--quick: the smallest instance of each domain. --keep trains what is missing into ``policies/``. --bundle writes the
files of the scenario ``blocks`` instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from experiments.domains.follow import enumerated
from experiments.domains.make import SHAPES, bundle, keep, make
from experiments.domains.tasks import tasks
from experiments.policies.cells import Cell, Cells, abstraction
from experiments.policies.instances import OUT, own
from experiments.policies.output import Output

WAYS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "abstraction, no slice": abstraction(slice="off"),
}
QUICK = ("blocks_4", "transport_4", "racetrack")
COLUMNS = ("verdict", "by", "iterations", "predicates", "states", "path", "CPU")


def main() -> int:
    """Make and measure."""
    parser = argparse.ArgumentParser(prog="python -m experiments.domains", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="instances with a TEXT in their name")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of each run")
    parser.add_argument("--train", action="store_true", help="do not decide anything")
    parser.add_argument("--quick", action="store_true", help="the smallest instances, policies of 2x16")
    parser.add_argument("--keep", action="store_true", help="train what is missing in policies/, decide nothing")
    parser.add_argument("--bundle", action="store_true", help="write the scenario `blocks`, decide nothing")
    args = parser.parse_args()
    if args.bundle:
        bundle({name: build() for name, build in tasks().items() if name.startswith("blocks_4")})
        return 0
    shapes = {"16_16": SHAPES["16_16"]} if args.quick else SHAPES
    wanted: dict[str, str] = {}
    for name, build in tasks().items():
        some = {n: shape for n, shape in shapes.items() if any(t in f"{name} {n}" for t in args.only)}
        if not some or (args.quick and not name.startswith(QUICK)):
            continue
        wanted |= {f"{name} {n}": name for n in some}
        if args.keep:
            keep(build(), some)
        else:
            make(build(), args.out / name, some)
    return 0 if args.train or args.keep else decide(args.out, wanted, args.timeout)


def decide(folder: Path, wanted: Mapping[str, str], timeout: float) -> int:
    """Print the table of the instances; `wanted` has the task of each."""
    contradictions = 0
    output = Output(folder, "verdicts")
    with Cells(folder / "verdicts.db") as cells:
        output.head("instance", "way", *COLUMNS)
        for instance in own(folder):
            if instance.name not in wanted:
                continue
            said = set()
            for way, options in WAYS.items():
                cell = Cell(instance, options, timeout)
                found = cells.decide(cell)
                said.add(found["verdict"])
                output.row(instance.name, way, *(found[c] for c in COLUMNS))
            follow = partial(enumerated, tasks()[wanted[instance.name]], instance.policy.with_suffix(".onnx"))
            found = cells.keep(f"followed {Cell(instance).key}", follow)
            said.add(found["verdict"])
            output.row(instance.name, "followed", *(found.get(c, "") for c in COLUMNS))
            contradictions += said >= {"satisfied", "violated"}
    output.end()
    return int(contradictions > 0)


if __name__ == "__main__":
    raise SystemExit(main())
