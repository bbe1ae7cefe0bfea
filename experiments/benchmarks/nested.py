"""Nested formulas that look 25 steps ahead, on the paper's encounters, in modes adaptive and mono.

Beside it, the same formulas on the finitely many states that two initial altitudes lead to (a float simulation of
its own, and the oracle of `venmas.logic`): what fails there fails.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial

import numpy as np

from experiments.benchmarks.ask import Question
from experiments.benchmarks.bench import Bench
from experiments.benchmarks.machine import DATA, apart
from experiments.benchmarks.vcas import CLIMBS, encounter
from experiments.published.checks import ACCELERATIONS, COMPLIES, G
from venmas import load_network
from venmas.logic import FiniteModel, evaluate, parse
from venmas.nn import Network

STEPS = 25
STARTS = (-133.0, -129.0)
MOST = 100_000
"""States of the oracle's model; where there would be more, nothing is expected."""
Point = tuple[int, int, int, int, int]
"""Start, step, h and climb as whole multiples of g/48 and g/24 beyond those without acceleration, advisory."""


def shapes(steps: int) -> dict[str, str]:
    """By name; each looks `steps` steps ahead in all."""
    half = steps // 2
    pairs, odd = divmod(steps, 2)
    late = steps - half
    return {
        "(AX EX)^k safe": "AX EX " * pairs + "AX " * odd + "safe",
        "(EX AX)^k safe": "EX AX " * pairs + "EX " * odd + "safe",
        "A(h < 200 U^k h < -150 | climb > 0)": f"A((h < 200) U^{steps} (h < -150 | climb > 0))",
        "AG EF level": f"AG^{half} EF^{late} (climb > -2 & climb < 2)",
        "EF AG safe": f"EF^{half} AG^{late} safe",
        "AF (climbing & EX safe)": f"AF^{steps - 1} ((climb > 0) & EX safe)",
        "AG (unsafe -> AF safe)": f"AG^{half} (!safe -> AF^{late} safe)",
        "E(safe U (AG safe & COC))": f"E(safe U^{half} ((adv == 1) & AG^{late} safe))",
        "AX^k (EX safe & EX !COC)": f"AX^{steps - 1} ((EX safe) & (EX (adv != 1)))",
    }


@cache
def model(climb0: float, steps: int) -> FiniteModel | None:
    """All that can happen from the two altitudes, which are its states 0 and 1; None beyond `MOST`."""
    networks = [load_network(DATA / "vcas" / f"VertCAS_noResp_pra0{i}_v9_20HU_200.onnx") for i in range(1, 10)]
    points: list[Point] = [(i, 0, 0, 0, 1) for i in range(len(STARTS))]
    number = {p: i for i, p in enumerate(points)}
    successors: list[tuple[int, ...]] = []
    while len(successors) < len(points) <= MOST:
        now = points[len(successors) :]
        for (start, step, h, c, before), given in zip(now, _advice(networks, now, climb0), strict=True):
            if step == steps:
                successors.append((len(successors),))  # beyond what any formula looks at
                continue
            low, high = COMPLIES.get(given, (np.inf, -np.inf)) if given == before else (np.inf, -np.inf)
            keeps = low <= climb0 + c * G / 24 <= high
            after = []
            for a in (0,) if keeps else [round(24 * a / G) for a in ACCELERATIONS[given]]:
                point = (start, step + 1, h - 2 * c - a, c + a, given)
                if point not in number:
                    number[point] = len(points)
                    points.append(point)
                after.append(number[point])
            successors.append(tuple(dict.fromkeys(after)))
    if len(points) > MOST:
        return None
    values = tuple(
        dict(zip(("h", "climb", "tau", "adv"), map(Fraction, state), strict=True)) for state in _states(points, climb0)
    )
    return FiniteModel(len(points), tuple(successors), values)


def _states(points: list[Point], climb0: float) -> list[tuple[float, float, int, int]]:
    return [(STARTS[i] - t * climb0 + h * G / 48, climb0 + c * G / 24, 25 - t, a) for i, t, h, c, a in points]


def _advice(networks: list[Network], points: list[Point], climb0: float) -> list[int]:
    found = np.zeros(len(points), dtype=int)
    table = np.array(_states(points, climb0))
    inputs = (table[:, :3] - (0, 0, 20)) / (16000, 5000, 40)
    for i in range(1, 10):
        rows = table[:, 3] == i
        if rows.any():
            found[rows] = 1 + np.argmax(networks[i - 1].evaluate(inputs[rows]), 1)
    return [int(a) for a in found]


def truth(climb: float, steps: int) -> dict[str, str]:
    """By shape: violated where one of the two altitudes violates it."""
    vocabulary = encounter("true", climb)[0].vocabulary
    found: dict[str, str] = {}
    known = model(climb, steps)
    for name, text in shapes(steps).items():
        if known is None:
            found[name] = ""
            continue
        holds = evaluate(parse(text, vocabulary), known)
        found[name] = "satisfied?" if all(s in holds for s in range(len(STARTS))) else "violated"
    return found


def run(bench: Bench) -> None:
    climbs = (-43.5,) if bench.quick else CLIMBS
    for steps in (7, STEPS):
        for climb in climbs:
            bench.section(f"climb {climb:g} ft/s, {steps} steps")
            expected = apart(truth, climb, steps)
            for name, text in shapes(steps).items():
                question = Question(name, partial(encounter, text, climb), expected[name])
                bench.ask(question, timeout=30 if bench.quick else 60)
                if steps < STEPS or not bench.quick:
                    bench.ask(question, "mono", 5 if bench.quick else 30, trust="solver")
        bench.total([r for r in bench.of("adaptive") if f" {steps} steps" in r.section], f"adaptive, {steps} steps")
    bench.ratio("mono", "adaptive")
