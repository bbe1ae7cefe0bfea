"""Kinds of questions and kinds of systems: ``python -m experiments.forever [--timeout 10] [--kinds K ..]``.

A cell is decided where the answer has a certificate that the checker accepts, or a witness that was replayed. Seconds
are of one process, proofs and their check apart. Exit status 1 where an answer is not the one that is known.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from experiments.forever.known import KNOWN
from experiments.forever.real import REAL, Make
from experiments.forever.systems import QUESTIONS, SYSTEMS
from venmas import verify
from venmas.checker.file import check_certificate
from venmas.cli.replay_command import replay_run
from venmas.errors import VenmasError

_KIB = 1024
VERDICTS = ("satisfied", "violated")


@dataclass(frozen=True)
class Cell:
    """An answer: verdict, by whom, and whether it is certified or replayed; else why not."""

    verdict: str
    by: str
    shown: bool
    seconds: float
    size: int
    checked: float
    why: str

    def __str__(self) -> str:
        proof = f"{self.size / _KIB:.1f} kB, checked in {self.checked:.2f} s" if self.size else ""
        shown = "shown" if self.shown else "-"
        return f"{self.verdict:10} {self.by:18} {shown:6} {self.seconds:6.2f} s  {proof}{self.why}"


def ask(make: Make, text: str, timeout: float, folder: Path) -> Cell:
    """The answer to a question, shown where that can be done."""
    path, begun = folder / "proof.gz", time.process_time()
    path.unlink(missing_ok=True)
    try:
        report = verify(make(), text, timeout=timeout, certificate=path)
    except VenmasError as error:
        return Cell("refused", "", False, time.process_time() - begun, 0, 0.0, str(error)[:150])
    seconds, by = time.process_time() - begun, report.decided_by or ""
    if report.violated:
        if report.lasso is not None:
            replayed = replay_run(report.to_json(), make()) == report.lasso
        else:
            replayed = report.replay is not None and report.replay.confirmed
        return Cell("violated", by, replayed, seconds, 0, 0.0, "" if replayed else "no replay")
    if not report.satisfied or report.certificate is None:
        why = report.message if not report.satisfied else "; ".join(report.notes)
        return Cell(str(report.verdict), by, False, seconds, 0, 0.0, why[:150])
    begun = time.process_time()
    check_certificate(path, make())
    return Cell("satisfied", by, True, seconds, path.stat().st_size, time.process_time() - begun, "")


def settled(path: Path) -> str:
    """The steps after which a derivation says that it holds: of its windows, and of the sets that runs are in again."""
    steps = 0
    for row in map(json.loads, gzip.decompress(path.read_bytes()).splitlines() if path.exists() else ()):
        match row.get("rule"):
            case "rises":
                return ""  # no number of steps
            case "window" | "chain":
                steps += row["within"]
            case "arrive" | "later":
                steps += row["steps"]
            case "recur":
                steps += max(row["into"], row["again"]) + row["within"]
    return f"K = {steps}" if steps else ""


def real(timeout: float, names: list[str]) -> int:
    """Ask of the loops that settle; status 1 where one is not settled with a certificate."""
    missing = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            make, texts = REAL[name]
            for text in texts:
                cell = ask(make, text, timeout, Path(folder))
                missing += not cell.shown
                print(f"{name:14} {text:34} {settled(Path(folder) / 'proof.gz'):8} {cell}", flush=True)
    print(f"not settled: {missing}")
    return min(missing, 1)


def answers(timeout: float, names: list[str]) -> int:
    """Ask what is known by hand; status 1 where an answer is another one."""
    wrong = open_ = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            make, texts = KNOWN[name]
            for text, expected in texts.items():
                cell = ask(make, text, timeout, Path(folder))
                wrong += cell.verdict in VERDICTS and cell.verdict != expected
                open_ += not cell.shown
                print(f"{name:20} {text:30} {expected:10} {cell}", flush=True)
    print(f"not shown: {open_}; wrong: {wrong}")
    return min(wrong, 1)


def main() -> int:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=10.0, metavar="S", help="of a question")
    parser.add_argument("--kinds", nargs="*", choices=tuple(QUESTIONS), default=list(QUESTIONS)[:3])
    parser.add_argument("--only", nargs="*", metavar="NAME", help="systems")
    parser.add_argument("--real", action="store_true", help="loops that settle, all satisfied, instead; K as proved")
    parser.add_argument("--known", action="store_true", help="small loops whose answers are known by hand, instead")
    options = parser.parse_args()
    done: dict[tuple[str, str], list[Cell]] = {}
    if options.real:
        return real(options.timeout, options.only or list(REAL))
    if options.known:
        return answers(options.timeout, options.only or list(KNOWN))
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only or SYSTEMS:
            for kind in options.kinds:
                for text in QUESTIONS[kind]:
                    cell = ask(SYSTEMS[name], text, options.timeout, Path(folder))
                    done.setdefault((name, kind), []).append(cell)
                    print(f"{name:14} {text:16} {cell}", flush=True)
    for (name, kind), cells in done.items():
        known = sum(cell.verdict in VERDICTS for cell in cells)
        print(f"{name:14} {kind:9} {len(cells):3}, decided {known:3}, shown {sum(cell.shown for cell in cells):3}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
