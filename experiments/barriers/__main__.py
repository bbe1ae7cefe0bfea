"""Learnt certificates of eight closed loops: does {V <= 0} hold what it promises, and is it left by no step?

    python -m experiments.barriers [--timeout 60] [--only TEXT] [--certify] [--workers 2]

Two questions about each V, as trained and as it was early in training (rough): `con`, ``inside -> admissible``, and
`inv`, ``inside -> AX inside``, from all states of a box, each in a process of its own. Beside the verdict stands what
100,000 samples say; `satisfied` where a sample breaks the claim is WRONG. --certify: proofs are written and checked.
Status 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.barriers.plants import NETWORKS, PLANTS, QUESTIONS
from experiments.barriers.single import SAMPLES

Row = dict[str, str]


def main(arguments: list[str] | None = None) -> int:
    """Ask, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="of a question")
    parser.add_argument("--only", default="", metavar="TEXT", help="of plants with -value or -rough for V")
    parser.add_argument("--certify", action="store_true", help="write certificates, and check them")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="of a question")
    parser.add_argument("--networks", type=Path, default=NETWORKS, metavar="FOLDER")
    options = parser.parse_args(arguments)
    print("| plant | states | V | question | verdict | s | by | proof | samples inside, that break it | |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    rows = []
    for name in PLANTS:
        for rough in (False, True):
            for question in QUESTIONS:
                if options.only in f"{name}{'-rough' if rough else '-value'}":
                    rows.append(ask(name, question, rough, options))
                    print(line(rows[-1]), flush=True)
    print("", *summary(rows), sep="\n")
    return int(any(row["problem"].isupper() for row in rows))


def ask(name: str, question: str, rough: bool, options: argparse.Namespace) -> Row:
    """The row of a question, from a process of its own."""
    asked = [sys.executable, "-m", "experiments.barriers.single", name, question, str(options.timeout)]
    asked += ["--workers", str(options.workers), "--networks", str(options.networks)]
    asked += [*(["--rough"] if rough else []), *(["--certify"] if options.certify else [])]
    done = subprocess.run(asked, check=False, capture_output=True, text=True)
    row: Row = {"verdict": "crash", "seconds": "0", "by": "", "check": "", "inside": "0", "broken": "0"}
    if done.returncode == 0:
        row |= json.loads(done.stdout.splitlines()[-1])
    else:
        print(done.stderr[-300:], file=sys.stderr)
    row |= {"plant": name, "states": str(len(PLANTS[name].box)), "V": "rough" if rough else "trained"}
    return row | {"question": question, "problem": judged(row)}


def judged(row: Row) -> str:
    """What is wrong with a row, in capitals; or what is to be said of it."""
    if row["verdict"] == "crash":
        return "CRASH"
    if row["check"].startswith(("NOT", "REFUSED")):
        return row["check"].upper()
    if row["verdict"] == "satisfied" and int(row["broken"]):
        return "WRONG"
    if row["verdict"] == "violated" and not int(row["broken"]):
        return "missed by sampling"
    return ""


def line(row: Row) -> str:
    """A row of the table."""
    cells = [row[c] for c in ("plant", "states", "V", "question", "verdict", "seconds", "by", "check")]
    return "| " + " | ".join([*cells, f"{row['inside']}, {row['broken']}", row["problem"]]) + " |"


def summary(rows: Sequence[Row]) -> list[str]:
    """Lines that count."""
    found = [sum(row["verdict"] == v for row in rows) for v in ("satisfied", "violated")]
    sure = sum(row["check"].startswith(("accepted", "replayed")) for row in rows)
    text = f"{sum(found)} of {len(rows)} questions decided: {found[0]} satisfied, {found[1]} violated"
    return [f"{text}; {sure} with an accepted certificate or a replayed run; {SAMPLES:,} samples each."]


if __name__ == "__main__":
    raise SystemExit(main())
