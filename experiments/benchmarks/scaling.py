"""Generated systems: what time and memory depend on, one factor at a time, and where other modes are faster.

A system: x' = A x + B u + d_j for branch j, A stable (spectral radius 0.95), x from a box of the given width. The
controller u is ``switch``, one of four vectors by the argmax of N(x), or ``clip``, clip(N(x), -1, 1). The question is
whether x[1] keeps off a threshold for k steps: above the greatest value of 20,000 random runs by `margin` of
their spread (nothing is known, unless a mode finds a violation), or below it by as much (violated).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks.ask import Built, Question
from experiments.benchmarks.bench import Bench
from experiments.benchmarks.machine import apart
from venmas.model import System, apply_network, argmax, clip, switch
from venmas.nn import Network, relu_network

Array = NDArray[np.float64]
MODES = ("adaptive", "exact", "comp-par", "mono")
ACTIONS = 4


@dataclass(frozen=True)
class Case:
    """One generated system and its question."""

    kind: str = "switch"
    branches: int = 3
    layers: int = 2
    units: int = 16
    dimension: int = 3
    steps: int = 4
    width: float = 0.2
    margin: float = 0.05
    violated: bool = False
    seed: int = 1


FACTORS: dict[str, tuple[Any, ...]] = {
    "branches": (2, 3, 4, 5),
    "network": ((2, 16), (3, 24), (4, 32), (6, 50)),
    "dimension": (2, 3, 4, 6, 8),
    "steps": (1, 2, 4, 6, 10, 15),
    "width": (0.02, 0.05, 0.1, 0.2, 0.5, 1.0),
    "margin": (0.5, 0.1, 0.02, 0.005),
}


@dataclass(frozen=True)
class Plant:
    """The numbers of a system; `pulls` (actions, n) for switch, `gain` (n, 2) for clip."""

    a: Array
    pulls: Array
    gain: Array
    drift: Array
    centre: Array
    network: Network


@cache
def plant(case: Case) -> Plant:
    rng = np.random.default_rng([case.seed, case.dimension, case.layers, case.units])
    n = case.dimension
    a = rng.normal(size=(n, n))
    a *= 0.95 / max(abs(np.linalg.eigvals(a)))
    outputs = ACTIONS if case.kind == "switch" else 2
    sizes = (n, *(case.units,) * case.layers, outputs)
    pairs = list(zip(sizes[1:], sizes[:-1], strict=True))
    weights = [rng.normal(0, (2 / fan) ** 0.5, (m, fan)) for m, fan in pairs]
    net = relu_network(weights, [rng.normal(0, 0.1, m) for m, _ in pairs], name="controller")
    numbers = (rng.normal(0, 0.3, (ACTIONS, n)), rng.normal(0, 0.3, (n, 2)), rng.normal(0, 0.1, (5, n)))
    pulls, gain, drift = (np.round(x, 3) for x in numbers)
    return Plant(np.round(a, 3), pulls, gain, drift[: case.branches], np.round(rng.uniform(-1, 1, n), 2), net)


@cache
def threshold(case: Case) -> float:
    """From runs in floats; the pilot, as it were, picks branches at random."""
    p, rng = plant(case), np.random.default_rng(case.seed)
    x = p.centre + case.width * rng.uniform(-0.5, 0.5, (20_000, case.dimension))
    highest = []
    for _ in range(case.steps):
        y = p.network.evaluate(x)
        force = p.pulls[np.argmax(y, 1)] if case.kind == "switch" else np.clip(y, -1, 1) @ p.gain.T
        x = x @ p.a.T + force + p.drift[rng.integers(case.branches, size=len(x))]
        highest.append(x[:, 0])
    most = max(float(v.max()) for v in highest)
    spread = max(float(v.max() - v.min()) for v in highest)
    return round(most + case.margin * (spread + 0.01) * (-1 if case.violated else 1), 6)


def build(case: Case, most: float) -> Built:
    p = plant(case)
    system = System("generated")
    x = system.reals("x", case.dimension, -1000, 1000)

    def exact(value: float) -> Fraction:
        return Fraction(str(float(value)))

    scores = apply_network(p.network, x)
    if case.kind == "switch":
        action = system.agent(argmax(scores))
        force = [switch(action, {i: exact(p.pulls[i, r]) for i in range(ACTIONS)}) for r in range(case.dimension)]
    else:
        u = [clip(s, -1, 1) for s in scores]
        force = [sum((exact(g) * v for g, v in zip(row, u, strict=True)), Fraction(0)) for row in p.gain]
    moved = [sum((exact(w) * v for w, v in zip(row, x, strict=True)), Fraction(0)) for row in p.a]
    for j, drift in enumerate(p.drift):
        system.branch(f"d{j}", {v: m + f + exact(d) for v, m, f, d in zip(x, moved, force, drift, strict=True)})
    half = Fraction(str(case.width)) / 2
    system.initial(*((v >= exact(c) - half) & (v <= exact(c) + half) for v, c in zip(x, p.centre, strict=True)))
    return system, f"AG^{case.steps} (x[1] < {most:.6f})"


def changed(base: Case, factor: str, value: Any) -> Case:
    if factor == "network":
        return replace(base, layers=value[0], units=value[1])
    return replace(base, **{factor: value})


def run(bench: Bench) -> None:
    limit = 5.0 if bench.quick else 60.0
    if bench.timeout is not None:
        limit = bench.timeout
    for kind in ("switch", "clip"):
        for factor, values in FACTORS.items():
            if bench.quick and factor not in ("network", "dimension", "steps"):
                continue
            for violated in (False,) if bench.quick else (False, True):
                bench.section(f"{kind}, {factor}, {'violated' if violated else 'open'}")
                over: set[str] = set()
                for value in values[:: len(values) - 1] if bench.quick else values:
                    case = changed(Case(kind, violated=violated), factor, value)
                    shown = "x".join(map(str, value)) if isinstance(value, tuple) else value
                    _row(bench, case, f"{factor} {shown}", limit, over)
    for mode in MODES[1:]:
        bench.ratio(mode, "adaptive")
    _fastest(bench)


def _row(bench: Bench, case: Case, name: str, limit: float, over: set[str]) -> None:
    wanted = [m for m in MODES if m not in over and bench.wanted(name, m)]
    if not wanted:
        return
    most = apart(threshold, case)
    question = Question(name, partial(build, case, most), "violated" if case.violated else "")
    for mode in wanted:
        row = bench.ask(question, mode, limit, fresh=True, trust="solver")
        if row is not None and not row.decided:
            over.add(mode)  # harder cells of this factor would only wait for the limit


def _fastest(bench: Bench) -> None:
    """Per cell: the fastest mode, and how adaptive compares."""
    print("\n## Who is fastest\n\n| cell | fastest | s | adaptive s | next s |\n|---|---|---|---|---|")
    for section, what in dict.fromkeys((r.section, r.what) for r in bench.rows):
        some = [r for r in bench.rows if (r.section, r.what) == (section, what) and r.decided]
        if not some:
            print(f"| {section}: {what} | none | - | - | - |")
            continue
        best, *rest = sorted(some, key=lambda r: r.median)
        mine = next((f"{r.median:.3f}" for r in some if r.mode == "adaptive"), "-")
        after = f"{rest[0].median:.3f} ({rest[0].mode})" if rest else "-"
        print(f"| {section}: {what} | {best.mode} | {best.median:.3f} | {mine} | {after} |")
