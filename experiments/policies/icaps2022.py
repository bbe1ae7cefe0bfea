"""``python -m experiments.policies.icaps2022 [--figure 1 2] [--table 2] [--only TEXT] [--timeout S] [--out FOLDER]``.

Figures 1 and 2 and Table 2 of Vinzent, Steinmetz, Hoffmann (ICAPS 2022); all of them by default.

Figure 1: seconds, abstract states, starts and safe starts over growing predicate sets, for the abstraction (exact),
its continuous relaxation (relaxed) and the abstraction without a policy (PA). Figure 2: seconds of the tests of
selection and applicability (appendix E). Table 2: shortest unsafe paths and greatest lengths by bounded model checking,
a length at a time, and explicit enumeration, beside the published numbers. Instances are those of the paper with our
policies (`as_published`), and the published policies of the data folder. What is found is kept in ``icaps2022.db`` of
the folder, and the same command goes on where it was stopped. --quick: Racetrack and four blocks, few seconds each.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from experiments.policies import figure
from experiments.policies.as_published import instances
from experiments.policies.cells import Cell, Cells
from experiments.policies.instances import Instance, data, published
from experiments.policies.output import Output
from experiments.policies.published import BMC, told
from experiments.policies.scaled import groups, steps
from venmas import abstract, load_jani, verify
from venmas.budget import Budget, BudgetError, limited
from venmas.logic import Always, nnf
from venmas.procedures.predicate_abstraction.states.predicates import Predicate
from venmas.procedures.predicate_abstraction.states.task import task_of
from venmas.question import read_property
from venmas.runtime.blas import on_one_thread

LINES: dict[str, dict[str, Any]] = {"exact": {}, "relaxed": {"relaxed": True}, "PA": {"policy": "none"}}
CONFIGURATIONS = {
    "No-Sel-No-App": "none",
    "No-Sel-Rel-App": "relaxed-applicability",
    "Rel-Sel-No-App": "relaxed-selection",
    "Rel-Sel-Rel-App": "relaxed-both",
    "Ex-Sel-Ex-App": "both",
}
COUNTS = ("predicates", "starts", "states", "transitions", "unsafe", "safe_starts")
SHOWN = ("6 Blocks awa 32", "8 Blocks ign 32", "8-puzzle ign 32", "8-puzzle awa 32", "Transport 32", "4 Blocks awa 16")
"""The instances of Figure 1 (b) to (f) at one width, and the smallest one; Racetrack is (a)."""


@on_one_thread
def measured(instance: Instance, step: int, timeout: float, given: dict[str, Any]) -> dict[str, Any]:
    """Counts of the abstract graph of a step's predicates and CPU seconds; no counts where the time was over."""
    given = dict(given)
    scenario = instance.load()
    system = scenario.system()
    assert scenario.formula is not None
    asked = read_property(system, scenario.formula)
    assert isinstance(asked, Always)
    unsafe = nnf(asked.invariant, negate=True)
    chosen = sets(instance)[step]
    if given.pop("policy", None):
        constants: dict[str, object] = dict(instance.constants)
        free = load_jani(instance.model, instance.property, "none", constants, property_name=instance.number)
        system = free.system()
    begun = process_time()
    try:
        with limited(Budget(timeout)):
            found = abstract(system, chosen, unsafe, **given).to_json()
    except BudgetError:
        return {"seconds": round(process_time() - begun, 2)}
    counts = {name: int(found[name]) for name in COUNTS}
    return {**counts, "queries": found["queries"]["count"], "seconds": round(process_time() - begun, 2)}


def sets(instance: Instance) -> list[list[Predicate]]:
    """The growing predicate sets of an instance."""
    task = task_of(instance.load().system())
    return steps(task, groups(task))


def scaling(
    chosen: Sequence[Instance], lines: dict[str, dict[str, Any]], timeout: float, cells: Cells, output: Output
) -> dict[str, dict[str, list[list[float]]]]:
    """A table of every set and line; of each instance the lines of (%, seconds, states, starts, safe starts)."""
    series: dict[str, dict[str, list[list[float]]]] = {}
    output.head("instance", "%", "line", *COUNTS, "queries", "CPU")
    for instance in chosen:
        sizes = [len(s) for s in sets(instance)]
        for step, size in enumerate(sizes):
            share = 100 * size / sizes[-1]
            for name, given in lines.items():
                key = json.dumps([Cell(instance).key, "scaled", step, timeout, given], sort_keys=True)
                found = cells.keep(key, partial(measured, instance, step, timeout, given))
                if "states" not in found:
                    output.row(instance.name, f"{share:.0f}", name, size, *[""] * 6, f"not in {found['seconds']}")
                    continue
                counts = [found[c] for c in COUNTS]
                output.row(instance.name, f"{share:.0f}", name, *counts, found["queries"], found["seconds"])
                values = (max(found["seconds"], figure.LEAST), found["states"], found["starts"], found["safe_starts"])
                series.setdefault(instance.name, {}).setdefault(name, []).append([share, *map(float, values)])
    return series


@on_one_thread
def unrolled(instance: Instance, timeout: float, mode: str) -> dict[str, Any]:
    """Bounded model checking, a length at a time: the shortest unsafe path, its CPU seconds, the greatest length."""
    scenario = instance.load()
    system, begun, found = scenario.system(), process_time(), dict[str, Any]()
    assert scenario.formula is not None
    asked = read_property(system, scenario.formula)
    assert isinstance(asked, Always)
    length = 0
    while (left := timeout - (process_time() - begun)) > 0:
        report = verify(system, f"AX^{length + 1} ({asked.invariant})", mode=mode, timeout=left)
        if report.verdict == "unknown":
            break
        length += 1
        if report.violated and "path" not in found:
            found |= {"path": length, "seconds": round(process_time() - begun, 1)}
    return {**found, "checked": length}


def bounded(chosen: Sequence[Instance], timeout: float, mode: str, cells: Cells, output: Output) -> None:
    """Table 2, with explicit enumeration."""
    output.head("instance", "L_U", "published", "t_U", "published", "L_checked", "published", "enumeration", "CPU")
    for instance in chosen:
        key = json.dumps([Cell(instance).key, "unrolled", timeout, mode])
        found = cells.keep(key, partial(unrolled, instance, timeout, mode))
        listed = cells.decide(Cell(instance, {"mode": "invariant"}, timeout))
        said = listed["verdict"] if listed["by"] == "fixpoints" else "not in time"
        theirs = BMC.get(instance.row) or BMC.get(instance.name, (None, None, None))
        ours = found.get("path", "-"), found.get("seconds", "-"), found["checked"]
        beside = [cell for own, other in zip(ours, theirs, strict=True) for cell in (own, told(other))]
        output.row(instance.name, *beside, said, listed["CPU"])


def racetrack() -> list[Instance]:
    """The published policy over our model of the track."""
    return [replace(i, row="Racetrack 16") for i in published() if "racetrack" in i.name]


def main(arguments: list[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.policies.icaps2022", description=__doc__)
    parser.add_argument("--figure", type=int, nargs="*", choices=(1, 2))
    parser.add_argument("--table", type=int, nargs="*", choices=(2,))
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="instances with a TEXT in their name")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of each abstraction, or of one checking")
    parser.add_argument("--mode", default="mono", help="what decides a length of Table 2")
    parser.add_argument("--quick", action="store_true", help="Racetrack and four blocks")
    parser.add_argument("--out", type=Path, default=Path("results/policies"))
    args = parser.parse_args(arguments)
    if args.figure is None and args.table is None:
        args.figure, args.table = [1, 2], [2]
    every = [*racetrack(), *instances()]
    shown = [i for i in every if i.row in (("4 Blocks awa 16",) if args.quick else SHOWN) or i.row == "Racetrack 16"]
    if args.only is not None:
        shown = every = [i for i in every if any(text in i.name for text in args.only)]
    if not shown:
        print(f"no instance has a name with {' or '.join(args.only or [])}; published policies come from {data()}")
        return 2
    output = Output(args.out, "icaps2022")
    pictures: dict[str, Any] = {}
    with Cells(args.out / "icaps2022.db") as cells:
        for number in args.figure or ():
            tests = {name: {"tests": value} for name, value in CONFIGURATIONS.items()}
            series = scaling(shown, LINES if number == 1 else tests, args.timeout, cells, output)
            kind = "abstraction, its relaxation, without a policy" if number == 1 else "tests before transitions"
            title = f"Figure {number}: {kind}; {args.timeout:g} s each"
            columns = ("CPU seconds", "abstract states", "starts", "safe starts") if number == 1 else ("CPU seconds",)
            pictures[f"figure{number}"] = partial(figure.grid, title, columns, series)
            output.say("")
        if args.table:
            counted = [i for i in every if i.row.split(" ")[0] != "4"] if args.only is None else every
            bounded(shown if args.quick else counted, args.timeout, args.mode, cells, output)
    output.end(**pictures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
