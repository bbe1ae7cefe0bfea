"""Options of refinement: ``python -m experiments.policies.predicate_selection [--model M] [--seeds 10] ...``.

Every option of refinement, one at a time from its default and in the combinations of the papers (predicates from
nothing; [B]: Vinzent, Sharma, Hoffmann; [C]: Vinzent, Wu, Wu, Hoffmann), on one JANI model: verdict, iterations,
refinements by the policy, predicates, abstract states and seconds, each a mean over seeds, beside the published
seconds of [C]. The default model is four blocks, cost-aware, of the published data. What is decided is kept in
``predicate_selection.db`` of --out; a table and two figures are written there, too (all runs of each variant;
iterations against seconds). --quick: two variants, one seed. Exit status 1 where two verdicts differ. Seconds are CPU
seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from experiments.policies import figure
from experiments.policies.cells import Cell, Cells, abstraction
from experiments.policies.instances import Instance, data, published
from experiments.policies.output import Output
from experiments.policies.published import SELECTING, selected
from venmas.procedures.predicate_abstraction.settings import OPTIONS

FIGURES = ("iterations", "by policy", "predicates", "states", "queries", "CPU")
PUBLISHED = {"slice": "off", "guards": "all", "cells": "off"}
PAPERS: dict[str, dict[str, Any]] = {
    "none, shrink": {"refine": "shrink"},
    "none, shrink, mid": {"refine": "shrink", "split": "mid"},
    "[B] WS": {**PUBLISHED, "refine": "ws"},
    "[B] CE": {**PUBLISHED, "refine": "ce"},
    "[B] WS without h": {**PUBLISHED, "refine": "ws", "search": "breadth"},
    "[B] WS without inc": {**PUBLISHED, "refine": "ws", "reuse": "off"},
    "[C] Vea w": {**PUBLISHED, "refine": "ws"},
    "[C] Vea mid": {**PUBLISHED, "refine": "ws", "split": "mid"},
    "[C] BsVerix w": {**PUBLISHED, "refine": "verix"},
    "[C] BsVerix mid": {**PUBLISHED, "refine": "verix", "split": "mid"},
    "[C] BsVerix eps": {**PUBLISHED, "refine": "verix", "split": "eps"},
    "[C] sens mid": {**PUBLISHED, "refine": "sens", "split": "mid"},
    "[C] Rand": {**PUBLISHED, "refine": "random", "split": "random"},
    "none, all guards": {"guards": "all"},
    "none, entailed": {"entailed": "on"},
}


def variants() -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and options."""
    yield "default", {}
    for option in OPTIONS:
        for value in option.values or ():
            if value not in (option.default, "eps"):
                yield f"{option.name} {value}", {option.name: value}
    for name, given in PAPERS.items():
        yield name, {"first": "none", **given}


def told_mean(value: float) -> str:
    """Three digits at least."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.policies.predicate_selection", description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--property", type=Path)
    parser.add_argument("--policy", type=Path, help="an interface (.jani2nnet)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds of each run")
    parser.add_argument("--only", default="", metavar="TEXT", help="variants with TEXT in their name")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results/policies"))
    args = parser.parse_args(arguments)
    if args.model is not None:
        if args.policy is None:
            parser.error("--model needs --policy, an interface (.jani2nnet)")
        constants = dict(text.split("=", 1) for text in args.set)
        instance = Instance(args.model.stem, args.model, args.policy, args.property, constants=constants)
    elif found := [i for i in published() if i.name == "published 4 blocks"]:
        instance = found[0]
    else:
        print(f"there are no published policies in {data()}: set VENMAS_DATA, or give --model and --policy")
        return 2
    chosen = [(name, options) for name, options in variants() if args.only in name]
    if args.quick:
        chosen, args.seeds = chosen[:2], 1
    decided: set[str] = set()
    row = selected()["4 Blocks awa 16"]
    runs: dict[str, list[list[float]]] = {}
    output = Output(args.out, "predicate_selection")
    with Cells(args.out / "predicate_selection.db") as cells:
        output.head("variant", "verdict", *FIGURES, "+-", "published s")
        for name, options in chosen:
            asked = [abstraction(seed=seed, **options) for seed in range(args.seeds)]
            rows = [cells.decide(Cell(instance, each, args.timeout)) for each in asked]
            verdicts = {row["verdict"] for row in rows}
            decided |= verdicts
            runs[name] = [[float(row[column] or 0) for column in FIGURES] for row in rows]
            means = [told_mean(mean(column)) for column in zip(*runs[name], strict=True)]
            clock = [run[-1] for run in runs[name]]
            around = f"{stdev(clock):.2g}" if len(clock) > 1 else ""
            short = name.removeprefix("[C] ")
            beside = row[f"{short} mean"] if short in SELECTING and args.model is None else ""
            output.row(name, ", ".join(sorted(verdicts)), *means, around, beside)
    title = f"{instance.name}: {args.seeds} seeds"
    columns = [FIGURES.index(name) for name in ("iterations", "predicates", "states", "CPU")]
    picked = {name: [[max(run[c], 0.01) for c in columns] for run in rows] for name, rows in runs.items()}
    series = {name: [(run[0], run[-1]) for run in rows] for name, rows in picked.items() if name in PAPERS}
    shown = series or {name: [(run[0], run[-1]) for run in rows] for name, rows in picked.items()}
    output.end(
        runs=lambda: figure.spread(title, ("iterations", "predicates", "abstract states", "CPU seconds"), picked),
        iterations=lambda: figure.against(title, "iterations", "CPU seconds", shown),
    )
    return int(len(decided - {"unknown"}) > 1)


if __name__ == "__main__":
    raise SystemExit(main())
