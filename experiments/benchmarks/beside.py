"""Solvers beside the default mode: MILP solvers on one program of the question, Marabou on the unrolled loop."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from experiments.benchmarks.ask import Question, Way, ask
from experiments.benchmarks.bench import Bench
from experiments.benchmarks.marabou import solve

MILP = {"gurobi": "gurobipy", "highs": "highspy", "scip": "pyscipopt"}
"""Solvers with the packages that they come in."""
NAMES = (*MILP, "marabou")
LIMIT = 5.0
"""Seconds for each."""


def missing() -> list[str]:
    """Solvers that are not installed."""
    packages = MILP | {"marabou": "maraboupy"}
    return [name for name in NAMES if find_spec(packages[name]) is None]


def ask_solvers(bench: Bench, question: Question, loop: dict[str, Any] | None = None) -> None:
    """Rows of all that are installed; loop: what `marabou_queries` takes, None where Marabou is not asked.

    A solver's word is taken for "infeasible"; a point that it finds is replayed exactly.
    """
    left_out = missing()
    limit = bench.timeout if bench.timeout is not None else LIMIT
    for solver in MILP:
        if solver in left_out or not bench.wanted(question.name, solver) or bench.recall(question.name, solver):
            continue
        row = ask(bench.title, question, Way("mono", limit, 1, workers=bench.workers, trust="solver", solver=solver))
        row.mode = solver
        if row.verdict == "crash":  # such as a licence for small programs only
            row.verdict, row.basis, row.problem = "unknown", "refused", "unknown"
        bench.add(row)
    if loop is not None and "marabou" not in left_out and bench.wanted(question.name, "marabou"):
        system, _ = question.build()
        solve(bench, question, {"kind": "loop", **loop}, tuple(system.variables), limit, repeat=1)


def table(bench: Bench) -> None:
    """A row for each question, a column for each solver; who had no answer is shown with the time it took."""
    shown = [name for name in ("adaptive", *NAMES) if bench.of(name)]
    if len(shown) < 2:
        return
    print("\n## Side by side, s\n\n| question | verdict | " + " | ".join(shown) + " | adaptive / best of the others |")
    print("|---|---|" + "---|" * (len(shown) + 1))
    by = {(row.section, row.what, row.mode): row for row in bench.rows}
    for section, what in dict.fromkeys((row.section, row.what) for row in bench.rows if row.mode != "adaptive"):
        rows = {name: by[section, what, name] for name in shown if (section, what, name) in by}
        cells = [
            "-" if name not in rows else f"{rows[name].median:.3f}" + ("" if rows[name].decided else " (open)")
            for name in shown
        ]
        verdict = next((row.verdict for row in rows.values() if row.decided), "unknown")
        others = [row.median for name, row in rows.items() if name != "adaptive" and row.decided]
        mine = rows.get("adaptive")
        quotient = f"{mine.median / max(min(others), 1e-6):.2f}" if mine and mine.decided and others else "-"
        print(f"| {section}: {what.replace('|', '/')} | {verdict} | {' | '.join(cells)} | {quotient} |")
    for name in shown[1:]:
        bench.ratio(name, "adaptive")
