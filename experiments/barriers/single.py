"""One question in a process of its own: ``PLANT con|inv TIMEOUT [--rough] [--certify]``; its row as JSON is last."""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from pathlib import Path

import numpy as np

from experiments.barriers.plants import NETWORKS, PLANTS, QUESTIONS, Plant
from venmas import Report, verify
from venmas.checker.file import check_certificate
from venmas.errors import InputError
from venmas.model import System
from venmas.model.evaluation.simulate import step_batch

SAMPLES, SEED = 100_000, 35


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plant", choices=list(PLANTS))
    parser.add_argument("question", choices=list(QUESTIONS))
    parser.add_argument("timeout", type=float)
    parser.add_argument("--rough", action="store_true")
    parser.add_argument("--certify", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--networks", type=Path, default=NETWORKS)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    plant = PLANTS[options.plant]
    system = plant.system(options.networks, options.rough)
    found = row(system, options.question, options.timeout, options.certify, options.workers)
    inside, broken = sampled(plant, system, options.question)
    print(json.dumps(found | {"inside": str(inside), "broken": str(broken)}))


def row(system: System, question: str, timeout: float, certify: bool, workers: int = 2) -> dict[str, str]:
    """What became of a question."""
    found = dict.fromkeys(("verdict", "seconds", "by", "check", "message"), "")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "proof.gz" if certify else None
        began = time.perf_counter()
        report = verify(system, QUESTIONS[question], timeout=timeout, certificate=file, workers=workers)
        found |= {"seconds": f"{time.perf_counter() - began:.2f}", "verdict": report.verdict.value}
        found |= {"by": report.decided_by, "message": report.message}
        if report.satisfied and file is not None:
            found["check"] = checked(report, file, system)
        elif report.violated:
            found["check"] = "replayed" if report.replay is not None and report.replay.confirmed else "NOT REPLAYED"
    return found


def checked(report: Report, file: Path, system: System) -> str:
    """What the checker says of a certificate, or why there is none."""
    if not file.exists():
        return "not written: " + "; ".join(report.notes)
    began = time.perf_counter()
    try:
        accepted = check_certificate(file, system)
    except InputError as error:
        return f"REFUSED: {error}"
    size = f"{file.stat().st_size / 1000:.0f} kB, {time.perf_counter() - began:.1f} s"
    return f"accepted ({size})" if accepted else "REFUSED"


def sampled(plant: Plant, system: System, question: str, count: int = SAMPLES) -> tuple[int, int]:
    """Of so many states of the box, in floats: those inside, and those of them that break the claim."""
    rng = np.random.default_rng(SEED)
    state = {name: np.zeros(count) for name in system.variables}
    state |= {name: rng.uniform(-bound, bound, count) for name, bound in plant.box.items()}
    branches = {branch.name: i for i, branch in enumerate(system.branches)}
    now, _ = step_batch(system, state, np.full(count, branches["measure"]))
    inside = now["inside_value"] <= 0
    if question == "con":
        broken = np.abs(plant.signs([now[name] for name in plant.box], np)).max(0) > 1
    else:
        after, _ = step_batch(system, now, np.full(count, branches["step"]))
        broken = after["inside_value"] > 0
    return int(inside.sum()), int((inside & broken).sum())


if __name__ == "__main__":
    main()
