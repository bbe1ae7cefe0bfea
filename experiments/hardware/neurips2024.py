"""Tables and figures of neural model checking: ``python -m experiments.hardware.neurips2024 --table 1|3|4 ...``.

*Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024): published numbers, and ours beside them.
``--table``: 1 tasks solved by family and tool, 3 seconds of each task, 4 seconds by architecture. ``--figure``: 5 state
space and gates of solved tasks, 6a tasks within a time with *our best*, 6b beside the better of nuXmv and ABC, 6c
learning and checking. ``--shares``: the shares of section 5. Ours are run with ``--learners`` (none is run without it):
``mined``, or the paper's (`gradient`, with its variants of Table 4); ``--designs own`` takes the designs of
`scenarios/designs` at the paper's sizes, all 194 tasks, in place of the published netlists, 150 of them. Each run is
kept in ``neurips2024.db``.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from experiments.hardware.neurips2024_figures import FIGURES
from experiments.hardware.paper_tasks import LEARNERS, LIMIT, ORDER, TOOLS, VARIANTS, Task, tasks
from experiments.policies.cells import Cells, line, table
from experiments.policies.instances import data
from venmas import verify
from venmas.budget import Budget
from venmas.formats.btor2.reader import read_btor2
from venmas.formats.designs import load_machine
from venmas.procedures.netlist.ranges import circuit_of
from venmas.procedures.ranking.proof import RankingProof

_TABLES = ("1", "3", "4")
_PAPER_SHARES = {
    "solved, of all tasks": "NMC 93, nuXmv 60, ABC 29, X 80",
    "faster than the better of nuXmv and ABC": "67",
    "ten times": "34",
    "a hundred times": "4",
    "faster than X": "75",
    "ten times X": "29",
    "a hundred times X": "2",
    "nuXmv and ABC out of time": "39",
    "trained": "93",
    "trained in under a minute": "70",
    "learning faster than checking, of what was solved": "97",
    "ten times so": "46",
    "a hundred times so": "6",
}


def solve(task: Task, own: bool, learner: str, limit: float) -> dict[str, Any]:
    """One task: verdict, CPU seconds, those of learning apart, and whether the learner's network proved it."""
    begun, clock = process_time(), perf_counter()
    if own:
        circuit, asked = circuit_of(load_machine(task.design, **task.parameters), Budget(limit), False), task.asked
        asked = load_machine(task.design, **task.parameters).properties[asked]
    else:
        assert task.netlist is not None
        circuit, asked = read_btor2(task.netlist), task.formula
    report = verify(circuit, asked, timeout=limit, tune={"ranking.learner": learner})
    ranking = next((tried.figures for tried in report.procedures if tried.name == "ranking"), {})
    spent, clock = process_time() - begun, perf_counter() - clock
    checked = sum(float(part.rpartition(" ")[2]) for part in ranking.get("seconds", "").split(", ")[1:])
    proof = None if report.proved is None else report.proved.proof
    return {
        "verdict": report.verdict.value,
        "seconds": round(spent, 2),
        "learning": round(spent * max(0.0, 1 - checked / clock), 2),  # what is checked is told by the clock
        "ranked": isinstance(proof, RankingProof) and bool(proof.ranked),
    }


def solved(found: dict[str, Any] | None) -> float:
    """Seconds of a run that a rank of its learner proved, else infinity."""
    return found["seconds"] if found and found["verdict"] == "satisfied" and found["ranked"] else inf


Runs = dict[str, dict[str, dict[str, Any]]]
"""Of each learner and task what came of it."""


def table1(chosen: Sequence[Task], runs: Runs) -> None:
    """Tasks solved, by family and tool."""
    print(table("", *ORDER, "Total"))
    counts = [("Tasks", [task.key for task in chosen])]
    counts += [(tool, [task.key for task in chosen if task.seconds[tool] < inf]) for tool in TOOLS]
    counts += [
        (f"VenMAS, {learner}, of {len(found)}", [key for key, one in found.items() if solved(one) < inf])
        for learner, found in runs.items()
    ]
    family = {task.key: task.family for task in chosen}
    for name, keys in counts:
        print(line(name, *(sum(family[key] == one for key in keys) for one in ORDER), len(keys)))


def table3(chosen: Sequence[Task], runs: Runs) -> None:
    """Seconds of each task."""
    ours = [(learner, part) for learner in runs for part in ("CPU s", "of it learning", "verdict")]
    print(table("task", "train", *TOOLS, *(f"{learner}: {part}" for learner, part in ours)))
    for task in chosen:
        cells: list[object] = []
        for found in runs.values():
            one = found.get(task.key)
            how = "" if one is None else one["verdict"] if one["ranked"] else f"{one['verdict']}, not by it"
            cells += [one["seconds"], one["learning"], how] if one is not None else ["", "", ""]
        print(line(task.key, _shown(task.train), *map(_shown, task.seconds.values()), *cells))


def table4(chosen: Sequence[Task], runs: Runs) -> None:
    """Seconds by architecture, published and ours."""
    mine = [kind for kind in VARIANTS if LEARNERS[kind] in runs]
    print(table("task", *VARIANTS, *(f"ours {kind}, CPU s" for kind in mine)))
    counts = dict.fromkeys(("published", "ours"), 0)
    for task in chosen:
        theirs = [_shown(task.variants[kind]) if kind in task.variants else "not in the paper" for kind in VARIANTS]
        cells = [runs[LEARNERS[kind]].get(task.key) for kind in mine]
        print(line(task.key, *theirs, *("" if one is None else _shown(solved(one)) for one in cells)))
        counts["published"] += any(seconds < inf for seconds in task.variants.values())
        counts["ours"] += any(solved(one) < inf for one in cells)
    print(f"solved by some architecture: {counts['published']} published, {counts['ours']} ours")


def shares(chosen: Sequence[Task]) -> None:
    """The shares of section 5, from the seconds of Table 3, beside those that the paper prints."""
    n, best = len(chosen), [(task.seconds["NMC"], task.academic) for task in chosen]
    trained = [task for task in chosen if task.train < inf]
    check = [(task.train, task.seconds["NMC"] - task.train) for task in chosen if task.seconds["NMC"] < inf]
    x = [(task.seconds["NMC"], task.seconds["X"]) for task in chosen]

    def faster(pairs: Sequence[tuple[float, float]], times: float) -> int:
        return sum(one < inf and times * one < min(other, LIMIT) for one, other in pairs)

    counts = [sum(task.seconds[tool] < inf for task in chosen) for tool in ("NMC", "nuXmv", "ABC", "X")]
    found = [
        ", ".join(
            f"{tool}{100 * one / n:.1f}" for tool, one in zip(("NMC ", "nuXmv ", "ABC ", "X "), counts, strict=True)
        ),
        *(f"{100 * faster(best, times) / n:.1f}" for times in (1, 10, 100)),
        *(f"{100 * faster(x, times) / n:.1f}" for times in (1, 10, 100)),
        f"{100 * sum(task.academic == inf for task in chosen) / n:.1f}",
        f"{100 * len(trained) / n:.1f}",
        f"{100 * sum(task.train < 60 for task in trained) / n:.1f}",
        f"{100 * faster(check, 1) / len(check):.1f}",
        *(f"{100 * faster(check, times) / n:.1f}" for times in (10, 100)),
    ]
    print(table("share, %", "computed", "in the paper"))
    for (name, paper), one in zip(_PAPER_SHARES.items(), found, strict=True):
        print(line(name, one, paper))


def _shown(seconds: float) -> str:
    return "-" if seconds == inf else f"{seconds:g}"


def main(arguments: list[str] | None = None) -> int:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m experiments.hardware.neurips2024", description=__doc__)
    parser.add_argument("--table", choices=_TABLES)
    parser.add_argument("--figure", choices=tuple(FIGURES))
    parser.add_argument("--shares", action="store_true")
    parser.add_argument("--learners", nargs="*", default=(), metavar="NAME", help="run the tasks with these")
    parser.add_argument("--designs", choices=("published", "own"), default="published")
    parser.add_argument("--only", metavar="KEY", default="", help="tasks whose key begins so, such as L or Da")
    parser.add_argument("--first", type=int, metavar="N", help="the first N sizes of each property")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="of a run")
    parser.add_argument("--out", type=Path, default=Path("results/ltl"))
    args = parser.parse_args(arguments)
    folder = data().parent / "ltl"
    if not folder.is_dir():
        print(f"there are no published numbers in {folder}: set VENMAS_DATA to the folder that holds ltl/")
        return 2
    chosen = [
        task
        for task in tasks(folder)
        if task.key.startswith(args.only) and (args.first is None or task.index <= args.first)
    ]
    runs: Runs = {learner: {} for learner in args.learners}
    with Cells(args.out / "neurips2024.db") as cells:
        own = args.designs == "own"
        for task in chosen:
            for learner in args.learners:
                if own or task.netlist is not None:
                    what = (task.design, task.asked, str(task.parameters)) if own else (task.key, task.formula)
                    name = hashlib.sha256("\0".join((*what, learner, str(args.timeout))).encode()).hexdigest()
                    runs[learner][task.key] = cells.keep(name, partial(solve, task, own, learner, args.timeout))
    shown: dict[str, Callable[[Sequence[Task], Runs], None]] = {"1": table1, "3": table3, "4": table4}
    if args.table:
        shown[args.table](chosen, runs)
    if args.shares:
        shares(chosen)
    if args.figure:
        path = args.out / f"neurips2024_figure{args.figure}.svg"
        times = {f"VenMAS, {learner}": {k: solved(v) for k, v in found.items()} for learner, found in runs.items()}
        FIGURES[args.figure](chosen, times, path)
        print(f"figure: {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
