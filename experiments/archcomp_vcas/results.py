"""results.csv of ARCH-COMP (AINNCS) for VerticalCAS: a line an instance, with its result and its seconds.

python -m experiments.archcomp_vcas.results [--out results.csv] [--timeout 300] [--only middle19] [--networks DIR]

An instance is a pilot (middle, worst) with an initial climb rate, in ft/s without its half: |h| > 100 ft at each of ten
seconds. Results are VERIFIED, FALSIFIED (a counterexample was replayed) or UNKNOWN; seconds are those of the whole
command, start included, one at a time. The competition is about the published networks, which --networks names;
without it the bundled ones are asked. Status 1 where one is UNKNOWN.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from experiments.papers.known import ARCH_CLIMBS

PILOTS = ("middle", "worst")
COLUMNS = ("benchmark", "instance", "result", "time")
_RESULTS = {0: "VERIFIED", 10: "FALSIFIED", 20: "UNKNOWN"}


def main(arguments: list[str] | None = None) -> int:
    """Write the file, line by line as results are known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results.csv"))
    parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="of an instance")
    parser.add_argument("--only", default="", metavar="TEXT", help="instances whose names hold the text")
    parser.add_argument("--networks", type=Path, metavar="DIR", help="folder of the published networks")
    options = parser.parse_args(arguments)
    rows = []
    with options.out.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for pilot in PILOTS:
            for climb in ARCH_CLIMBS:
                name = f"{pilot}{abs(int(climb))}"
                if options.only in name:
                    rows.append(("VCAS", name, *ask(pilot, climb, options.timeout, options.networks)))
                    table.writerow(rows[-1])
                    file.flush()
                    print(*rows[-1], flush=True)
    return 1 if any(row[2] == "UNKNOWN" for row in rows) else 0


def ask(pilot: str, climb: float, timeout: float, networks: Path | None) -> tuple[str, str]:
    """The result of an instance, and its seconds."""
    told = ["--scenario", "vcas", "--set", f"climb0={climb:g}", "--set", f"pilot={pilot}", "--formula", "AG^10 safe"]
    told += [] if networks is None else ["--networks", str(networks)]
    begun = perf_counter()
    done = subprocess.run([sys.executable, "-m", "venmas", *told, "--timeout", str(timeout), "--quiet"], check=False)
    seconds = perf_counter() - begun
    if done.returncode not in _RESULTS:
        raise SystemExit(f"{' '.join(told)}: status {done.returncode}")
    return _RESULTS[done.returncode], f"{seconds:.3f}"


if __name__ == "__main__":
    raise SystemExit(main())
