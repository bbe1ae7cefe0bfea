"""ACAS Xu, the instances of VNN-COMP whose truth is public, each as one step of a system.

The state holds the five inputs, which a step keeps, and the five outputs, which it computes; the question is AX (not
unsafe). Bounds are the decimal numbers of the property and weights the stored float32, both exactly.
"""

from __future__ import annotations

import csv
from functools import cache, partial
from statistics import median

from experiments.benchmarks.ask import Built, Question
from experiments.benchmarks.bench import Bench
from experiments.benchmarks.machine import DATA
from venmas import load_network
from venmas.formats.vnnlib.reader import read_vnnlib
from venmas.logic import AX, Not
from venmas.nn import Network
from venmas.procedures.branch_and_bound.query_box import query_system

FOLDER = DATA / "acasxu"


@cache
def network(name: str) -> Network:
    return load_network(FOLDER / "onnx" / name)


def instance(name: str, prop: str) -> Built:
    (case,) = read_vnnlib(FOLDER / "vnnlib" / prop).cases
    return query_system(network(name), case.boxes), AX(Not(case.condition))


def run(bench: Bench) -> None:
    limit = 20.0 if bench.quick else 60.0
    with (FOLDER / "truth_public.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows.sort(key=lambda r: (int(r["vnnlib"][5:-7]), r["onnx"]))
    seen: dict[str, int] = {}
    for row in rows:
        prop = row["vnnlib"].removesuffix(".vnnlib")
        kind = f"{prop} {row['truth']}"
        seen[kind] = seen.get(kind, 0) + 1
        if bench.quick and seen[kind] > 1:
            continue
        bench.section(prop)
        name = row["onnx"].removeprefix("ACASXU_run2a_").removesuffix("_batch_2000.onnx")
        expected = {"sat": "violated", "unsat": "satisfied"}[row["truth"]]
        bench.ask(
            Question(f"network {name}", partial(instance, row["onnx"], row["vnnlib"]), expected),
            timeout=limit,
            fresh=True,
        )
    found = bench.of("adaptive")
    bench.total(found, "adaptive")
    if found:
        whole = median(r.median if r.decided else limit for r in found)
        bench.say(
            f"undecided counted with the limit of {limit:g} s: median {whole:.2f} s (nnenum's published one: 1.2 s)"
        )
