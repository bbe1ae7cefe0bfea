"""``python -m experiments.policies.cegar [--only TEXT] [--timeout S] [--quick] [--out FOLDER]``: AAAI 2023, Table 1.

The variants of Vinzent, Sharma, Hoffmann (predicates from nothing: witness splitting WS, without heuristic, without
reuse, concretization exclusion CE), the default of mode abstraction and the default of all modes, on what is
published and on the policies of ``python -m experiments.domains``, beside the published seconds of the row of that
name. (Own policies are others than those of the paper.) What is decided is kept in ``cegar.db`` of the folder, into
which a table and a figure are written, too: instances decided against CPU seconds, and these against the published
seconds. --quick: the smallest published instance, mode abstraction only. Exit status 1 where two ways contradict each
other.
"""

from __future__ import annotations

import argparse
from math import nan
from pathlib import Path
from typing import Any

from experiments.policies import figure
from experiments.policies.cells import Cell, Cells
from experiments.policies.instances import data, own, published
from experiments.policies.output import Output
from experiments.policies.published import REFINEMENT, Row, told


def _abstraction(**options: str) -> dict[str, Any]:
    """Predicate abstraction of the whole system with these options."""
    tune = {"slice": "off", **options}
    return {"mode": "abstraction", "tune": {f"predicates.{name}": value for name, value in tune.items()}}


PUBLISHED = {"first": "none", "guards": "all", "cells": "off"}
WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "guards, shrink": _abstraction(),
    "WS": _abstraction(**PUBLISHED, refine="ws"),
    "no h": _abstraction(**PUBLISHED, refine="ws", search="breadth"),
    "no inc": _abstraction(**PUBLISHED, refine="ws", reuse="off"),
    "CE": _abstraction(**PUBLISHED, refine="ce"),
}
PAPER = ("WS", "no h", "no inc", "CE")
FIGURES = ("verdict", "by", "iterations", "by policy", "predicates", "states", "path", "CPU")


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.policies.cegar", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="instances with a TEXT in their name")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of each run")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results/policies"))
    args = parser.parse_args(arguments)
    instances = [i for i in published() if not i.name.endswith("6_0")]
    instances = instances[:1] if args.quick else [*instances, *own()]
    instances = [i for i in instances if any(text in i.name for text in args.only)]
    if not instances:
        print(f"no instance: neither in {data()} (VENMAS_DATA) nor made by python -m experiments.domains")
        return 2
    ways = {"guards, shrink": WAYS["guards, shrink"]} if args.quick else WAYS
    contradictions = 0
    decided: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    output = Output(args.out, "cegar")
    with Cells(args.out / "cegar.db") as cells:
        output.head("instance", "way", *FIGURES, "published s")
        for instance in instances:
            beside, said = variants(REFINEMENT.get(instance.row)), set()
            for way, options in ways.items():
                found = cells.decide(Cell(instance, options, args.timeout))
                said.add(found["verdict"])
                if found["verdict"] != "unknown":
                    decided[way].append((found["CPU"], beside.get(way) or nan))
                output.row(
                    instance.name, way, *(found[name] for name in FIGURES), told(beside[way]) if way in beside else ""
                )
            contradictions += said >= {"satisfied", "violated"}
    rows = [variants(REFINEMENT.get(instance.row)) for instance in instances]
    published_times = {way: [s for row in rows if (s := row.get(way)) is not None] for way in PAPER}
    output.end(
        decided=lambda: figure.decided(
            f"{len(instances)} instances, at most {args.timeout:g} s each", decided, published_times, args.timeout
        )
    )
    return int(contradictions > 0)


def variants(row: Row | None) -> dict[str, float | None]:
    """The published seconds of the ways that are the paper's own."""
    return {} if row is None else dict(zip(PAPER, (row.ws, row.no_h, row.no_inc, row.ce), strict=True))


if __name__ == "__main__":
    raise SystemExit(main())
