"""``python -m experiments.neural_model_checking [--set 24|25] [--only FAMILY] [--trust exact|solver] [--out FOLDER]
[--plot FILE.svg]``.

The tasks of *Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024), and the liveness tasks of its
successor (NeurIPS 2025), on the netlists of the data folder: verdict, level of neurons, queries and seconds of each,
beside the published seconds. Kept in ``nmc.db`` of the folder, so that a run that was cut is gone on with. Exit status
1 where a verdict is not the expected one, 2 where the data are not there.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
from functools import partial
from math import inf
from pathlib import Path
from time import process_time
from typing import Any

from experiments.neural_model_plot import cactus, published_times
from experiments.policies.cells import Cells, line, table
from experiments.policies.instances import data
from venmas.budget import Budget
from venmas.circuit.btor2 import read_btor2
from venmas.logic.ltl_parser import parse_ltl
from venmas.ltl.decide import Satisfied, Unknown, decide

_SHORT = {
    "delay": "dly",
    "gray": "gry",
    "blink": "blk",
    "load_store": "ls",
    "seven_seg": "sg7",
    "thermocouple": "tmp",
    "uart_transmit": "utt",
    "PWM": "pwm",
}


def tasks(folder: Path, year: str) -> list[tuple[str, str, int, str, Path]]:
    """Property, family, index, formula and netlist of each task whose netlist is there."""
    with (folder / f"properties{year}.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if year == "24" or row["kind"] == "Liveness"]
    found = []
    for row in rows:
        for path in (folder / f"btor{year}").glob(f"{row['family']}_*.btor2"):
            if match := re.fullmatch(rf"{row['family']}_(\d+)", path.stem):
                key = row["property"] if year == "24" else row["id"]
                found.append((key, row["family"], int(match[1]), row["ltl"], path))
    return sorted(found, key=lambda task: task[:3])


def published(folder: Path, year: str) -> dict[tuple[str, int], str]:
    """Of property (or family, in 2025) and index the published seconds of its authors' tool."""
    if year == "24":
        with (folder / "figures" / "neurips24_table3.csv").open() as file:
            return {(row["property"], int(row["index"])): row["ours_8_5_s"] for row in csv.DictReader(file)}
    with (folder / "figures" / "neurips25_runtimes.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "liveness" and row["tool"] == "nuRauto"]
    return {(f"{row['spec']}_{row['family']}", int(row["index"])): row["seconds"] for row in rows}


def solve(path: Path, text: str, exact: bool, limit: float) -> dict[str, Any]:
    """One task."""
    begun = process_time()
    answer, work = decide(read_btor2(path), parse_ltl(text), Budget(limit), exact=exact)
    found: dict[str, Any] = {
        "verdict": type(answer).__name__.lower(),
        "seconds": round(process_time() - begun, 2),
        "queries": work.figures.queries,
        "smt": round(work.figures.smt_seconds, 2),
        "why": answer.message if isinstance(answer, Unknown) else "",
    }
    if isinstance(answer, Satisfied):
        found["level"] = max((one.network.level for one in answer.ranked), default=0)
        found["steps"] = sum(sum(one.steps) for one in answer.ranked)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.neural_model_checking", description=__doc__)
    parser.add_argument("--set", dest="year", choices=("24", "25"), default="24")
    parser.add_argument("--only", metavar="FAMILY", help="one family of designs")
    parser.add_argument("--trust", choices=("exact", "solver"), default="exact")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="of a task")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a cactus plot beside the published times")
    parser.add_argument("--out", type=Path, default=Path("results/ltl"))
    args = parser.parse_args(arguments)
    folder = data().parent / "ltl"
    if not folder.is_dir():
        print(f"there are no netlists in {folder}: set VENMAS_DATA to the folder that holds ltl/")
        return 2
    theirs = published(folder, args.year)
    total, longest, open_, count = 0.0, 0.0, 0, 0
    solved: dict[tuple[str, int], float] = {}
    with Cells(args.out / "nmc.db") as cells:
        print(table("task", "verdict", "level", "queries", "proof steps", "CPU s", "of it solver s", "published s"))
        for key, family, index, text, path in tasks(folder, args.year):
            if args.only not in (None, family):
                continue
            asked = "\0".join((path.read_text(), text, args.trust, str(args.timeout)))
            name = hashlib.sha256(asked.encode()).hexdigest()
            found = cells.keep(name, partial(solve, path, text, args.trust == "exact", args.timeout))
            short = f"{key.split('_')[0]}_{_SHORT.get(family, family)}" if args.year == "25" else key
            shown = [found.get(entry, "") for entry in ("level", "queries", "steps", "seconds", "smt")]
            print(line(f"{key} {index}", found["verdict"], *shown, theirs.get((short, index), "")), flush=True)
            solved[short, index] = found["seconds"] if found["verdict"] == "satisfied" else inf
            count, total = count + 1, total + found["seconds"]
            longest, open_ = max(longest, found["seconds"]), open_ + (found["verdict"] != "satisfied")
    print(f"{count} tasks, {open_} not satisfied; {total:.1f} s of CPU, the longest {longest:.1f} s")
    if args.plot is not None:
        ours = [seconds for seconds in solved.values() if seconds < inf]
        cactus({"VenMAS, one core": ours, **published_times(folder, args.year, solved)}, count, args.plot)
        print(f"plot: {args.plot}")
    return int(open_ > 0)


if __name__ == "__main__":
    raise SystemExit(main())
