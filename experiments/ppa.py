"""``python -m experiments.ppa [--quick] [--out FOLDER]``: the abstractions of Vinzent, Steinmetz, Hoffmann, ICAPS 2022.

The abstract graph of each published predicate set (six blocks: 5_0 and 6_0; Racetrack) of the data folder, its counts
beside the published ones, and seconds. Kept in ``ppa.db`` of the folder. --quick: Racetrack only. Exit status 1 where a
count differs, 2 where the data are not there.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from experiments.policies.cells import Cell, Cells, line, table
from experiments.policies.instances import Instance, data, published
from experiments.policies.published import COUNTS
from venmas import abstract
from venmas.logic import Always, nnf
from venmas.question import read_property

NAMES = ("predicates", "starts", "states", "transitions", "unsafe", "endangered")


def counts(instance: Instance) -> dict[str, Any]:
    """Of the abstraction by the property's own predicates, with its seconds."""
    scenario = instance.load()
    system = scenario.system()
    assert scenario.formula is not None, "the property has no `reach`"
    asked = read_property(system, scenario.formula)
    assert isinstance(asked, Always)
    begun = monotonic()
    found = abstract(system, scenario.predicates(), nnf(asked.invariant, negate=True)).to_json()
    return {"counts": [int(found[name]) for name in NAMES], "seconds": round(monotonic() - begun, 2)}


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.ppa", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="Racetrack only")
    parser.add_argument("--out", type=Path, default=Path("results/policies"))
    args = parser.parse_args(arguments)
    instances = [i for i in published() if i.name in COUNTS and (not args.quick or "racetrack" in i.name)]
    if not instances:
        print(f"there are no published policies in {data()}: set VENMAS_DATA to the folder that holds policy/")
        return 2
    wrong = 0
    with Cells(args.out / "ppa.db") as cells:
        print(table("instance", *NAMES, "published", "seconds"))
        for instance in instances:
            found = cells.keep(Cell(instance).key, partial(counts, instance))
            expected = COUNTS[instance.name]
            wrong += tuple(found["counts"]) != expected
            said = "the same" if tuple(found["counts"]) == expected else f"DIFFERS: {expected}"
            print(line(instance.name, *found["counts"], said, found["seconds"]), flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
