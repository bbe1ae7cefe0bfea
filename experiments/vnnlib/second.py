"""VNN-LIB 2.0: products (acc), two networks (monotonic, isomorphic), each question decided in this process.

python -m experiments.vnnlib.second [--timeout 20] [--samples 100000] [--only acc] [--rules vnncomp]

After an ``unsat`` of acc, onnxruntime runs that many random inputs in float32, and bad ones are counted twice: with the
outputs it gives, and with those of the real function. Status 1 where a ``sat`` is not accepted by onnxruntime, or the
real function has a bad point in spite of an ``unsat``; with the rules of the competition, where a sample is bad.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from experiments.benchmarks.machine import DATA
from venmas import load_network
from venmas.engine.query.deployed import decide_deployed
from venmas.engine.query.files import load_networks
from venmas.engine.query.joint import decide_joint
from venmas.engine.query.replay import replay_query
from venmas.formats.vnnlib.query import Query
from venmas.formats.vnnlib.reader import read_vnnlib
from venmas.nn.runtime import OnnxRuntime

FOLDER = DATA / "vnnlib2"
EXACT = 200
"""Bad samples that are evaluated exactly."""


def questions() -> Iterator[tuple[str, list[Path], Path]]:
    """The set, the networks and the property."""
    for prop in sorted((FOLDER / "acc").glob("*.vnnlib")):
        yield "acc", [FOLDER / "acc" / "acc.onnx"], prop
    for pruned in sorted((FOLDER / "isomorphic").glob("*_pruned*.onnx")):
        whole = pruned.with_name(pruned.name.split("_pruned")[0] + ".onnx")
        yield "isomorphic", [whole, pruned], FOLDER / "isomorphic" / "eps_0.05.vnnlib"
    for prop in sorted((FOLDER / "monotonic").glob("*.vnnlib")):
        for network in sorted((DATA / "acasxu" / "onnx").glob("*.onnx")):
            yield "monotonic", [network, network], prop


def bad_samples(path: Path, query: Query, count: int) -> tuple[int, int]:
    """How many of `count` random inputs of the boxes are bad in float32, and how many of the first ones exactly."""
    if not query.cases:
        return 0, 0
    box, network = query.cases[0].boxes[0], load_network(path)
    low, high = (np.array([float(side[i]) for side in box]) for i in range(2))
    x = np.random.default_rng(0).uniform(low, high, (count, len(box))).astype(np.float32)
    session = OnnxRuntime().session(str(path))
    (given,) = session.get_inputs()
    shape = [v if isinstance(v, int) else 1 for v in given.shape]
    in_float = exactly = 0
    for point in x:
        (y,) = session.run(None, {given.name: point.reshape(shape)})[0].ravel()
        inputs = [Fraction(float(v)) for v in point]
        if query.holds(query.at(inputs, [Fraction(float(y))])):
            in_float += 1
            exactly += in_float <= EXACT and query.holds(query.at(inputs, network.evaluate_exact(inputs)))
    return in_float, exactly


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=20.0)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--rules", choices=("real", "vnncomp"), default="real")
    options = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    greatest: dict[str, float] = {}
    wrong = 0
    for kind, paths, prop in questions():
        if options.only not in kind:
            continue
        begun = perf_counter()
        query = read_vnnlib(prop)
        networks = load_networks(paths, query)
        decide = partial(decide_deployed, paths) if options.rules == "vnncomp" else decide_joint
        report = decide(networks, query, timeout=options.timeout)
        seconds = perf_counter() - begun
        said = ""
        if report.verdict == "sat":
            replay = replay_query(paths, networks, query, report)
            said, wrong = str(replay), wrong + (not replay.within)
            counts[kind, "accepted"] += replay.within
        elif report.verdict == "unsat" and kind == "acc" and options.samples:
            in_float, exactly = bad_samples(paths[0], query, options.samples)
            said = f"{in_float} bad samples in float32, {exactly} exactly"
            wrong += (in_float if options.rules == "vnncomp" else exactly) > 0
            counts[kind, "unsat, bad in float32"] += in_float > 0
        counts[kind, report.verdict] += 1
        greatest[kind] = max(greatest.get(kind, 0.0), seconds)
        print(kind, paths[0].stem, prop.stem, report.verdict, f"{seconds:.2f}", report.reason, said, flush=True)
    for (kind, verdict), number in sorted(counts.items()):
        print(f"{kind}: {number} {verdict}; greatest seconds {greatest[kind]:.2f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
