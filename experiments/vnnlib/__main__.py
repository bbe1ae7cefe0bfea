"""The ACAS Xu instances of VNN-COMP with a public truth, each by a ``venmas vnnlib`` of its own, as in the competition.

python -m experiments.vnnlib --csv FILE [--timeout 60] [--only prop_3] [--workers N]

Seconds are those of the whole command, start included, one at a time; cpu is user and system time of all its threads.
A row is written when it is known. Status 1 where an answer differs from the truth, or a counterexample is not accepted.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

from experiments.benchmarks.machine import DATA, header

FOLDER = DATA / "acasxu"
COLUMNS = ("network", "property", "truth", "verdict", "basis", "seconds", "cpu", "boxes", "compiled", "accepted")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with (FOLDER / "truth_public.csv").open(encoding="utf-8") as file:
        instances = [row for row in csv.DictReader(file) if options.only in f"{row['onnx']} {row['vnnlib']}"]
    rows = []
    for instance in instances:
        rows.append(ask(instance, options.timeout, options.workers))
        print(*(f"{rows[-1][name]}" for name in COLUMNS), flush=True)
        if options.csv:
            write(options.csv, rows)
    decided = [row for row in rows if row["verdict"] in ("sat", "unsat")]
    wrong = [row for row in decided if row["verdict"] != row["truth"] or row["accepted"] is False]
    seconds = [float(str(row["seconds"])) for row in rows]
    print(f"{len(decided)} of {len(rows)} decided, {len(wrong)} wrong or not accepted by onnxruntime")
    print(f"seconds: median {median(seconds):.2f}, greatest {max(seconds):.2f}, sum {sum(seconds):.0f}")
    return 1 if wrong else 0


def ask(instance: dict[str, str], timeout: float, workers: int | None) -> dict[str, object]:
    command = [sys.executable, "-m", "venmas", "vnnlib", str(FOLDER / "onnx" / instance["onnx"])]
    command += [str(FOLDER / "vnnlib" / instance["vnnlib"]), "--timeout", str(timeout), "--json", "-", "-q"]
    command += [] if workers is None else ["--workers", str(workers)]
    begun, cpu = perf_counter(), spent()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout) if done.stdout else {"verdict": f"status {done.returncode}", "boxes": 0}
    return {
        "network": instance["onnx"].removeprefix("ACASXU_run2a_").removesuffix("_batch_2000.onnx"),
        "property": instance["vnnlib"].removesuffix(".vnnlib"),
        "truth": instance["truth"],
        "verdict": found["verdict"],
        "basis": found.get("basis", done.stderr[-200:]),
        "seconds": round(perf_counter() - begun, 3),
        "cpu": round(spent() - cpu, 3),
        "boxes": found["boxes"],
        "compiled": found.get("compiled", ""),
        "accepted": (found.get("replay") or {}).get("accepted", ""),
    }


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        for line in header():
            file.write(f"# {line}\n")
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
