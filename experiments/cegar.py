"""``python -m experiments.cegar [--model M --property P --policy N --set NAME=VALUE] [--seeds 10] [--only TEXT]``.

Every option of refinement, one at a time from its default and in the combinations of the papers (predicates from
nothing), on one JANI model: verdict, iterations, refinements by the policy, predicates, abstract states and seconds,
each a mean over seeds. The default model is four blocks, cost-aware, of the published data. Exit status 1 where two
verdicts differ.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from time import process_time
from typing import Any

from venmas import load_jani, verify
from venmas.abstraction.settings import OPTIONS
from venmas.model.system import System

DATA = Path(os.environ.get("VENMAS_DATA", "../shared/data")) / "policy" / "blocksworld_4"
PAPERS: dict[str, dict[str, Any]] = {
    "none, shrink": {"refine": "shrink"},
    "none, shrink, mid": {"refine": "shrink", "split": "mid"},
    "[B] WS": {"refine": "ws"},
    "[B] CE": {"refine": "ce"},
    "[B] WS without h": {"refine": "ws", "search": "breadth"},
    "[B] WS without inc": {"refine": "ws", "reuse": "off"},
    "[C] Vea mid": {"refine": "ws", "split": "mid"},
    "[C] BsVerix w": {"refine": "verix"},
    "[C] BsVerix mid": {"refine": "verix", "split": "mid"},
    "[C] BsVerix eps": {"refine": "verix", "split": "eps"},
    "[C] sens mid": {"refine": "sens", "split": "mid"},
    "[C] Rand": {"refine": "random", "split": "random"},
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
        yield name, {"predicates": "none", **given}


def table(
    system: System, formula: str, seeds: int, timeout: float, only: str = ""
) -> Iterator[tuple[str, dict[str, float], set[str]]]:
    """For each variant the means of what it came to, and its verdicts."""
    for name, given in variants():
        if only and only not in name:
            continue
        rows: list[dict[str, float]] = []
        verdicts: set[str] = set()
        for seed in range(seeds):
            begun = process_time()
            report = verify(system, formula, mode="abstraction", timeout=timeout, seed=seed, **given)
            found = report.invariant or {}
            verdicts.add(report.verdict.value)
            rows.append(
                {
                    "iterations": found.get("iterations", 0),
                    "by policy": found.get("refinements", {}).get("policy", 0),
                    "predicates": found.get("predicates", 0),
                    "states": found.get("abstract", {}).get("states", 0),
                    "queries": found.get("queries", {}).get("count", 0),
                    "CPU s": process_time() - begun,
                }
            )
        yield name, {key: mean(row[key] for row in rows) for key in rows[0]}, verdicts


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.cegar", description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--property", type=Path)
    parser.add_argument("--policy", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds of each run")
    parser.add_argument("--only", default="", metavar="TEXT", help="variants with TEXT in their name")
    args = parser.parse_args()
    constants: dict[str, object] = dict(text.split("=", 1) for text in args.set)
    if args.model is None:
        args.model, args.policy = DATA / "blocksworld_4_3.jani", DATA / "blocksworld_4_3_16_16.jani2nnet"
        constants = {"item_cost_bound": 50, "failing_probability": 0.5, **constants}
    scenario = load_jani(args.model, args.property, args.policy, constants)
    system = scenario.system()
    assert scenario.formula is not None, "the model has no property with a condition `reach`"
    decided: set[str] = set()
    for name, found, verdicts in table(system, scenario.formula, args.seeds, args.timeout, args.only):
        if not decided:
            print(f"| variant | verdict | {' | '.join(found)} |\n|---|---|{'---|' * len(found)}")
        decided |= verdicts
        numbers = " | ".join(f"{value:.2f}" if key == "CPU s" else f"{value:.1f}" for key, value in found.items())
        print(f"| {name} | {', '.join(sorted(verdicts))} | {numbers} |", flush=True)
    return int(len(decided - {"unknown"}) > 1)


if __name__ == "__main__":
    raise SystemExit(main())
