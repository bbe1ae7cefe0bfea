"""One worker process and two, on the five longest of the wide initial sets of VerticalCAS that are taken in tiles."""

from __future__ import annotations

from functools import partial
from statistics import median

from experiments.benchmarks.ask import Question
from experiments.benchmarks.bench import Bench
from experiments.benchmarks.vcas import encounter
from experiments.benchmarks.wide import WIDE

TAUS = ("20..24", "24..28", "20..26", "20..28", "20..30")


def run(bench: Bench) -> None:
    ratios = []
    for tau in TAUS[:1] if bench.quick else TAUS:
        bench.section(f"h in +-400 ft, climb in +-45 ft/s, tau in {tau} s, k = 25")
        rows = []
        for workers in (1, 2):
            build = partial(encounter, "AX^25 safe", tau0=tau, tau_min=-5, **WIDE)
            question = Question(f"{workers} worker{'s' * (workers > 1)}", build, "satisfied")
            rows.append(bench.ask(question, timeout=600, fresh=True, workers=workers))
        one, two = rows
        if one and two and one.decided and two.decided:
            ratios.append(one.median / two.median)
            bench.say(f"two workers: {ratios[-1]:.2f} times as fast")
    if ratios:
        bench.say(f"**two workers against one**: {min(ratios):.2f} to {max(ratios):.2f}, median {median(ratios):.2f}")
