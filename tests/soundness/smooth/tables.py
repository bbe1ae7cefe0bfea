"""Tables of rules and of random systems."""

from __future__ import annotations

from collections import Counter
from time import process_time

from tests.corpus.smooth import check
from tests.soundness.smooth.rules import CHECKS

_PIECE = 2000
_LONG = ("flow", "network", "checker", "engine", "all rings")


def rules_table(count: int, first: int = 0, only: str = "") -> int:
    """Every rule over so many boxes that it says something of; status 1 where a point is outside."""
    wrong = points = 0
    print("| rule | place | boxes | refused | points | outside | CPU s |\n|---|---|---|---|---|---|---|")
    for (rule, place), look in CHECKS.items():
        if only not in f"{rule}, {place}":
            continue
        wanted = -(-count // 10) if place.startswith(_LONG) else count
        looked = refused = compared = 0
        outside: list[str] = []
        begun, seed = process_time(), 1000 * first
        while looked < wanted and seed < 1000 * first + 4 * (wanted // _PIECE + 1) + 8:
            seed += 1
            found = look(seed, min(_PIECE, wanted))
            looked, refused = looked + found.looked, refused + found.refused
            compared += found.points
            outside += found.outside
        seconds = process_time() - begun
        print(f"| {rule} | {place} | {looked} | {refused} | {compared} | {len(outside)} | {seconds:.1f} |", flush=True)
        for what in outside[:3]:
            print(f"\n{what[:400]}\n", flush=True)
        wrong, points = wrong + len(outside), points + compared
    print(f"\n{points} points, {wrong} outside")
    return int(wrong > 0)


def smooth_systems(count: int, first: int = 0) -> int:
    """So many random systems; status 1 where a verdict, a tube or a witness is contradicted."""
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(7_000_000 + first, 7_000_000 + first + count):
        verdict, found = check(seed)
        tally[verdict] += 1
        wrong += found
        for line in found:
            print(line, flush=True)
    print(
        ", ".join(f"{number} {verdict}" for verdict, number in sorted(tally.items())) + f"; {len(wrong)} contradictions"
    )
    return int(bool(wrong))
