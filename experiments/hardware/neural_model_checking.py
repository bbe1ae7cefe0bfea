"""Neural model checking: ``python -m experiments.hardware.neural_model_checking [--set 24|25] [--kind liveness] ...``.

The tasks of *Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024), and those of its successor
*Let a Neural Network be Your Invariant* (NeurIPS 2025), on the netlists of the data folder: verdict, whether from all
states or from the initial ones, level of neurons, clauses of the invariant, queries and seconds of each, beside the
published seconds. Liveness is asked of every state. Safety and combined tasks begin where all registers are 0, as the
netlists say nothing of it; properties of signals that a netlist does not have (`h_sync`, `v_sync` of vga, which Yosys
dropped as no output depends on them) are refused: `venmas verify --scenario FILE.sv` answers them of the source.
Those of PWM are violated: its `ubR` is a constant 0 there, and the pulse is 1 at step 1. With ``--certificates`` each
is written as a certificate, too, and checked: kinds of proofs, bytes, CPU seconds of writing and checking. Kept in
``nmc.db`` of the folder, so that a run that was cut is gone on with. Exit status 1 where a verdict is not *satisfied*,
2 where the data are not there.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from time import process_time
from typing import Any

from experiments.hardware.neural_model_plot import cactus, published_times
from experiments.policies.cells import Cells, line, table
from experiments.policies.instances import data
from venmas import verify
from venmas.checker.file import check_certificate
from venmas.checker.netlists.check import Checked
from venmas.errors import CircuitError
from venmas.formats.btor2.reader import read_btor2
from venmas.model.circuit.nodes import Circuit, Node
from venmas.model.circuit.operators import Op
from venmas.procedures.linear.netlist import NetlistProof
from venmas.procedures.ranking.proof import RankingProof

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


_KINDS = {"liveness": "Liveness", "safety": "Safety", "combined": "Safety+Liveness"}
_TEXTS = {"1_gray_SL": "G !rst -> X G (cnt > 0 U sig)", "2_gray_SL": "F G !rst -> F G (flg U sig)"}
"""Formulas whose field `ltl` is empty in the data, from their field `text`."""


def tasks(folder: Path, year: str, kind: str = "liveness") -> list[tuple[str, str, int, str, Path]]:
    """Property, family, index, formula and netlist of each task whose netlist is there."""
    with (folder / f"properties{year}.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if year == "24" or row["kind"] == _KINDS[kind]]
    found = []
    for row in rows:
        for path in (folder / f"btor{year}").glob(f"{row['family']}_*.btor2"):
            if match := re.fullmatch(rf"{row['family']}_(\d+)", path.stem):
                key = row["property"] if year == "24" else row["id"]
                found.append((key, row["family"], int(match[1]), row["ltl"] or _TEXTS[key], path))
    return sorted(found, key=lambda task: task[:3])


def published(folder: Path, year: str, kind: str = "liveness") -> dict[tuple[str, int], str]:
    """Of property (or family, in 2025) and index the published seconds of its authors' tool."""
    if year == "24":
        with (folder / "figures" / "neurips24_table3.csv").open() as file:
            return {(row["property"], int(row["index"])): row["ours_8_5_s"] for row in csv.DictReader(file)}
    with (folder / "figures" / "neurips25_runtimes.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == _KINDS[kind].lower() and row["tool"] == "nuRauto"]
    return {(f"{row['spec']}_{row['family']}", int(row["index"])): row["seconds"] for row in rows}


def reset(circuit: Circuit) -> Circuit:
    """The circuit whose registers are 0 at first."""
    zeros = tuple(Node(Op.CONST, circuit.width(node), (), (0,)) for node in circuit.registers)
    first = range(len(circuit.nodes), len(circuit.nodes) + len(zeros))
    return replace(circuit, nodes=(*circuit.nodes, *zeros), init=tuple(first), source="")


def solve(path: Path, text: str, trust: str, limit: float, certificate: Path | None, initial: bool) -> dict[str, Any]:
    """One task, from all states or from 0."""
    begun = process_time()
    circuit = read_btor2(path)
    asked = reset(circuit) if initial else circuit
    try:
        report = verify(asked, text, trust=trust, certificate=certificate, timeout=limit)
    except CircuitError as error:
        return {"verdict": "refused", "seconds": round(process_time() - begun, 2), "why": str(error)}
    ranking = next((tried.figures for tried in report.procedures if tried.name == "ranking"), {})
    found: dict[str, Any] = {
        "verdict": report.verdict.value,
        "seconds": round(process_time() - begun, 2),
        "queries": ranking.get("queries", "").partition(" ")[0],
        "smt": ranking.get("seconds", "").partition("SMT solver ")[2].partition(",")[0],
        "why": report.message or "; ".join(report.notes),
    }
    proof = None if report.proved is None else report.proved.proof
    if report.proof is not None:
        found["from"] = report.proof["from"]
        found["level"] = report.proof.get("level", 0)
    if isinstance(proof, RankingProof):
        found["steps"] = sum(proof.kept) + sum(sum(one.steps) for one in proof.ranked)
        found["clauses"] = sum(map(len, proof.invariant.clauses.values()))
    if report.certificate is not None and certificate is not None:
        assert isinstance(proof, NetlistProof)
        counts = proof.counts
        found |= {"steps": counts["clauses"], "bytes": report.certificate.size}
        found |= {"written": round(report.seconds.prove, 3), "enumerated": counts["enumerate"]}
        found |= {"refuted": counts["rup"], "said": counts["solver"]}
        begun = process_time()
        checked = check_certificate(certificate)
        assert isinstance(checked, Checked)
        found |= {"checked": round(process_time() - begun, 3), "dead": checked.dead}
    return found


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.hardware.neural_model_checking", description=__doc__)
    parser.add_argument("--set", dest="year", choices=("24", "25"), default="24")
    parser.add_argument("--kind", choices=tuple(_KINDS), default="liveness", help="of the tasks of 2025")
    parser.add_argument("--only", metavar="FAMILY", help="one family of designs")
    parser.add_argument("--trust", choices=("exact", "two", "solver"), default="exact")
    parser.add_argument("--certificates", action="store_true", help="write and check them")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="of a task")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a cactus plot beside the published times")
    parser.add_argument("--out", type=Path, default=Path("results/ltl"))
    args = parser.parse_args(arguments)
    folder = data().parent / "ltl"
    if not folder.is_dir():
        print(f"there are no netlists in {folder}: set VENMAS_DATA to the folder that holds ltl/")
        return 2
    initial = args.year == "25" and args.kind != "liveness"
    theirs = published(folder, args.year, args.kind)
    total, longest, open_, count = 0.0, 0.0, 0, 0
    verdicts: Counter[str] = Counter()
    solved: dict[tuple[str, int], float] = {}
    wanted = ("written", "checked", "bytes", "enumerated", "refuted", "said") if args.certificates else ()
    sums = dict.fromkeys((*wanted, "certificates", "exact"), 0.0)
    slowest = 0.0
    with Cells(args.out / "nmc.db") as cells:
        columns = ("from", "level", "clauses", "queries", "steps", "seconds", "smt")
        heads = ("task", "verdict", *columns[:4], "proof steps", "CPU s", "of it solver s", "published s")
        print(table(*heads, *wanted))
        for key, family, index, text, path in tasks(folder, args.year, args.kind):
            if args.only not in (None, family):
                continue
            asked = "\0".join((path.read_text(), text, args.trust, str(args.timeout), str(initial), *wanted))
            name = hashlib.sha256(asked.encode()).hexdigest()
            target = args.out / f"{name[:16]}.gz" if args.certificates else None
            found = cells.keep(name, partial(solve, path, text, args.trust, args.timeout, target, initial))
            number = key.split("_")[0].removeprefix("s") or "1"
            short = f"{number}_{_SHORT.get(family, family)}" if args.year == "25" else key
            shown = [found.get(entry, "") for entry in columns]
            print(
                line(
                    f"{key} {index}",
                    found["verdict"],
                    *shown,
                    theirs.get((short, index), ""),
                    *(found.get(entry, "") for entry in wanted),
                ),
                flush=True,
            )
            solved[short, index] = found["seconds"] if found["verdict"] == "satisfied" else inf
            for entry in wanted:
                sums[entry] += found.get(entry, 0)
            sums["certificates"] += "bytes" in found
            sums["exact"] += "bytes" in found and found["said"] == 0
            slowest = max(slowest, found.get("checked", 0.0))
            verdicts[found["verdict"]] += 1
            count, total = count + 1, total + found["seconds"]
            longest, open_ = max(longest, found["seconds"]), open_ + (found["verdict"] != "satisfied")
    told = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.most_common())
    print(f"{count} tasks: {told}; {total:.1f} s of CPU, the longest {longest:.1f} s")
    if wanted:
        print(
            f"{sums['certificates']:.0f} certificates, all accepted, {sums['exact']:.0f} without a solver's word; "
            f"{sums['written']:.1f} s of CPU to write them (of those above), {sums['checked']:.1f} s to check them, "
            f"the longest {slowest:.1f} s; {sums['bytes'] / 1000:.0f} kB; {sums['enumerated']:.0f} enumerated, "
            f"{sums['refuted']:.0f} refuted, {sums['said']:.0f} by a solver's word"
        )
    if args.plot is not None:
        ours = [seconds for seconds in solved.values() if seconds < inf]
        cactus({"VenMAS, one core": ours, **published_times(folder, args.year, solved)}, count, args.plot)
        print(f"plot: {args.plot}")
    return int(open_ > 0)


if __name__ == "__main__":
    raise SystemExit(main())
