"""The double integrator under controllers of 1 to 10 hidden layers, against its exact reachable boxes, k = 1..5.

Each step asks that the state is in the exact box grown by 1e-4 (satisfied) and that it keeps off each face by 1e-3
(violated); the initial sets are 2-D boxes.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from experiments.benchmarks.ask import Built, Question
from experiments.benchmarks.bench import Bench
from experiments.benchmarks.machine import DATA
from venmas import load_scenario

FOLDER = DATA / "double_integrator"


def controller(name: str, x1: str, x2: str, formula: str) -> Built:
    system = load_scenario("double_integrator").system(FOLDER / "nfl" / name, x1=x1, x2=x2)
    return system, formula


def boxes() -> dict[str, dict[str, Any]]:
    """By controller (the folders of nfl_veripy): initial box and exact boxes."""
    found = json.loads((FOLDER / "exact_reach_boxes.json").read_text())
    return {name.removeprefix("nfl_"): entry for name, entry in found.items() if name.startswith("nfl_")}


def hidden(name: str) -> int:
    return 2 if name == "default" else name.removeprefix("double_integrator_test").count("_5")


def questions(name: str, entry: dict[str, Any], steps: tuple[int, ...]) -> list[Question]:
    x1, x2 = (f"{a}..{b}" for a, b in entry["init"])
    found = []
    for step in entry["steps"]:
        k = step["k"]
        faces = [(f"x[{i + 1}]", lo, hi) for i, (lo, hi) in enumerate(zip(step["lo"], step["hi"], strict=True))]
        grown = " & ".join(f"{x} >= {lo - 1e-4:.12f} & {x} <= {hi + 1e-4:.12f}" for x, lo, hi in faces)
        asked = [("in the box + 1e-4", grown, "satisfied")]
        for x, lo, hi in faces:
            asked.append((f"{x} above its least + 1e-3", f"{x} >= {lo + 1e-3:.12f}", "violated"))
            asked.append((f"{x} below its greatest - 1e-3", f"{x} <= {hi - 1e-3:.12f}", "violated"))
        if k in steps:
            found += [
                Question(f"k = {k}, {what}", partial(controller, name, x1, x2, f"AX^{k} ({atoms})"), expected)
                for what, atoms, expected in asked
            ]
    return found


def run(bench: Bench) -> None:
    limit = 10.0 if bench.quick else 120.0
    entries = boxes()
    chosen = ("default", "double_integrator_test_5", "double_integrator_test" + "_5" * 10)
    for name, entry in entries.items():
        if bench.quick and name not in chosen:
            continue
        bench.section(f"{name} ({hidden(name)} hidden)")
        for question in questions(name, entry, (1, 3) if bench.quick else (1, 2, 3, 4, 5)):
            bench.ask(question, timeout=limit, fresh=True)
        bench.total([r for r in bench.rows if r.section == bench.title], f"adaptive, {name}")
    bench.total(bench.of("adaptive"), "adaptive, all controllers")
