"""``python -m experiments.policies.aaai2023 [--only TEXT] [--ways WS CE ..] [--seeds N] [--timeout S] [--memory MB]``.

Table 1 of Vinzent, Sharma, Hoffmann (AAAI 2023): 27 instances (`as_published`; ``(theirs)``: with a published policy,
else our own policies for the same task), the four variants as published, two baselines of ours (bounded model checking,
which unrolls a length at a time, and the cone of influence), and the default. Beside each number the published one; in
the second table the published seconds of nuXmv, and those of a run here where it is on the path (`nuxmv`). Published
variants start from no predicate, add whole guards and have no cell refinement. A number over several seeds is a mean.
Results are kept in ``aaai2023.db`` of the folder, and the same command goes on where it was stopped. Exit status 1
where two ways contradict each other.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from experiments.policies import nuxmv
from experiments.policies.as_published import instances
from experiments.policies.cells import Cell, Cells
from experiments.policies.icaps2022 import unrolled
from experiments.policies.instances import Instance
from experiments.policies.output import Output
from experiments.policies.published import REFINEMENT, Row, told

AS_PUBLISHED: dict[str, Any] = {
    "mode": "abstraction", "slice": "off", "predicates": "none", "guards": "all", "cells": "off"
}  # fmt: skip
"""From no predicate, with whole guards, and refinement by guards, the unsafe condition and the policy alone."""
WAYS: dict[str, dict[str, Any]] = {
    "WS": {**AS_PUBLISHED, "refine": "ws"},
    "no h": {**AS_PUBLISHED, "refine": "ws", "search": "breadth"},
    "no inc": {**AS_PUBLISHED, "refine": "ws", "reuse": "off"},
    "CE": {**AS_PUBLISHED, "refine": "ce"},
    "cone": {**AS_PUBLISHED, "refine": "ws", "slice": "on"},
    "default": {},
}
UNROLLED = "BMC"
FIGURES = ("path", "predicates", "iterations", "by policy")


def published_of(way: str, row: Row | None) -> tuple[float | None, tuple[object, ...]]:
    """Seconds of a way, and the figures that the table has of WS alone."""
    if row is None:
        return None, ("",) * 4
    seconds = {
        "WS": row.ws, "no h": row.no_h, "no inc": row.no_inc, "CE": row.ce, UNROLLED: row.bmc, "cone": row.coi
    }  # fmt: skip
    figures = (row.path or "-", row.predicates, row.iterations, row.by_policy) if way == "WS" else ("",) * 4
    return seconds.get(way), figures


def asked(instance: Instance, way: str, seeds: int, timeout: float, memory: int | None, cells: Cells) -> dict[str, Any]:
    """The means over seeds, and every verdict; of bounded model checking what it has found."""
    if way == UNROLLED:
        key = json.dumps([Cell(instance).key, "unrolled", timeout, "mono"])
        found = cells.keep(key, partial(unrolled, instance, timeout, "mono"))
        said = "violated" if "path" in found else "unknown"
        return {"verdicts": {said}, "path": found.get("path", ""), "CPU": found.get("seconds", "-")}
    # cells that are decided by a default have no seed
    options = [{**WAYS[way], **({"seed": seed} if seeds > 1 else {})} for seed in range(seeds if WAYS[way] else 1)]
    limit = {} if memory is None else {"memory": memory}
    rows = [cells.decide(Cell(instance, {**each, **limit}, timeout)) for each in options]
    told = {name: averaged([row[name] for row in rows]) for name in (*FIGURES, "cells", "known", "CPU")}
    return {"verdicts": {row["verdict"] for row in rows}, **told}


def beside_nuxmv(chosen: Sequence[Instance], timeout: float, folder: Path, output: Output) -> int:
    """The table of nuXmv; for how many instances it contradicts ours."""
    here = tuple(nuxmv.ALGORITHMS) if nuxmv.available() else ()
    output.head("instance", "nuXmv BMC", "SBMC", "IPA", "COI", "EPA", "IC3", *(f"{name}, here" for name in here))
    contradictions = 0
    with Cells(folder / "aaai2023.db") as cells:
        for instance in chosen:
            row = REFINEMENT.get(instance.row)
            theirs = ("-",) * 6 if row is None else (*map(told, (row.bmc, row.sbmc, row.ipa, row.coi)), "-", "-")
            ours, verdicts = list[str](), {cells.decide(Cell(instance, {}, timeout))["verdict"]} if here else set()
            for name in here:
                key = json.dumps([Cell(instance).key, "nuXmv", name, timeout])
                found = cells.keep(key, partial(nuxmv.run, instance, name, timeout))
                verdicts.add(found["verdict"])
                ours.append(f"{found['verdict']} {found['CPU']}")
            contradictions += verdicts >= {"satisfied", "violated"}
            output.row(instance.row, *theirs, *ours)
    return contradictions


def averaged(values: list[Any]) -> Any:
    """The mean of numbers; empty where there are none."""
    numbers = [float(v) for v in values if v != ""]
    return "" if not numbers else f"{mean(numbers):.4g}"


def main(arguments: list[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.policies.aaai2023", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="instances with a TEXT in their name")
    parser.add_argument("--ways", nargs="+", choices=[*WAYS, UNROLLED], default=[*WAYS, UNROLLED])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of each run; the paper's: 43200")
    parser.add_argument("--memory", type=int, metavar="MB", help="of each run; the paper's: 4096")
    parser.add_argument("--out", type=Path, default=Path("results/policies"))
    args = parser.parse_args(arguments)
    chosen = [i for i in instances() if any(text in i.name for text in args.only)]
    if not chosen:
        print(f"no instance has a name with {' or '.join(args.only)}: they are like 4 Blocks awa 16")
        return 2
    output, contradictions = Output(args.out, "aaai2023"), 0
    beside = [name for figure in ("|path|", "|P|", "iterations", "by policy", "s") for name in (figure, "published")]
    with Cells(args.out / "aaai2023.db") as cells:
        output.head("instance", "published", "way", "verdict", *beside, "by cells", "known")
        for instance in chosen:
            row, verdicts = REFINEMENT.get(instance.row), set[str]()
            for way in args.ways:
                found = asked(instance, way, args.seeds, args.timeout, args.memory, cells)
                verdicts |= found["verdicts"]
                seconds, figures = published_of(way, row)
                pairs = [c for own, other in zip(FIGURES, figures, strict=True) for c in (found.get(own, ""), other)]
                said = ", ".join(sorted(found["verdicts"]))
                clock = (found["CPU"], told(seconds) if row is not None and way != "default" else "")
                rest = (found.get("cells", ""), found.get("known", ""))
                output.row(instance.name, row.verdict if row else "", way, said, *pairs, *clock, *rest)
            contradictions += verdicts >= {"satisfied", "violated"}
    output.say("")
    contradictions += beside_nuxmv(chosen, args.timeout, args.out, output)
    output.end()
    return int(contradictions > 0)


if __name__ == "__main__":
    raise SystemExit(main())
