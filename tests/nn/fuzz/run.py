"""Readers against others that read the same files: ``python -m tests.nn.fuzz.run --cases 20000 --seed 1``.

Each module of `FORMATS` makes random files of its format and holds what VenMAS reads against a runtime or an
evaluation of its own: ``case(rng, folder)`` returns "agrees" or "refused: <reason>", and raises `AssertionError` where
values differ. Weights are dyadic and small, so that float arithmetic is exact and equality means equality.

The cases are shared out among the formats. A line of what is wrong begins with the name of its case, and ``--seed 1
--only "onnx 17"`` repeats it. Exit status 1 when a case differs, or a module or its library is missing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

FORMATS = {"onnx": "onnx_graphs", "keras": "keras_models", "nnet": "nnet_files"}
Case = Callable[[np.random.Generator, Path], str]


def load(name: str) -> Case:
    """The cases of a format. Raises `ImportError` where its module, or a library that it needs, is missing."""
    case: Case = import_module(f"tests.nn.fuzz.{FORMATS[name]}").case
    return case


def run_case(name: str, case: Case, seed: int, number: int) -> str:
    """ "agrees", "refused: ..." or "differs: ..."; every case has a generator and an empty folder of its own."""
    rng = np.random.default_rng([seed, list(FORMATS).index(name), number])
    with TemporaryDirectory() as folder:
        try:
            return case(rng, Path(folder))
        except AssertionError as error:
            return f"differs: {error}"


def run(name: str, case: Case, seed: int, numbers: Sequence[int]) -> Counter[str]:
    """Outcomes of the cases with these numbers, what differs with its name."""
    outcomes: Counter[str] = Counter()
    for number in numbers:
        outcome = run_case(name, case, seed, number)
        if outcome.startswith("differs"):
            print(f"{name} {number} (seed {seed}): {outcome}", flush=True)
            outcome = f"{outcome.splitlines()[0]} (case {number})"
        outcomes[outcome] += 1
    return outcomes


def total(outcomes: Counter[str], kind: str) -> int:
    """How many outcomes are of a kind: agrees, refused or differs."""
    return sum(count for outcome, count in outcomes.items() if outcome.startswith(kind))


def main() -> int:
    """Run what the command line asks for and print the counts."""
    parser = argparse.ArgumentParser(description="Readers of networks against others that read the same files.")
    parser.add_argument("--cases", type=int, default=2000, help="of all formats together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--formats", nargs="+", choices=list(FORMATS), default=list(FORMATS))
    parser.add_argument("--only", help='one case, such as "onnx 17"')
    arguments = parser.parse_args()
    formats, share = arguments.formats, -(-arguments.cases // len(arguments.formats))
    numbers: Sequence[int] = range(share)
    if arguments.only:
        name, _, number = arguments.only.partition(" ")
        if name not in FORMATS or not number.isdigit():
            parser.error(f'--only "{arguments.only}": expected a format and a number, such as "onnx 17"')
        formats, numbers = [name], [int(number)]
    wrong = False
    for name in formats:
        try:
            case = load(name)
        except ImportError as error:
            print(f"{name}: NOT RUN, a module is missing: {error}")
            wrong = True
            continue
        begun = time.monotonic()
        outcomes = run(name, case, arguments.seed, numbers)
        counts = {kind: total(outcomes, kind) for kind in ("agrees", "refused", "differs")}
        wrong |= counts["differs"] > 0
        told = ", ".join(f"{kind} {count}" for kind, count in counts.items())
        print(f"{name}: {len(numbers)} cases in {time.monotonic() - begun:.0f} s: {told}")
        for outcome, count in outcomes.most_common():
            if not outcome.startswith("agrees"):
                print(f"  {count:6} {outcome}")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
