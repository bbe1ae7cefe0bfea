"""ICAPS 2022, by predicates given: ``python -m experiments.policies.ppa [--quick] [--only TEXT] [--timeout S] ...``.

The abstract graphs of Vinzent, Steinmetz, Hoffmann: of each published predicate set of the data folder (six blocks:
5_0 and 6_0; Racetrack), its counts beside the published ones; and of parts of a set, 25 to 100 %, drawn at random
with a fixed seed, as the paper scales them: the published sets, and the atoms of guards of the policies of ``python
-m experiments.domains``. The unsafe condition's own atoms are always there. What is found is kept in ``ppa.db`` of
the folder, into which the tables and a figure (seconds, abstract states, safe starts against the share) are written,
too. --quick: the published counts of Racetrack only. Exit status 1 where a count differs, 2 where there is nothing to
do.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from experiments.policies import figure
from experiments.policies.cells import Cell, Cells
from experiments.policies.instances import Instance, data, own, published
from experiments.policies.output import Output
from experiments.policies.published import COUNTS
from venmas import abstract
from venmas.budget import Budget, BudgetError, limited
from venmas.logic import Always, nnf
from venmas.procedures.predicate_abstraction.cegar import guard_atoms
from venmas.procedures.predicate_abstraction.states.predicates import Predicate, of_formula
from venmas.procedures.predicate_abstraction.states.task import task_of
from venmas.question import read_property
from venmas.runtime.blas import on_one_thread

NAMES = ("predicates", "starts", "states", "transitions", "unsafe", "endangered")
PARTS = (0.25, 0.5, 0.75, 1.0)
SEED = 5


@on_one_thread
def counts(instance: Instance, part: float | None, timeout: float) -> dict[str, Any]:
    """Of the abstraction by the property's own predicates, or by a part of them (of the guards where it has none).

    Counts, safe starts and CPU seconds; no counts where the time, seconds, was over.
    """
    scenario = instance.load()
    system = scenario.system()
    assert scenario.formula is not None, "the property has no `reach`"
    asked = read_property(system, scenario.formula)
    assert isinstance(asked, Always)
    unsafe = nnf(asked.invariant, negate=True)
    begun = process_time()
    chosen: list[Any] = list(scenario.predicates())
    if part is not None:
        task = task_of(system)
        own_set: list[Predicate] = [p for f in chosen for p in of_formula(f, task.columns)] or guard_atoms(task)
        order = np.random.default_rng(SEED).permutation(len(own_set))[: round(part * len(own_set))]
        chosen = [own_set[i] for i in sorted(order.tolist())] + of_formula(unsafe, task.columns)
    try:
        with limited(Budget(timeout)):
            found = abstract(system, chosen, unsafe).to_json()
    except BudgetError:
        return {"counts": None, "seconds": round(process_time() - begun, 2)}
    told = [int(found[name]) for name in NAMES]
    return {"counts": told, "safe_starts": found["safe_starts"], "seconds": round(process_time() - begun, 2)}


def main(arguments: list[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.policies.ppa", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the published counts of Racetrack only")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="instances with a TEXT in their name")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of each part of a predicate set")
    parser.add_argument("--out", type=Path, default=Path("results/policies"))
    args = parser.parse_args(arguments)
    counted = [i for i in published() if i.name in COUNTS and any(text in i.name for text in args.only)]
    scaled = [*counted, *(i for i in own() if any(text in i.name for text in args.only))]
    if args.quick:
        counted, scaled = [i for i in counted if "racetrack" in i.name], []
    if not (counted or scaled):
        print(f"no instance: neither in {data()} (VENMAS_DATA) nor made by python -m experiments.domains")
        return 2
    wrong = 0
    output = Output(args.out, "ppa")
    with Cells(args.out / "ppa.db") as cells:
        output.head("instance", *NAMES, "published", "CPU")
        for instance in counted:
            found = cells.keep(Cell(instance).key, partial(counts, instance, None, 600.0))
            expected = COUNTS[instance.name]
            same = found["counts"] is not None and tuple(found["counts"]) == expected
            wrong += not same
            said = "the same" if same else f"DIFFERS: {expected}"
            output.row(instance.name, *(found["counts"] or [""] * len(NAMES)), said, found["seconds"])
        series = parts(scaled, args.timeout, cells, output) if scaled else {}
    title = f"Abstract graphs of parts of the predicates, {args.timeout:g} s each"
    pictures = {"parts": lambda: figure.shares(title, ("CPU seconds", "abstract states", "% safe starts"), series)}
    output.end(**pictures if series else {})
    return int(wrong > 0)


def parts(instances: list[Instance], timeout: float, cells: Cells, output: Output) -> dict[str, list[list[float]]]:
    """The second table; for the figure: share, seconds, states, share of safe starts by instance."""
    series: dict[str, list[list[float]]] = {}
    output.say("")
    output.head("instance", "%", *NAMES, "safe starts", "CPU")
    for instance in instances:
        for part in PARTS:
            key = json.dumps([Cell(instance).key, part, SEED, timeout])
            found = cells.keep(key, partial(counts, instance, part, timeout))
            if found["counts"] is None:
                output.row(instance.name, f"{100 * part:g}", *[""] * len(NAMES), "not in time", found["seconds"])
                continue
            told, safe = found["counts"], found["safe_starts"]
            output.row(instance.name, f"{100 * part:g}", *told, safe, found["seconds"])
            row = [100 * part, max(found["seconds"], figure.LEAST), told[2], 100 * safe / max(told[1], 1)]
            series.setdefault(instance.name, []).append(row)
    return series


if __name__ == "__main__":
    raise SystemExit(main())
