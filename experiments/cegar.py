"""``python -m experiments.cegar [--only TEXT] [--timeout S] [--quick] [--out FOLDER]``: AAAI 2023, Table 1.

The variants of Vinzent, Sharma, Hoffmann (predicates from nothing: witness splitting WS, without heuristic, without
reuse, concretization exclusion CE), the default of mode abstraction and the default of all modes, on what is published
and on the policies of ``python -m experiments.domains``, beside the published seconds of the row of that name. (Own
policies are others than those of the paper.) What is decided is kept in ``cegar.db`` of the folder; --quick: the
smallest published instance, mode abstraction only. Exit status 1 where two ways contradict each other.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from experiments.policies.cells import Cell, Cells, line, table
from experiments.policies.instances import data, own, published
from experiments.policies.published import REFINEMENT, told

WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "guards, shrink": {"mode": "abstraction", "slice": "off"},
    "WS": {"mode": "abstraction", "slice": "off", "predicates": "none", "refine": "ws"},
    "no h": {"mode": "abstraction", "slice": "off", "predicates": "none", "refine": "ws", "search": "breadth"},
    "no inc": {"mode": "abstraction", "slice": "off", "predicates": "none", "refine": "ws", "reuse": "off"},
    "CE": {"mode": "abstraction", "slice": "off", "predicates": "none", "refine": "ce"},
}
FIGURES = ("verdict", "by", "iterations", "by policy", "predicates", "states", "path", "seconds")


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.cegar", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="instances with TEXT in their name")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of each run")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results/policies"))
    args = parser.parse_args(arguments)
    instances = [i for i in published() if not i.name.endswith("6_0")]
    instances = instances[:1] if args.quick else [*instances, *own()]
    instances = [i for i in instances if args.only in i.name]
    if not instances:
        print(f"no instance: neither in {data()} (VENMAS_DATA) nor made by python -m experiments.domains")
        return 2
    ways = {"guards, shrink": WAYS["guards, shrink"]} if args.quick else WAYS
    contradictions = 0
    with Cells(args.out / "cegar.db") as cells:
        print(table("instance", "way", *FIGURES, "published s"))
        for instance in instances:
            row, said = REFINEMENT.get(instance.row), set()
            for way, options in ways.items():
                found = cells.decide(Cell(instance, options, args.timeout))
                said.add(found["verdict"])
                times = {} if row is None else {"WS": row.ws, "no h": row.no_h, "no inc": row.no_inc, "CE": row.ce}
                beside = told(times[way]) if way in times else ""
                print(line(instance.name, way, *(found[name] for name in FIGURES), beside), flush=True)
            contradictions += said >= {"satisfied", "violated"}
    return int(contradictions > 0)


if __name__ == "__main__":
    raise SystemExit(main())
