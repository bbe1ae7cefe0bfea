"""ARCH-COMP, category AINNCS: its closed loops, a line an instance as the competition asks for.

python -m experiments.arch_comp [--networks DIR] [--out results.csv] [--only TEXT] [--timeout 300] [--certify DIR]

--networks: folder of the published networks, by the names that `--list` tells, .polar or .onnx, in any subfolder;
instances whose network is not there are left out, and told. Without it, those of the project's own networks are asked
that stand in `networks/` beside this file for what is not shipped. Results: VERIFIED (proved), FALSIFIED (a
counterexample was replayed) or UNKNOWN; seconds are those of a process of its own, start included. What has a line for
the same network's file keeps it, and is not asked again. --certify: proofs are written and checked; details.csv beside
results.csv has their sizes and times. The instances of VerticalCAS: `python -m experiments.archcomp_vcas.results`.
Status 1 where one is UNKNOWN or left out.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from experiments.arch_comp import flight, pendulums, vehicles
from experiments.arch_comp.loop import Instance

INSTANCES: tuple[Instance, ...] = (*vehicles.INSTANCES, *pendulums.INSTANCES, *flight.INSTANCES)
OWN = Path(__file__).resolve().parent / "networks"
COLUMNS = ("benchmark", "instance", "result", "time")
DETAILS = (
    *COLUMNS,
    "network",
    "sha256",
    "reason",
    "boxes",
    "cpu",
    "certificate_bytes",
    "check_seconds",
    "check_cpu",
    "check",
)


def main(arguments: list[str] | None = None) -> int:
    """Ask what is not known yet."""
    options = _options(arguments)
    if options.list:
        for found in INSTANCES:
            print(f"{found.label}: {' or '.join((found.network, *found.others))}")
        return 0
    details = options.out.with_name("details.csv")
    known = {(row["benchmark"], row["instance"]): row for row in _rows(details)}
    status = 0
    for instance in INSTANCES:
        key = (instance.benchmark, instance.name)
        if options.only not in instance.label or not (options.networks or instance.own):
            continue
        file = find(instance, options.networks)
        if file is None:
            print(f"{instance.label}: no file {instance.network}.polar or .onnx, left out", file=sys.stderr)
            status = 1
            continue
        if key not in known or known[key]["sha256"] != digest(file):
            known[key] = ask(instance, file, options)
            _write(details, DETAILS, known.values())
            _write(options.out, COLUMNS, known.values())
        row = known[key]
        print(*(row[column] for column in DETAILS if row[column] != ""), flush=True)
        status = max(status, int(row["result"] == "UNKNOWN"))
    return status


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=Path, metavar="DIR", help="folder of the published networks")
    parser.add_argument("--out", type=Path, default=Path("results.csv"), metavar="FILE")
    parser.add_argument("--only", default="", metavar="TEXT", help="instances whose names hold the text")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="of a question")
    parser.add_argument("--certify", type=Path, metavar="DIR", help="write certificates here, and check them")
    parser.add_argument("--list", action="store_true", help="instances with the names of their networks")
    options = parser.parse_args(arguments)
    if options.networks is not None and not options.networks.is_dir():
        parser.error(f"--networks: {options.networks} is no folder; give the one with the published networks")
    return options


def find(instance: Instance, folder: Path | None) -> Path | None:
    """The network's file."""
    names = (instance.network, *(instance.others if folder else ()))
    if folder is None:
        folder = OWN
    for name in names:
        for ending in (".polar", ".onnx"):
            if found := sorted(folder.rglob(name + ending)):
                return found[0]
    return None


def digest(file: Path) -> str:
    """SHA-256 of a network's file: lines about another one do not count."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def ask(instance: Instance, file: Path, options: argparse.Namespace) -> dict[str, str]:
    """The row of an instance, from a process of its own."""
    told = [sys.executable, "-m", "experiments.arch_comp.single", instance.label, str(file), str(options.timeout)]
    if options.certify:
        options.certify.mkdir(parents=True, exist_ok=True)
        told += ["--certify", str(options.certify)]
    begun = perf_counter()
    done = subprocess.run(told, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(told[1:])}: status {done.returncode}")
    row: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    taken = perf_counter() - begun - float(row["check_seconds"] or 0)
    row |= {"benchmark": instance.benchmark, "instance": instance.name, "time": f"{taken:.3f}"}
    return {column: row[column] for column in DETAILS}


def _rows(file: Path) -> Iterator[dict[str, str]]:
    if file.exists():
        with file.open(encoding="utf-8", newline="") as text:
            yield from csv.DictReader(text)


def _write(file: Path, columns: tuple[str, ...], rows: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as text:
        table = csv.DictWriter(text, columns, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)  # type: ignore[arg-type]


if __name__ == "__main__":
    raise SystemExit(main())
