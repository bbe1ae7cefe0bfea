"""Docking and balancing under rough networks of our own, three each: the full question over the full initial set.

python -m experiments.arch_comp.rough [--timeout 60] [--only TEXT] [--certify DIR] [--out rough.csv]

The networks (`experiments/training/arch_rough.py`) have the shapes of `networks/`, and nothing kept them smooth. A line
each: the verdict, with boxes, CPU seconds and the check of its certificate; where it is open, the share of the initial
set that is proved, and for how many steps all of it is. Before that, runs from 2000 states (corners first) are computed
in floats: WRONG is *satisfied* beside a run that violates. What has a line for the same network's file is not asked
again. Status 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import csv
from fractions import Fraction
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.arch_comp.__main__ import INSTANCES, OWN, digest
from experiments.arch_comp.loop import Instance
from venmas import verify
from venmas.checker.file import check_certificate
from venmas.errors import InputError
from venmas.model import System
from venmas.model.evaluation.regions import bounding_box
from venmas.model.evaluation.simulate import step_batch
from venmas.model.expressions.conditions import Condition
from venmas.model.expressions.expr import Variable
from venmas.nn import load_network

ROUGH = OWN / "rough"
COLUMNS = ("network", "sha256", "sampled", "verdict", "boxes", "cpu", "check_cpu", "check", "share", "steps")
RUNS, _SEED = 2000, 4
State = dict[str, npt.NDArray[Any]]
_NAMES = {"Docking": (1, 40, ("reserve",)), "Balancing": (401, 500, ("x1", "x3", "x4"))}
"""First and last period that the question is about, and what it is about."""


def main(arguments: list[str] | None = None) -> int:
    """Ask what is not known yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="of a question")
    parser.add_argument("--only", default="", metavar="TEXT", help="networks whose names hold the text")
    parser.add_argument("--networks", type=Path, default=ROUGH, metavar="DIR", help="of networks with such names")
    parser.add_argument("--certify", type=Path, metavar="DIR", help="keep certificates here")
    parser.add_argument("--out", type=Path, default=Path("rough.csv"), metavar="FILE")
    options = parser.parse_args(arguments)
    known: dict[str, dict[str, str]] = {}
    if options.out.exists():
        with options.out.open(encoding="utf-8", newline="") as text:
            known = {row["network"]: row for row in csv.DictReader(text)}
    taken = [(i, f) for i, f in networks(options.networks) if options.only in f.stem]
    for instance, file in taken:
        if file.stem not in known or known[file.stem]["sha256"] != digest(file):
            with TemporaryDirectory() as folder:
                known[file.stem] = row(instance, file, options.timeout, options.certify or Path(folder))
            options.out.parent.mkdir(parents=True, exist_ok=True)
            with options.out.open("w", encoding="utf-8", newline="") as text:
                table = csv.DictWriter(text, COLUMNS)
                table.writeheader()
                table.writerows(known.values())
    rows = [known[file.stem] for _, file in taken]
    print("| network | sampled | verdict | boxes | CPU s | checking | certificate | share | steps |")
    print("|---|---|---|---|---|---|---|---|---|")
    for found in rows:
        print("|", " | ".join(found[column] for column in COLUMNS if column != "sha256"), "|")
    return int(any(wrong(found) for found in rows))


def networks(folder: Path = ROUGH) -> list[tuple[Instance, Path]]:
    """The instances with each of the networks of their shapes."""
    loops = [instance for instance in INSTANCES if instance.label in _NAMES]
    return [(i, file) for i in loops for file in sorted(folder.glob(f"{i.network}_*.onnx"))]


def row(instance: Instance, file: Path, timeout: float, certify: Path, part: Condition | None = None) -> dict[str, str]:
    """Result of a question. part: what its initial states meet besides."""
    system = instance.build(load_network(file))
    if part is not None:
        box = _box(system)
        system.regions = []
        system.initial(
            *((Variable(n, False) >= low) & (Variable(n, False) <= high) for n, (low, high) in box.items()), part
        )
    begun = process_time()
    certify.mkdir(parents=True, exist_ok=True)
    certificate = certify / f"{file.stem}.jsonl.gz"
    report = verify(
        system,
        instance.asked,
        timeout=timeout,
        certificate=certificate,
        tune={"milp.isolated": "off"},
        workers=1,
    )
    cpu, partial = process_time() - begun, report.partial
    found = dict.fromkeys(COLUMNS, "") | {
        "network": file.stem,
        "sha256": digest(file),
        "sampled": f"{violating(instance, system)} of {RUNS} violate",
        "verdict": report.verdict,
        "boxes": "; ".join(f"{t.figures['boxes']}" for t in report.procedures if "boxes" in t.figures),
        "cpu": f"{cpu:.1f}",
    }
    if report.verdict == "unknown" and partial is not None:
        found["share"] = "" if partial.share is None else f"{100 * partial.share:.3g} %"
        found["steps"] = "" if partial.steps is None else str(partial.steps)
    elif report.satisfied and not certificate.exists():
        found["check"] = "not written"
    elif report.satisfied:
        begun = process_time()
        try:
            found["check"] = str(check_certificate(certificate, system))
        except InputError as error:
            found["check"] = f"REFUSED: {error}"
        found["check_cpu"] = f"{process_time() - begun:.1f}"
    return found


def wrong(found: dict[str, str]) -> bool:
    """Is a row proof of a fault: satisfied beside a run that violates, or with a certificate that is refused?"""
    violated = not found["sampled"].startswith("0 ")
    return found["verdict"] == "satisfied" and (violated or found["check"].startswith("REFUSED"))


def violating(instance: Instance, system: System) -> int:
    """How many of 2000 runs violate the question, in floats."""
    first, last, about = _NAMES[instance.label]
    state, bad = starts(system), np.zeros(RUNS, dtype=bool)
    for step in range(1, last + 1):
        state, _ = step_batch(system, state, np.zeros(RUNS, dtype=int))
        if step < first:
            continue
        if about == ("reserve",):
            bad |= ~(state["reserve"] >= 0)
        for name in about if about != ("reserve",) else ():
            bad |= ~((state[f"lo_{name}"] >= -0.001) & (state[f"hi_{name}"] <= 0.001))
    return int(bad.sum())


def starts(system: System) -> State:
    """All corners of the initial box, and random states in it."""
    box = _box(system)
    open_ = [name for name, (low, high) in box.items() if low < high]
    rng = np.random.default_rng(_SEED)
    share = rng.random((RUNS, len(open_)))
    corners = np.array(list(product((0.0, 1.0), repeat=len(open_))))
    share[: len(corners)] = corners
    state: State = {name: np.full(RUNS, float(low)) for name, (low, _) in box.items()}
    for name, part in zip(open_, share.T, strict=True):
        low, high = map(Fraction, box[name])
        state[name] = float(low) + part * float(high - low)
    return state


def _box(system: System) -> dict[str, tuple[Fraction, Fraction]]:
    """The initial set of a loop."""
    (region,) = system.regions
    box = bounding_box(system, region)
    assert box is not None
    return {name: (Fraction(low), Fraction(high)) for name, (low, high) in box.items()}


if __name__ == "__main__":
    raise SystemExit(main())
