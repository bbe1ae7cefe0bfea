"""``python -m experiments.arch_comp --networks FOLDER``: all loops, their verdicts with certificates, and results.csv.

A row of results.csv (benchmark, instance, result, time: the competition's columns, then seconds of CPU) is written when
it is known, and what has a row is not asked again: an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from time import perf_counter, process_time

from experiments.arch_comp.loops import LOOPS
from venmas.checker.file import check_certificate
from venmas.engine.verify import verify

COLUMNS = ("benchmark", "instance", "result", "time", "cpu", "check")
_RESULTS = {"satisfied": "verified", "violated": "falsified", "unknown": "unknown"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=Path, required=True, help="folder of the .polar files")
    parser.add_argument("--results", type=Path, default=Path("results.csv"))
    parser.add_argument("--certificates", type=Path, help="folder for certificates, each of which is checked")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds an instance")
    parser.add_argument("loops", nargs="*", choices=[*LOOPS, []], help="some of them")
    args = parser.parse_args()
    if not args.networks.is_dir():
        parser.error(f"{args.networks} is no folder: give the one with the .polar files of ClosedLoopReachability.jl")
    known = set()
    if args.results.exists():
        with args.results.open(newline="") as file:
            known = {row["benchmark"] for row in csv.DictReader(file)}
    else:
        with args.results.open("w", newline="") as file:
            csv.writer(file).writerow(COLUMNS)
    if args.certificates:
        args.certificates.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for name in args.loops or LOOPS:
        if name in known:
            continue
        loop = LOOPS[name]
        system = loop.system(args.networks)
        path = args.certificates / f"{name}.certificate.gz" if args.certificates else None
        begun, cpu = perf_counter(), process_time()
        report = verify(system, "goal", timeout=args.timeout, certificate=path)
        verdict, seconds, used = str(report.verdict.value), perf_counter() - begun, process_time() - cpu
        checked = ""
        if path is not None and verdict == "satisfied":
            cpu = process_time()
            check_certificate(path, system)
            checked = f"{process_time() - cpu:.2f}"
        row = (name, "", _RESULTS[verdict], f"{seconds:.2f}", f"{used:.2f}", checked)
        with args.results.open("a", newline="") as file:
            csv.writer(file).writerow(row)
        print(*row, flush=True)
        wrong += verdict != loop.expected
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
