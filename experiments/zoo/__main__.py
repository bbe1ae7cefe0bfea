"""Forty closed loops as users write them, asked three to five questions each.

python -m experiments.zoo [--linear] [--timeout 60] [--only TEXT] [--certify] [--out zoo.csv]

Each question is asked in a process of its own; a run that was ended continues, as what has a line in the file is not
asked again. What is expected was sampled (`experiments.zoo.sample`), without the verifier: a violated where satisfied
is expected is a counterexample that sampling missed, and told; a satisfied where a violation was met is WRONG.
--linear: of linear plants of 4 to 15 states instead, AG^100 under ReLU and argmax policies. --certify: proofs are
written and checked. --table: the table of a file, nothing is asked. Status 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from experiments.zoo.loops import EVERY, LINEAR, LOOPS
from experiments.zoo.sample import Asked, stored

Row = dict[str, str]
COLUMNS = (
    "loop", "kind", "policy", "number", "formula", "expected", "margin", "verdict", "problem", "seconds", "cpu", "by",
    "basis", "check", "reason",
)  # fmt: skip
DECIDED = ("satisfied", "violated")


def main(arguments: list[str] | None = None) -> int:
    """Ask what is not known yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="of a question")
    parser.add_argument("--linear", action="store_true", help="linear plants under ReLU and argmax policies")
    parser.add_argument("--only", default="", metavar="TEXT", help="loops whose names hold the text")
    parser.add_argument("--certify", action="store_true", help="write certificates, and check them")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="of a question")
    parser.add_argument("--out", type=Path, default=Path("zoo.csv"), metavar="FILE")
    parser.add_argument("--table", action="store_true", help="only the table of what the file has")
    options = parser.parse_args(arguments)
    known = _read(options.out)
    for name, number, asked in jobs(options):
        if not options.table and (name, str(number)) not in known:
            row = ask(name, number, asked, options.timeout, options.workers, options.certify)
            known[name, str(number)] = row
            _write(options.out, known.values())
            print(*(row[c] for c in ("loop", "formula", "verdict", "problem", "seconds", "by", "check")), flush=True)
    rows = [known[key] for name, i, _ in jobs(options) if (key := (name, str(i))) in known]
    print("\n".join(table(rows)))
    return int(any(row["problem"].isupper() for row in rows))


def jobs(options: argparse.Namespace) -> list[tuple[str, int, Asked]]:
    """Loop, number and question."""
    loops, known = LINEAR if options.linear else LOOPS, stored()
    return [(n, i, q) for n in loops if options.only in n for i, q in enumerate(known[n])]


def ask(name: str, number: int, asked: Asked, timeout: float, workers: int, certify: bool = False) -> Row:
    """The row of a question, from a process of its own."""
    told = [sys.executable, "-m", "experiments.zoo.single", name, str(number), str(timeout)]
    told += ["--workers", str(workers), *(["--certify"] if certify else [])]
    done = subprocess.run(told, check=False, capture_output=True, text=True)
    row: Row = dict.fromkeys(COLUMNS, "") | {"verdict": "crash", "reason": done.stderr[-300:], "seconds": "0"}
    if done.returncode == 0:
        row |= json.loads(done.stdout.splitlines()[-1])
    loop = EVERY[name]
    row |= {"loop": name, "kind": loop.plant.kind, "policy": loop.policy, "number": str(number)}
    row |= {"formula": asked.formula, "expected": asked.expected, "margin": str(asked.margin)}
    return row | {"problem": judged(row)}


def judged(row: Row) -> str:
    """What is wrong with a row, in capitals; or what is to be told."""
    if row["verdict"] == "crash":
        return "CRASH"
    if row["check"].startswith(("NOT", "REFUSED")):
        return row["check"].upper()
    if (row["verdict"], row["expected"]) == ("satisfied", "violated"):
        return "WRONG"
    if (row["verdict"], row["expected"]) == ("violated", "satisfied"):
        return "missed by sampling"
    return ""


def table(rows: Sequence[Row]) -> list[str]:
    """Lines of Markdown: by kind, by policy, and what is undecided."""
    lines = [
        "| kind | questions | decided | satisfied | violated | median s | largest s |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        lines += _line(kind, [r for r in rows if r["kind"] == kind])
    for policy in ("relu", "tanh", "argmax"):
        lines += _line(f"*{policy}*", [r for r in rows if r["policy"] == policy])
    lines += _line("**all**", rows)
    lines += ["", "Undecided:", ""]
    return lines + [
        f"- {r['loop']}: `{r['formula']}` ({r['verdict']}, {float(r['seconds']):.0f} s)"
        for r in rows
        if r["verdict"] not in DECIDED
    ]


def _line(what: str, rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    seconds = [float(r["seconds"]) for r in rows]
    yes, no = (sum(r["verdict"] == v for r in rows) for v in DECIDED)
    return [f"| {what} | {len(rows)} | {yes + no} | {yes} | {no} | {median(seconds):.2f} | {max(seconds):.1f} |"]


def _read(file: Path) -> dict[tuple[str, str], Row]:
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as text:
        return {(row["loop"], row["number"]): row for row in csv.DictReader(text)}


def _write(file: Path, rows: Iterable[Row]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as text:
        out = csv.DictWriter(text, COLUMNS)
        out.writeheader()
        out.writerows(rows)


if __name__ == "__main__":
    raise SystemExit(main())
