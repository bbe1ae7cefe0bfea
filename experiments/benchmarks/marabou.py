"""Side by side with Marabou: the double integrator and single-pilot VerticalCAS, unrolled for it as one query each.

Marabou gets a process of its own; its time is that of solving alone, without building the query. A point that it finds
is run through the system in exact numbers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from functools import partial
from typing import Any

from experiments.benchmarks.ask import Question, Row
from experiments.benchmarks.bench import Bench
from experiments.benchmarks.double_integrator import boxes, controller, hidden
from experiments.benchmarks.machine import ROOT
from experiments.benchmarks.vcas import encounter
from venmas.logic import nnf, parse
from venmas.model import satisfies

FACES = ((0, "below", "lo"), (0, "above", "hi"), (1, "below", "lo"), (1, "above", "hi"))
_GRACE = 15.0
"""Seconds for building a query beyond the limit, which Marabou itself may overrun."""
VERDICTS = {"sat": "violated", "unsat": "satisfied"}


def solve(
    bench: Bench,
    question: Question,
    query: dict[str, Any],
    names: tuple[str, ...],
    limit: float,
    repeat: int | None = None,
) -> None:
    """Ask Marabou so often (None: as --repeat says); names: of the variables whose initial values it finds."""
    if not bench.wanted(question.name, "marabou") or bench.recall(question.name, "marabou") is not None:
        return
    row = Row(bench.title, question.name, "marabou", question.expected)
    for _ in range(bench.repeat if repeat is None else repeat):
        answer = _run({**query, "limit": int(limit)}, limit)
        row.seconds.append(answer.get("seconds", limit))
        row.mb = max(row.mb, answer.get("mb", 0.0))
        row.verdict = VERDICTS.get(answer["answer"], "unknown")
        row.basis = "" if row.decided else str(answer["answer"]).replace("TIMEOUT", "time")
        if row.verdict == "violated" and (note := _replayed(question, names, answer["point"])):
            row.verdict, row.basis = "unknown", note
        if not row.decided:
            break
    row.judge()
    if row.problem == "WRONG":
        row.problem, row.note = "Marabou differs", f"{row.note} differs from what is expected".strip()
    bench.add(row)


def _run(query: dict[str, Any], limit: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "experiments.benchmarks.marabou_queries", json.dumps(query)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit + _GRACE, cwd=ROOT, check=False)
    except subprocess.TimeoutExpired:
        return {"answer": "time"}
    if done.returncode:
        if "No module named 'maraboupy'" in done.stderr:
            raise SystemExit("Marabou is not installed: pip install maraboupy")
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return {"answer": f"crashed ({done.returncode}) {last[:100]}", "seconds": 0.0}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _replayed(question: Question, names: tuple[str, ...], point: list[float]) -> str:
    """Does the point violate the question? It is moved into the initial box where it is outside by rounding."""
    system, formula = question.build()
    state = {name: Fraction(0) for name in system.variables}
    state |= {"tau": Fraction(25), "adv": Fraction(1)} if "adv" in state else {}
    if "climb" in state:
        state["climb"] = Fraction(question.name.split()[1].rstrip(","))
    state |= {name: Fraction(value) for name, value in zip(names, point, strict=True)}
    return "" if satisfies(system, nnf(parse(str(formula), system.vocabulary), negate=True), state) else "no such run"


def run(bench: Bench) -> None:
    limit = bench.timeout or (20.0 if bench.quick else 120.0)
    chosen = {"default", "double_integrator_test_5", "double_integrator_test_5_5_5_5_5"}
    for name, entry in boxes().items():
        if bench.quick and name not in chosen:
            continue
        bench.section(f"Double integrator, {name} ({hidden(name)} hidden)")
        x1, x2 = (f"{a}..{b}" for a, b in entry["init"])
        for step in entry["steps"]:
            k = step["k"]
            for moved, faces, expected in ((1e-4, FACES, "satisfied"), (-1e-3, FACES[3:], "violated")):
                ends = [
                    (axis, side, step[end][axis] + (-moved if side == "below" else moved)) for axis, side, end in faces
                ]
                signs = {"below": ">=", "above": "<="}
                inside = " & ".join(f"x[{axis + 1}] {signs[side]} {at:.12f}" for axis, side, at in ends)
                text = f"AX^{k} ({inside})"
                what = f"k = {k}, {'in the box + 1e-4' if moved > 0 else 'x[2] below its greatest - 1e-3'}"
                question = Question(what, partial(controller, name, x1, x2, text), expected)
                bench.ask(question, timeout=limit)
                query = {"kind": "double_integrator", "name": name, "box": entry["init"], "k": k}
                solve(bench, question, query | {"violating": ends}, ("x[1]", "x[2]"), limit)
    for pilot in ("middle", "worst"):
        bench.section(f"VerticalCAS, pilot {pilot}")
        for climb in (-22.5, -43.5) if bench.quick else (-19.5, -22.5, -28.5, -34.5, -40.0, -43.5):
            for k in (1, 3, 5) if bench.quick else (1, 2, 3, 5, 7, 10, 15, 20, 25):
                text = f"AX^{k} safe"
                question = Question(f"climb {climb:g}, k = {k}", partial(encounter, text, climb, pilot=pilot))
                bench.ask(question, timeout=limit)
                solve(bench, question, {"kind": "vcas", "climb0": climb, "k": k, "pilot": pilot}, ("h",), limit)
    for part in ("Double integrator", "VerticalCAS"):
        for mode in ("adaptive", "marabou"):
            bench.total(bench.of(mode, part), f"{mode}, {part}")
        bench.ratio("marabou", "adaptive", part)
