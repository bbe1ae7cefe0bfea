# ruff: noqa: E402
"""What certificates cost, as a Markdown table: ``python -m experiments.certificates [--data DIR] [--limit SECONDS]``.

The satisfied entries of the hand-written corpus, the VerticalCAS cells (published networks, climb rates -19.5 and
-22.5, AX^k safe for k = 1..10), FrozenLake (published agent, AX^k safe for k = 1..10), and wide initial sets of the
double integrator and of VerticalCAS, where cells have to be split. Each proof is written to disk, and checked twice:
with gmpy2, and in a second process with Python's fractions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

FRACTIONS = "--with-fractions"
if FRACTIONS in sys.argv:
    sys.modules["gmpy2"] = None  # type: ignore[assignment]

from tests.corpus.entries_more import CORPUS
from venmas import verify
from venmas.checker.exact.cell import rational
from venmas.checker.file import check_certificate
from venmas.engine.report import Verdict
from venmas.model import System, load_scenario


@dataclass(frozen=True)
class Job:
    """A question, and the row that it counts in."""

    name: str
    row: str
    system: Callable[[], System]
    text: str


def jobs(data: Path, climbs: list[str], steps: int) -> Iterator[Job]:
    for entry in CORPUS:
        if entry.verdict is Verdict.SATISFIED:
            row = "corpus: slow" if entry.name.startswith("slow") else "corpus"
            yield Job(entry.name, row, entry.system, entry.formula)
    for climb in climbs:
        for k in range(1, steps + 1):

            def vcas(climb: str = climb) -> System:
                return load_scenario("vcas").system(data / "vcas", climb0=climb)

            yield Job(f"vcas {climb} {k}", f"vcas {climb}, AX^{k} safe", vcas, f"AX^{k} safe")
    for k in range(1, 11):
        yield Job(
            f"frozenlake {k}",
            f"frozenlake, AX^{k} safe",
            lambda: load_scenario("frozenlake").system(data / "frozenlake"),
            f"AX^{k} safe",
        )

    def wide() -> System:
        return load_scenario("double_integrator").system(x1="1..3", x2="-0.5..1")

    yield Job("wide", "double integrator, wide, AG^3 within", wide, "AG^3 within")

    def wide_vcas() -> System:
        wide = {"climb0": "-45..45", "h_min": "-400", "h_max": "400", "h_limit": "12000"}
        return load_scenario("vcas").system(data / "vcas", **wide)

    yield Job("wide vcas", "vcas, 800 ft by 90 ft/s, AX^25 safe", wide_vcas, "AX^25 safe")


def written(job: Job, path: Path, limit: float, mode: str) -> dict[str, object]:
    """Prove and write; what came of it."""
    report = verify(job.system(), job.text, mode=mode, timeout=limit, certificate=path)
    stored, seconds = report.certificate, report.seconds
    if stored is None:
        return {"verdict": report.verdict.value if not report.satisfied else "satisfied without a certificate"}
    decide = seconds.total - seconds.prove if mode == "adaptive" else seconds.total
    return {
        "verdict": "satisfied",
        "lines": stored.lines,
        "size": stored.size,
        "decide": decide,
        "prove": seconds.total - decide,
    }


def checked(all_jobs: list[Job], folder: Path) -> dict[str, float]:
    """Seconds of checking, by job; every certificate must be accepted."""
    found = {}
    for number, job in enumerate(all_jobs):
        path = folder / f"{number}.gz"
        if path.exists():
            system, begun = job.system(), perf_counter()
            check_certificate(path, system)
            found[job.name] = perf_counter() - begun
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.certificates", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("VENMAS_DATA", "../shared/data")))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one proof")
    parser.add_argument("--mode", choices=("adaptive", "exact"), default="adaptive", help="how proofs are found")
    parser.add_argument("--climb", nargs="+", default=["-19.5", "-22.5"], help="climb rates of VerticalCAS, ft/s")
    parser.add_argument("--steps", type=int, default=10, help="largest k of VerticalCAS")
    parser.add_argument(FRACTIONS, dest="folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    todo = list(jobs(options.data, options.climb, options.steps))
    if options.folder:
        assert rational.__name__ == "Fraction"
        print(json.dumps(checked(todo, options.folder)))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = {
            job.name: written(job, folder / f"{i}.gz", options.limit, options.mode) for i, job in enumerate(todo)
        }
        fast = checked(todo, folder)
        again = [sys.executable, "-m", "experiments.certificates", "--data", str(options.data), FRACTIONS, name]
        again += ["--steps", str(options.steps), "--climb", *options.climb]
        slow = json.loads(subprocess.run(again, check=True, capture_output=True, text=True).stdout)
    print(table(todo, results, fast, slow))
    return 0


def table(
    todo: list[Job], results: dict[str, dict[str, object]], fast: dict[str, float], slow: dict[str, float]
) -> str:
    lines = [
        f"Rationals: {rational.__module__}.{rational.__name__}; every certificate was accepted by both.",
        "",
        "| | certificates | lines | kB | decide s | write s | check s | of both | check s (fractions) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in dict.fromkeys(job.row for job in todo):
        names = [job.name for job in todo if job.row == row]
        told = [results[n] for n in names]
        done = [(n, r) for n, r in zip(names, told, strict=True) if r["verdict"] == "satisfied"]
        others = sorted({str(r["verdict"]) for r in told if r["verdict"] != "satisfied"})
        note = "".join(f"; {sum(r['verdict'] == o for r in told)} {o}" for o in others)
        if not done:
            lines.append(f"| {row} | {note.removeprefix('; ')} | | | | | | | |")
            continue
        decide, prove = (sum(float(str(r[key])) for _, r in done) for key in ("decide", "prove"))
        check, exact = sum(fast[n] for n, _ in done), sum(slow[n] for n, _ in done)
        count, size = (sum(int(str(r[key])) for _, r in done) for key in ("lines", "size"))
        lines.append(
            f"| {row} | {len(done)}{note} | {count} | {size / 1000:.1f} | {decide:.2f} | {prove:.2f} "
            f"| {check:.2f} | {check / (decide + prove):.0%} | {exact:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
