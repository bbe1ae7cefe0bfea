"""``python -m tests.procedures.predicate_abstraction.run [--count 3000] [--seed 1]``: many random systems, until one is
decided wrongly."""

from __future__ import annotations

import argparse
from time import monotonic

from tests.procedures.predicate_abstraction.random_systems import check_graph, check_verdict, variants

VARIANTS = 4
"""Variants of refinement on each system, in turn."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.procedures.predicate_abstraction.run", description=__doc__)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    chosen, begun = variants(), monotonic()
    for number in range(args.count):
        seed = args.seed * 1_000_000 + number
        check_graph(seed)
        check_verdict(seed, [chosen[(VARIANTS * number + i) % len(chosen)] for i in range(VARIANTS)])
        if not (number + 1) % 100:
            print(f"{number + 1} systems, {monotonic() - begun:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
