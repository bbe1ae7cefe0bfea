"""Nested formulas that look 25 steps ahead, on the paper's encounters, in modes adaptive and mono.

Beside it, the same formulas on the finitely many states that three initial altitudes lead to (a float simulation of
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
from experiments.published.checks import ACCELERATIONS, COMPLIES
from venmas import load_network
from venmas.logic import FiniteModel, evaluate, parse

STEPS = 25
STARTS = (-133.0, -131.0, -129.0)
Point = tuple[int, float, float, int]


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
def model(climb0: float, steps: int) -> FiniteModel:
    """All that can happen from three altitudes; the three initial states are 0, 1 and 2."""
    networks = [load_network(DATA / "vcas" / f"VertCAS_noResp_pra0{i}_v9_20HU_200.onnx") for i in range(1, 10)]
    points: list[Point] = [(0, h, climb0, 1) for h in STARTS]
    number = {p: i for i, p in enumerate(points)}
    successors: list[tuple[int, ...]] = []
    while len(successors) < len(points):
        now = points[len(successors) :]
        advice = _advice(networks, now)
        for (step, h, climb, before), given in zip(now, advice, strict=True):
            if step == steps:
                successors.append((number[step, h, climb, before],))  # beyond what any formula looks at
                continue
            low, high = COMPLIES.get(given, (np.inf, -np.inf)) if given == before else (np.inf, -np.inf)
            keeps = low <= climb <= high
            after = []
            for a in (0.0,) if keeps else ACCELERATIONS[given]:
                point = (step + 1, round(h - climb - a / 2, 7), round(climb + a, 7), given)
                after.append(number.setdefault(point, len(number)))
                if len(number) > len(points):
                    points.append(point)
            successors.append(tuple(dict.fromkeys(after)))
    values = tuple(
        {"h": Fraction(h), "climb": Fraction(c), "tau": Fraction(25 - t), "adv": Fraction(a)} for t, h, c, a in points
    )
    return FiniteModel(len(points), tuple(successors), values)


def _advice(networks: list[object], points: list[Point]) -> list[int]:
    found = np.zeros(len(points), dtype=int)
    table = np.array(points)
    inputs = table[:, [1, 2, 0]] * (1 / 16000, 1 / 5000, -1 / 40) + (0, 0, 5 / 40)
    for i in range(1, 10):
        rows = table[:, 3] == i
        if rows.any():
            found[rows] = 1 + np.argmax(networks[i - 1].evaluate(inputs[rows]), 1)  # type: ignore[attr-defined]
    return [int(a) for a in found]


def truth(climb: float, steps: int) -> dict[str, str]:
    """By shape: violated where one of the three altitudes violates it."""
    vocabulary = encounter("true", climb)[0].vocabulary
    found = {}
    for name, text in shapes(steps).items():
        holds = evaluate(parse(text, vocabulary), model(climb, steps))
        found[name] = "satisfied?" if all(s in holds for s in range(len(STARTS))) else "violated"
    return found


def run(bench: Bench) -> None:
    climbs = (-22.5, -43.5) if bench.quick else CLIMBS
    for climb in climbs:
        bench.section(f"climb {climb:g} ft/s, {STEPS} steps")
        expected = apart(truth, climb, STEPS)
        for name, text in shapes(STEPS).items():
            bench.ask(Question(name, partial(encounter, text, climb), expected[name]), timeout=60)
    bench.total(bench.of("adaptive"), f"adaptive, {STEPS} steps")
    steps = 6
    for climb in climbs:
        bench.section(f"climb {climb:g} ft/s, {steps} steps")
        expected = apart(truth, climb, steps)
        for name, text in shapes(steps).items():
            question = Question(name, partial(encounter, text, climb), expected[name])
            bench.ask(question, timeout=60)
            bench.ask(question, "mono", 10 if bench.quick else 60, trust="solver")
    bench.ratio("mono", "adaptive")
