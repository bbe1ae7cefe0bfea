"""What a proof costs: ``trust=exact`` against ``trust=solver`` on the same cells, one run, per mode."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.in_process import in_process
from venmas import Report, System, load_scenario, verify
from venmas.engine.modes import with_programs

MODES = with_programs()
TIMEOUT = 120


def cells(data: Path, quick: bool) -> Iterator[tuple[str, System, str]]:
    """Name, system and formula."""
    for climb in ("-39", "-40.5", "-43.5"):
        system = load_scenario("vcas").system(data / "vcas", climb0=climb)
        for k in (8, 9, 10):
            yield f"vcas {climb}, k = {k}", system, system.properties[f"safe{k}"]
        if quick:
            break
    boxes = json.loads((data / "double_integrator" / "exact_reach_boxes.json").read_text())
    for name in ("nfl_default", "nfl_double_integrator_test_5_5_5")[: 1 if quick else 2]:
        folder = data / "double_integrator" / "nfl" / name.removeprefix("nfl_")
        (a, b), (c, d) = boxes[name]["init"]
        system = load_scenario("double_integrator").system(folder, x1=f"{a}..{b}", x2=f"{c}..{d}")
        for step in boxes[name]["steps"][: 2 if quick else 5]:
            ends = enumerate(zip(step["lo"], step["hi"], strict=True), 1)
            inside = " & ".join(f"x[{i}] >= {lo - 1e-4:.12f} & x[{i}] <= {hi + 1e-4:.12f}" for i, (lo, hi) in ends)
            yield f"{name}, k = {step['k']}", system, "AX " * step["k"] + f"({inside})"
    lake = load_scenario("frozenlake").system(data / "frozenlake", start="1,2,4,5")
    for formula in ("AG^2 (cell[1] < 1 | cell[9] < 1)", "EF^2 (cell[6] > 0.9 | cell[8] > 0.9)"):
        yield f"frozenlake from 1, 2, 4, 5, {formula[:4]}", lake, formula


def cost(data: Path, quick: bool) -> int:
    """Print a line per cell and mode, then totals; status 1 where the two differ in a verdict."""
    print("| cell | mode | verdict | rests on | solver, s | exact, s | of it proving, s | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    ratios: dict[str, list[tuple[float, float]]] = {mode: [] for mode in MODES}
    differ = 0
    for name, system, formula in cells(data, quick):
        for mode in MODES:
            trusted, proved = (_run(system, formula, mode, trust) for trust in ("solver", "exact"))
            a, b = trusted.seconds.total, proved.seconds.total
            ratios[mode].append((a, b))
            wrong = "" if trusted.verdict == proved.verdict else f" **(solver: {trusted.verdict})**"
            differ += bool(wrong)
            basis = f"{trusted.basis or '-'}, {proved.basis or '-'}"
            print(
                f"| {name} | {mode} | {proved.verdict}{wrong} | {basis} | {a:.2f} | {b:.2f} | "
                f"{proved.seconds.prove:.2f} | {b / a:.2f} |",
                flush=True,
            )
    for mode, pairs in ratios.items():
        a, b = sum(p[0] for p in pairs), sum(p[1] for p in pairs)
        middle = median(y / x for x, y in pairs)
        print(f"| **all {len(pairs)}** | {mode} | | | {a:.2f} | {b:.2f} | | {b / a:.2f} (median {middle:.2f}) |")
    return 1 if differ else 0


def _run(system: System, formula: str, mode: str, trust: str) -> Report:
    return verify(system, formula, mode=mode, trust=trust, solver="highs", tune=in_process(mode), timeout=TIMEOUT)
