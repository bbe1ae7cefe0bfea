"""Maps of initial states and their monitors: shares, sampled runs against the boxes, and time of a call.

``python -m experiments.benchmarks.map [--quick] [--workers 2]``: VerticalCAS (altitude and climb rate, all pilots;
120 s) and the pendulum (angle and speed; 60 s). Of 100,000 sampled runs in floats none may break the formula from a
proved box; where there is no choice, all from violated boxes break it, and where there is, states of violated boxes
are decided one by one. A million states, a tenth of them on faces, go through the monitors in C (gcc -O2) and Python,
against the boxes of the map read one by one. Times of a call are medians of seven passes of the same states.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import numpy.typing as npt

from experiments.benchmarks.machine import header
from venmas import System, load_scenario, verify
from venmas.budget import Budget
from venmas.engine.map.decide import starting_in
from venmas.engine.map.monitor import monitor_text
from venmas.engine.map.refine import map_states
from venmas.engine.map.tree import STATUSES, StateMap
from venmas.engine.reach.runs import sampled
from venmas.logic.linear import LinearExpr

RUNS, STATES, POINTS, PASSES = 100_000, 1_000_000, 100, 7
NEAR = 1e-9
"""Runs in floats that miss or break the formula by less say nothing."""
Floats = npt.NDArray[np.float64]
LOOP = """
void all(const double *s, unsigned char *out, long n)
{
    long i;
    for (i = 0; i < n; ++i) out[i] = (unsigned char)venmas_monitor(%s);
}
"""


@dataclass(frozen=True)
class Case:
    """A question. margin: by how much runs, (R, steps + 1, variables), keep the formula, of each."""

    name: str
    system: System
    formula: str
    steps: int
    seconds: float
    margin: Callable[[Floats], Floats]
    chooses: bool


def cases() -> list[Case]:
    """Both."""
    vcas = load_scenario("vcas").system(h_min=-200, h_max=-100, climb0="-30..-10")
    pendulum = load_scenario("pendulum").system(th="-0.4..0.4", thdot="-1..1")
    return [
        Case("vcas", vcas, "AG^5 safe", 5, 120, lambda r: (np.abs(r[:, 1:, 0]) - 100).min(axis=1), True),
        Case("pendulum", pendulum, "AG^10 upright", 10, 60, lambda r: (0.25 - np.abs(r[:, 1:, 0])).min(axis=1), False),
    ]


def statuses(shown: StateMap, states: Floats) -> npt.NDArray[np.uint8]:
    """Answers of the map, (N,) for (N, axes): box by box; of a state on a face that of the lower box."""
    answers = np.full(len(states), STATUSES.index("open"), dtype=np.uint8)
    for cell, box in reversed(list(shown.leaves())):
        inside = np.ones(len(states), dtype=bool)
        for values, (low, high) in zip(states.T, box, strict=True):
            inside &= (values >= _up(low)) & (values <= -_up(-high))
        answers[inside] = STATUSES.index(cell.status)
    return answers


def _up(value: Fraction) -> float:
    """The least double that is not below a rational."""
    near = float(value)
    return near if near >= value else float(np.nextafter(near, np.inf))


def against_runs(case: Case, shown: StateMap) -> str:
    """Sampled runs from all over the box."""
    exprs = [LinearExpr.variable(axis.name) for axis in shown.axes]
    runs, _ = sampled(case.system, exprs, case.steps, RUNS, 4711, 0, Budget())
    margin, answers = case.margin(runs), statuses(shown, runs[:, 0])
    proved, violated = answers == 0, answers == 1
    broken = int((proved & (margin < -NEAR)).sum())
    kept = int((violated & (margin > NEAR)).sum())
    told = f"{len(runs)} runs: {proved.sum()} from proved boxes, of which {broken} break the formula (0 are right); "
    told += f"{violated.sum()} from violated boxes, of which {kept} keep it"
    if not case.chooses:
        return told + " (0 are right)"
    chosen = runs[np.flatnonzero(violated)[:POINTS], 0]
    wrong = 0
    for state in chosen:
        box = tuple((Fraction(value), Fraction(value)) for value in state.tolist())
        report = verify(starting_in(case.system, shown.axes, box), case.formula, timeout=20)
        wrong += report.verdict.value != "violated"
    return told + f" (a single run may); of {len(chosen)} such states decided one by one {wrong} are not violated"


def probes(shown: StateMap, rng: np.random.Generator) -> Floats:
    """States in the box and a little beyond, a tenth of the coordinates on faces."""
    columns = []
    for i, axis in enumerate(shown.axes):
        low, high = float(axis.low), float(axis.high)
        if not axis.wide:
            columns.append(np.full(STATES, low))
            continue
        values = rng.uniform(low - 0.02 * (high - low), high + 0.02 * (high - low), STATES)
        faces = np.array(sorted({float(end) for _, box in shown.leaves() for end in box[i]}))
        columns.append(np.where(rng.random(STATES) < 0.1, rng.choice(faces, STATES), values))
    return np.stack(columns, 1)


def monitors(shown: StateMap, folder: Path) -> str:
    """Agreement and time of a call."""
    states = probes(shown, np.random.default_rng(11))
    expected = statuses(shown, states)
    source = monitor_text(shown, "c") + LOOP % ", ".join(
        f"s[{len(shown.axes)} * i + {k}]" for k in range(len(shown.axes))
    )
    (folder / "monitor.c").write_text(source)
    begun = perf_counter()
    words = ["gcc", "-std=c99", "-O2", "-shared", "-fPIC", "monitor.c", "-o", "monitor.so"]
    subprocess.run(words, cwd=folder, check=True)
    compiled = perf_counter() - begun
    function = ctypes.CDLL(str(folder / "monitor.so")).all
    answers, times = np.zeros(STATES, dtype=np.uint8), []
    for _ in range(PASSES):
        begun = perf_counter()
        function(states.ctypes.data_as(ctypes.c_void_p), answers.ctypes.data_as(ctypes.c_void_p), ctypes.c_long(STATES))
        times.append(perf_counter() - begun)
    differ_c = int((answers != expected).sum())
    space: dict[str, Callable[..., int]] = {}
    exec(monitor_text(shown, "py"), space)
    python, rows, slow = space["venmas_monitor"], states.tolist(), []
    differ_py = sum(python(*row) != answer for row, answer in zip(rows, expected.tolist(), strict=True))
    part = rows[: STATES // 10]
    for _ in range(PASSES):
        begun = perf_counter()
        for row in part:
            python(*row)
        slow.append((perf_counter() - begun) / len(part))
    return (
        f"{STATES} states: C differs at {differ_c}, Python at {differ_py} (0 are right); a call takes "
        f"{1e9 * median(times) / STATES:.0f} ns in C ({len(source) / 1024:.0f} KB of source, gcc {compiled:.1f} s), "
        f"{1e9 * median(slow):.0f} ns in Python"
    )


def main() -> None:
    """Print some lines a case."""
    parser = argparse.ArgumentParser(prog="python -m experiments.benchmarks.map", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the time")
    parser.add_argument("--only", help="one of the cases")
    parser.add_argument("--workers", type=int, default=1, help="processes that decide boxes")
    args = parser.parse_args()
    print(*header(), sep="\n")
    gcc = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    print(f"Python {sys.version.split()[0]}, {gcc}")
    for case in cases():
        if args.only and case.name != args.only:
            continue
        seconds = case.seconds / (10 if args.quick else 1)
        shown = map_states(case.system, case.formula, timeout=seconds, workers=args.workers)
        counts = shown.counts()
        shares = ", ".join(f"{s} {100 * float(share):.2f} % ({counts[s]})" for s, share in shown.shares().items())
        took = f"{shown.seconds:.0f} s, {args.workers} workers, {shown.questions} questions"
        print(f"\n{case.name}, {case.formula}, {took}: {shares}", flush=True)
        print(against_runs(case, shown), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            print(monitors(shown, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
