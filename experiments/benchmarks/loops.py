"""Closed loops with two to twelve real variables and a continuous controller: published ones, and generated ones.

Published: double integrators with a step of 1 (``$VENMAS_DATA/loops``, whose README says where they are from), m
positions p and m velocities v: ``p' = p + v + u/2``, ``v' = v + u``, ``u = clip(network(p, v), -limit, limit)``. "Free"
means outside the box |p1| <= 1, |p2| <= 1, and 1.5 <= p3 <= 3.5 where there are three positions.

Generated: ``x' = A x + B clip(network(x), -1, 1)``, A stable; is x[1] below a threshold for k steps, some `margin` of
the spread above the greatest value of 20,000 random runs?

Bundled: the cruise control, for how many steps it is safe behind leaders of several speeds, both ways.

Beside the default mode stand, where they are installed, Gurobi, HiGHS and SCIP on one program of the question (mode
``mono``, whose solver is trusted) and Marabou on the unrolled loop, each with 5 s; of published loops on the questions
about one step, from the third on. All of it takes a quarter of an hour; with ``--resume FILE`` in parts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.benchmarks.ask import Built, Question, Row
from experiments.benchmarks.bench import Bench
from experiments.benchmarks.beside import ask_solvers, missing, table
from experiments.benchmarks.machine import DATA
from venmas import load_network, load_scenario
from venmas.model import Range, System, apply_network, clip
from venmas.model.expressions.expr import add
from venmas.nn import Network, relu_network

FOLDER = DATA / "loops"
_WIDE = 10**6
"""Declared ranges: far beyond what a run reaches, so that they decide nothing."""


@dataclass(frozen=True)
class Published:
    """Positions, the limit of the control, and the initial set: (low, high) of each position, then each velocity."""

    positions: int
    limit: int
    initial: tuple[tuple[str, str], ...]


_P, _V = (("-5.25", "-4.75"), ("-0.25", "0.25")), (("0.95", "0.99"), ("-0.01", "0.01"))
_QUADROTOR = Published(3, 4, (*_P, ("2.25", "2.75"), *_V, ("-0.01", "0.01")))
LOOPS = {
    "ground_robot_4d": Published(2, 4, (*_P, *_V)),
    "quadrotor_6d_40": _QUADROTOR,
    "quadrotor_6d_60": _QUADROTOR,
    "double_integrators_8d": Published(4, 1, (("2.5", "3"),) * 4 + (("-0.25", "0.25"),) * 4),
}


@cache
def network(name: str) -> Network:
    return load_network(FOLDER / name / "model.json")


@cache
def published(name: str) -> System:
    """A loop of the data; `free` is a proposition of it."""
    what, system = LOOPS[name], System(name)
    p = system.reals("p", what.positions, -_WIDE, _WIDE)
    v = system.reals("v", what.positions, -_WIDE, _WIDE)
    controls = [clip(u, -what.limit, what.limit) for u in apply_network(network(name), [*p, *v])]
    system.branch(
        "step",
        {a: a + b + u / 2 for a, b, u in zip(p, v, controls, strict=True)}
        | {b: b + u for b, u in zip(v, controls, strict=True)},
    )
    ends = zip((*p, *v), what.initial, strict=True)
    system.initial(*(c for x, (low, high) in ends for c in (x >= Fraction(low), x <= Fraction(high))))
    free = (p[0] > 1) | (p[0] < -1) | (p[1] > 1) | (p[1] < -1)
    if what.positions == 3:
        free = free | (p[2] > Fraction(7, 2)) | (p[2] < Fraction(3, 2))
    system.proposition("free", free)
    return system


@dataclass(frozen=True)
class Case:
    """A generated loop and its question."""

    variables: int = 6
    layers: int = 2
    units: int = 16
    steps: int = 4
    width: float = 0.2
    margin: float = 0.25
    violated: bool = False
    seed: int = 1


FACTORS: dict[str, tuple[dict[str, Any], ...]] = {
    "variables": tuple({"variables": n} for n in (2, 4, 6, 8, 10, 12)),
    "network": tuple({"variables": 4, "layers": n, "units": k} for n, k in ((2, 16), (3, 24), (4, 64), (2, 256))),
    "margin": tuple({"margin": m} for m in (0.5, 0.1, 0.02)),
    "steps": tuple({"steps": k} for k in (1, 2, 8)),
    "together": (
        {"variables": 4, "layers": 4, "units": 64, "margin": 0.02},
        {"variables": 8, "layers": 4, "units": 64, "margin": 0.5},
        {"variables": 8, "layers": 3, "units": 24, "margin": 0.02},
        {"variables": 12, "layers": 2, "units": 256, "margin": 0.1},
        {"variables": 12, "layers": 2, "units": 16, "margin": 0.02},
    ),
    "violated": tuple({"variables": n, "violated": True} for n in (4, 8, 12)),
}
"""One at a time, from a `Case` on, and some of all together."""


@dataclass(frozen=True)
class Plant:
    """The numbers of a generated loop: A (n, n), B (n, 2), the centre of the initial box."""

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    centre: NDArray[np.float64]
    network: Network


@cache
def plant(case: Case) -> Plant:
    rng = np.random.default_rng([case.seed, case.variables, case.layers, case.units])
    n = case.variables
    a = rng.normal(size=(n, n))
    a *= 0.95 / max(abs(np.linalg.eigvals(a)))
    sizes = (n, *(case.units,) * case.layers, 2)
    weights = [rng.normal(0, (2 / m) ** 0.5, (k, m)) for m, k in pairwise(sizes)]
    net = relu_network(weights, [rng.normal(0, 0.1, k) for k in sizes[1:]], name="controller")
    return Plant(a.round(3), rng.normal(0, 0.3, (n, 2)).round(3), rng.normal(0, 0.5, n).round(2), net)


def threshold(case: Case) -> Fraction:
    """Above the greatest x[1] of random runs by `margin` of their spread; below it where the case is violated."""
    at, rng = plant(case), np.random.default_rng(7)
    x = at.centre + rng.uniform(-case.width / 2, case.width / 2, (20_000, case.variables))
    seen = []
    for _ in range(case.steps):
        x = x @ at.a.T + np.clip(at.network.evaluate(x), -1, 1) @ at.b.T
        seen.append(x[:, 0])
    least, most = np.min(seen), np.max(seen)
    return Fraction(
        round(float(most + (-1 if case.violated else 1) * case.margin * (most - least)), 4)
    ).limit_denominator(10_000)


def generated(case: Case) -> Built:
    at, n = plant(case), case.variables
    system = System(f"loop of {n} variables")
    x = system.reals("x", n, -_WIDE, _WIDE)
    u = [clip(v, -1, 1) for v in apply_network(at.network, list(x))]
    system.branch(
        "step",
        {
            x[i]: add(*(x[j] * float(at.a[i, j]) for j in range(n)), *(u[j] * float(at.b[i, j]) for j in range(2)))
            for i in range(n)
        },
    )
    half = Fraction(str(case.width)) / 2
    centre = [Fraction(str(c)) for c in at.centre]
    system.initial(*(c for v, m in zip(x, centre, strict=True) for c in (v >= m - half, v <= m + half)))
    top = threshold(case)
    return system, f"AG^{case.steps} (x[1] < {top.numerator}/{top.denominator})"


SHORT = 10.0
"""The limit of most questions, s."""
KNOWN = {
    "ground_robot_4d": {3: "satisfied"},
    "quadrotor_6d_40": {3: "satisfied"},
    "quadrotor_6d_60": {3: "satisfied"},
    "double_integrators_8d": {8: "satisfied"},
}
"""Steps after which, and up to which, runs are known to be free."""


def questions(name: str) -> list[Question]:
    """About a published loop: steps that are free, thresholds next to what runs reach, and all steps together."""
    free = max(KNOWN[name])
    asked = [(f"AX^{k} free", "satisfied" if k <= free else "satisfied?") for k in (1, 2, 3, 4)]
    if name == "double_integrators_8d":
        asked += [("AX^8 free", "satisfied"), ("AX^8 (p[1] < 20.9)", "violated")]
    else:
        asked += [("AX^3 (p[1] < -1.5)", "satisfied?"), ("AX^3 (p[1] < -1.8)", "violated")]
        if name == "quadrotor_6d_40":
            asked[-1] = ("AX^3 (p[1] < -1.7)", "violated")
    asked += [(f"AG^{k} free", "satisfied" if k <= free else "satisfied?") for k in range(1, 9)]
    return [Question(formula, partial(built, name, formula), expected) for formula, expected in asked]


def built(name: str, formula: str) -> Built:
    return published(name), formula


LEADERS = (18, 19, 20, 21, 22, 23)
"""Initial speeds of the leader, m/s; above 23 no run of the cruise control ever comes too near."""
MOST_STEPS = 50


def cruise(leader: int, steps: int) -> Built:
    return load_scenario("cruise").system(lead=Range(leader, leader + Fraction(1, 5))), f"AG^{steps} safe"


def thresholds(bench: Bench) -> None:
    """For each leader the greatest k with AG^k safe, found by bisection, each answer a row; then all at 50 steps."""
    found = []
    for leader in LEADERS[:: len(LEADERS) - 1] if bench.quick else LEADERS:
        bench.section(f"cruise, leader {leader}..{leader + 0.2:g} m/s")
        rows: dict[int, Row] = {}
        low, high = 0, MOST_STEPS + 1
        while high - low > 1:
            k = (low + high) // 2
            row = bench.ask(Question(f"AG^{k} safe", partial(cruise, leader, k)), timeout=20.0)
            if row is None or not row.decided:
                break
            rows[k] = row
            low, high = (k, high) if row.verdict == "satisfied" else (low, k)
        if low in rows and high in rows and high - low == 1:
            found.append((leader, low, rows[low].median, rows[high].median, sum(r.median for r in rows.values())))
            for k in (low, high):
                ask_solvers(bench, Question(f"AG^{k} safe", partial(cruise, leader, k)))
    bench.section("cruise, leader 26..26.2 m/s")
    question = Question(f"AG^{MOST_STEPS} safe", partial(cruise, 26, MOST_STEPS))
    bench.ask(question, timeout=20.0)
    ask_solvers(bench, question)
    if found:
        print("\n| leader, m/s | safe for | s | violated after | s | all of the search, s |\n|---|---|---|---|---|---|")
    for leader, k, yes, no, together in found:
        print(f"| {leader}..{leader + 0.2:g} | {k} | {yes:.3f} | {k + 1} | {no:.3f} | {together:.3f} |")


def run(bench: Bench) -> None:
    if away := missing():
        bench.say(f"not installed, and left out: {', '.join(away)}")
    limit = 20.0 if bench.quick else 60.0
    for name in LOOPS:
        bench.section(name)
        for question in questions(name):
            if not bench.quick or question.name in ("AX^3 free", "AG^3 free", "AX^3 (p[1] < -1.8)"):
                long = question.name in (
                    "AX^4 free",
                    "AX^3 (p[1] < -1.5)",
                )  # open at first; the rest is known to be hard
                bench.ask(question, timeout=limit if long else SHORT)
                if question.name.startswith("AX") and not question.name.startswith(("AX^1", "AX^2")):
                    ask_solvers(bench, question, {"name": name, "formula": question.name})
    for factor, values in FACTORS.items():
        bench.section(f"generated, {factor}")
        for value in values[:: len(values) - 1] if bench.quick else values:
            case = replace(Case(), **value)
            shown = (
                f"{case.variables} variables, {case.layers}x{case.units}, {case.steps} steps, margin {case.margin:g}"
            )
            question = Question(shown, partial(generated, case), "violated" if case.violated else "satisfied?")
            bench.ask(question, timeout=SHORT)
            ask_solvers(bench, question, {"case": asdict(case)})
    thresholds(bench)
    table(bench)
