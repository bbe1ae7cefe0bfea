"""One question in a process of its own: ``LOOP NUMBER TIMEOUT [--workers 2] [--certify]``; its row as JSON is last."""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from pathlib import Path

from experiments.zoo.loops import EVERY
from experiments.zoo.sample import stored
from venmas import Report, verify
from venmas.checker.file import check_certificate
from venmas.errors import InputError
from venmas.model import System


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loop", choices=list(EVERY))
    parser.add_argument("number", type=int)
    parser.add_argument("timeout", type=float)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--certify", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    print(json.dumps(row(options.loop, options.number, options.timeout, options.certify, options.workers)))


def row(name: str, number: int, timeout: float, certify: bool, workers: int) -> dict[str, str]:
    """What became of a question."""
    return answered(EVERY[name].build(), stored()[name][number].formula, timeout, certify, workers)


def answered(system: System, formula: str, timeout: float, certify: bool, workers: int) -> dict[str, str]:
    """The verdict on a formula, and whether its proof is accepted or its violation replayed."""
    found = {"verdict": "refused", "reason": "", "by": "", "basis": "", "check": ""}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "proof.gz" if certify else None
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            report = verify(system, formula, timeout=timeout, certificate=file, workers=workers)
        except InputError as error:
            found["reason"] = str(error)[:300]
        else:
            found |= {"verdict": report.verdict.value, "by": report.decided_by, "basis": report.basis}
            found["reason"] = report.message
        found |= {"seconds": f"{time.perf_counter() - wall:.2f}", "cpu": f"{time.process_time() - cpu:.2f}"}
        if found["verdict"] == "satisfied" and file is not None:
            found["check"] = checked(report, file, system)
        elif found["verdict"] == "violated":
            found["check"] = "replayed" if report.replay is not None and report.replay.confirmed else "NOT REPLAYED"
    return found


def checked(report: Report, file: Path, system: System) -> str:
    """What the checker says of a certificate, or why there is none."""
    if not file.exists():
        return "not written: " + "; ".join(report.notes)
    try:
        return "accepted" if check_certificate(file, system) else "REFUSED"
    except InputError as error:
        return f"REFUSED: {error}"


if __name__ == "__main__":
    main()
