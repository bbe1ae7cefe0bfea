"""Kinds of questions and kinds of systems: ``python -m experiments.forever [--timeout 10] [--kinds K ..]``.

A cell is decided where the answer has a certificate that the checker accepts, or a witness that was replayed. Seconds
are of one process, proofs and their check apart. Exit status 1 where an answer is not the one that is known.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from experiments.forever.systems import QUESTIONS, SYSTEMS
from venmas import verify
from venmas.checker.file import check_certificate
from venmas.cli.replay_command import replay_run
from venmas.errors import VenmasError

_KIB = 1024


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


def ask(name: str, text: str, timeout: float, folder: Path) -> Cell:
    """The answer to a question, shown where that can be done."""
    path, begun = folder / "proof.gz", time.process_time()
    path.unlink(missing_ok=True)
    try:
        report = verify(SYSTEMS[name](), text, timeout=timeout, certificate=path)
    except VenmasError as error:
        return Cell("refused", "", False, time.process_time() - begun, 0, 0.0, str(error)[:150])
    seconds, by = time.process_time() - begun, report.decided_by or ""
    if report.violated:
        if report.lasso is not None:
            replayed = replay_run(report.to_json(), SYSTEMS[name]()) == report.lasso
        else:
            replayed = report.replay is not None and report.replay.confirmed
        return Cell("violated", by, replayed, seconds, 0, 0.0, "" if replayed else "no replay")
    if not report.satisfied or report.certificate is None:
        why = report.message if not report.satisfied else "; ".join(report.notes)
        return Cell(str(report.verdict), by, False, seconds, 0, 0.0, why[:150])
    begun = time.process_time()
    check_certificate(path, SYSTEMS[name]())
    return Cell("satisfied", by, True, seconds, path.stat().st_size, time.process_time() - begun, "")


def main() -> int:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=10.0, metavar="S", help="of a question")
    parser.add_argument("--kinds", nargs="*", choices=tuple(QUESTIONS), default=list(QUESTIONS)[:3])
    parser.add_argument("--only", nargs="*", choices=tuple(SYSTEMS), metavar="NAME", help="systems")
    options = parser.parse_args()
    done: dict[tuple[str, str], list[Cell]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in SYSTEMS:
            for kind in options.kinds if name in (options.only or SYSTEMS) else ():
                for text in QUESTIONS[kind]:
                    cell = ask(name, text, options.timeout, Path(folder))
                    done.setdefault((name, kind), []).append(cell)
                    print(f"{name:14} {text:16} {cell}", flush=True)
    for (name, kind), cells in done.items():
        known = sum(cell.verdict in ("satisfied", "violated") for cell in cells)
        print(f"{name:14} {kind:9} {len(cells):3}, decided {known:3}, shown {sum(cell.shown for cell in cells):3}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
