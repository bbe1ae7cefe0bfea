"""Ten policies of the zoo, trained some epochs more: the first proof beside a recheck of it.

    python -m experiments.benchmarks.recheck [--steps 150] [--timeout 60] [--only TEXT]

Each policy is trained again from its own weights on new data (`experiments.training.zoo --again`). Questions for ever
are of what settles (`experiments.forever.real`), those with bounds are the zoo's. Seconds of CPU, with the certificate
written; each new certificate is checked. Exit status 1 where one is refused, or a verdict differs from that without
the earlier proof. Needs torch and scipy.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from experiments.benchmarks.machine import header
from experiments.forever.real import NEAR, zoo
from experiments.training.export import write_onnx
from experiments.training.zoo import train
from experiments.zoo.loops import EVERY, NETWORKS
from experiments.zoo.sample import stored
from venmas import verify
from venmas.checker.file import check_certificate
from venmas.engine.report import Report
from venmas.model import System

OTHERS = ("platoon-relu", "unicycle-tanh")
SETTLES = ("AG AF near", "AF AG near")
Make = Callable[[Path], System]


def questions(name: str) -> Iterator[tuple[str, Make]]:
    """Formulas that the first policy satisfies, as was sampled, and what makes their system from a folder."""
    if name in NEAR:
        yield from ((formula, lambda folder: zoo(name, folder)) for formula in SETTLES)
    yield from ((q.formula, EVERY[name].build) for q in stored()[name] if q.expected == "satisfied")


def timed(
    system: System, formula: str, timeout: float, path: Path, earlier: Path | None = None
) -> tuple[Report, float]:
    """A report, and seconds of CPU."""
    begun = time.process_time()
    report = verify(system, formula, timeout=timeout, workers=1, certificate=path, earlier=earlier)
    return report, time.process_time() - begun


@dataclass(frozen=True)
class Row:
    """A question: seconds of the first proof and of the recheck of other networks, where both hold."""

    text: str
    seconds: tuple[float, float] | None = None
    differs: bool = False


def row(name: str, formula: str, make: Make, folder: Path, timeout: float) -> Row:
    """Prove, recheck, and check what was written."""
    old, new = folder / "old.gz", folder / "new.gz"
    for path in (old, new):
        path.unlink(missing_ok=True)
    first, begun = timed(make(NETWORKS), formula, timeout, old)
    cells = [name, f"`{formula}`", f"{begun:.2f}", first.decided_by or first.verdict.value]
    if not old.exists():
        return Row(" | ".join([*cells, "no certificate", "", "", ""]))
    again, seconds = timed(make(folder), formula, timeout, new, old)
    checking = time.process_time()
    if new.exists():
        check_certificate(new, make(folder))
    checking = time.process_time() - checking
    cells += [f"{seconds:.2f}", again.decided_by or again.verdict.value, f"{seconds / begun:.2f}", f"{checking:.2f}"]
    if again.satisfied:
        return Row(" | ".join(cells), (begun, seconds))
    plain, _ = timed(make(folder), formula, timeout, new)
    return Row(" | ".join(cells), differs=plain.verdict is not again.verdict)


def main() -> int:
    """Train, prove, recheck, check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=150, help="of training again")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S")
    parser.add_argument("--only", default="", metavar="TEXT", help="policies whose names hold the text")
    options = parser.parse_args()
    print("\n".join(header()))
    print("| policy | formula | first, s | by | again, s | by | part | checked, s |\n" + "|---" * 8 + "|")
    parts: dict[str, list[float]] = {"for ever": [], "bounded": [], "policies, their questions together": []}
    differ = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in (n for n in (*NEAR, *OTHERS) if options.only in n):
            layers, activations, _ = train(EVERY[name], options.steps, again=True)
            write_onnx(folder / EVERY[name].file.name, layers, name, activations)
            sums = [0.0, 0.0]
            for formula, make in questions(name):
                found = row(name, formula, make, folder, options.timeout)
                print(f"| {found.text} |", flush=True)
                differ += found.differs
                if found.seconds is not None:
                    sums = [a + b for a, b in zip(sums, found.seconds, strict=True)]
                    parts["bounded" if "^" in formula else "for ever"].append(found.seconds[1] / found.seconds[0])
            parts["policies, their questions together"] += [sums[1] / sums[0]] if sums[0] else []
    for kind, some in parts.items():
        if some:
            print(f"{kind}: {len(some)} with the same verdict, median part of the first time {median(some):.2f}")
    return int(differ > 0)


if __name__ == "__main__":
    raise SystemExit(main())
