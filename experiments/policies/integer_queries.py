"""``python -m experiments.policies.integer_queries [--count 1000] [--engines z3 ..] [--solved N] [--limit S] ..``.

Random queries ("is there a point in this box of integers that meets these rows and for which the policy picks this
label?"), networks of 2x16 to 2x128, 4 to 13 inputs, ties and rows among them. Every query goes to our engine, and N of
each size to the others that are installed: HiGHS and Gurobi as mixed-integer programs, and the engines that the paper
compares (`peers`, extra ``peers``). Every answer is compared with the enumeration of all points. A solver cannot say
"strictly above", and computes in floats: a point that does not replay is no answer. What others say is kept in
``integer_queries.db`` of the folder, and the same command goes on where it was stopped. Wrong answers are listed; exit
status 1 where one is ours. Times are CPU times, of all threads.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from experiments.policies.cells import Cells
from experiments.policies.output import Output
from experiments.policies.peer_process import Peers
from experiments.policies.peers import Query, installed
from tests.random_queries import random_policy, random_queries
from venmas.procedures.predicate_abstraction.states.points import enumerated, row_values
from venmas.procedures.predicate_abstraction.states.policy import Policy
from venmas.procedures.predicate_abstraction.states.queries import FREE, Queries, QueryEngine
from venmas.runtime.blas import on_one_thread
from venmas.solvers import get_solver
from venmas.solvers.milp.program import Feasible, Infeasible, Kind, Program, ProgramBuilder

SIZES = (16, 32, 64, 128)
SOLVERS = ("highs", "gurobi")
OURS = "ours"
GROUP = 10
"""Queries about one network."""


def truth(policy: Policy, queries: Queries, q: int) -> bool:
    """By all points of the box; floats where outputs are well apart, rationals elsewhere."""
    _, points = enumerated(queries.low[q : q + 1], queries.high[q : q + 1])
    rows = np.repeat(queries.rows[q][None], len(points), 0)
    points = points[(row_values(rows, queries.constants[q][None], points) >= 0).all(1)]
    label = int(queries.label[q])
    if label == FREE:
        return len(points) > 0
    values = policy.network.evaluate(points.astype(np.float64))
    chosen = values.argmax(1)
    two = np.sort(values, axis=1)[:, -2:]
    for row in np.flatnonzero(two[:, 1] - two[:, 0] < 1e-6).tolist():
        outputs = policy.network.evaluate_exact([Fraction(v) for v in points[row].tolist()])
        chosen[row] = outputs.index(max(outputs))
    return bool((chosen == label).any())


def program(policy: Policy, queries: Queries, q: int) -> Program:
    """The query with big-M from interval bounds; the label's output is at least every other."""
    made = ProgramBuilder()
    low, high = queries.low[q].astype(float), queries.high[q].astype(float)
    layer_in = [made.add_variable(a, b, Kind.INTEGER) for a, b in zip(low, high, strict=True)]
    for row, constant in zip(queries.rows[q], queries.constants[q].tolist(), strict=True):
        used = np.flatnonzero(row)
        if len(used):
            made.add_row([layer_in[v] for v in used], row[used].astype(float), -constant, np.inf)
    for layer in policy.network.layers:
        up, down = np.maximum(layer.weight, 0), np.minimum(layer.weight, 0)
        low, high = up @ low + down @ high + layer.bias, up @ high + down @ low + layer.bias
        outs = []
        for weight, bias, a, b in zip(layer.weight, layer.bias, low, high, strict=True):
            if not layer.rectified:
                y = made.add_variable(a - 1, b + 1)
                made.add_row([*layer_in, y], [*weight, -1.0], -bias, -bias)
            else:
                y, on = made.add_variable(0, max(b, 0)), made.add_variable(0, 1, Kind.BINARY)
                made.add_row([*layer_in, y], [*-weight, 1.0], bias, np.inf)
                made.add_row([*layer_in, y, on], [*-weight, 1.0, -min(a, 0)], -np.inf, bias - min(a, 0))
                made.add_row([y, on], [1.0, -max(b, 0)], -np.inf, 0)
            outs.append(y)
        layer_in = outs
        if layer.rectified:
            low, high = np.maximum(low, 0), np.maximum(high, 0)
    label = int(queries.label[q])
    if label != FREE:
        for j, y in enumerate(layer_in):
            if j != label:
                made.add_row([layer_in[label], y], [1.0, -1.0], 0, np.inf)
    return made.build()


def solved(solver: str, policy: Policy, queries: Queries, q: int, limit: float) -> dict[str, Any]:
    """The answer of a solver of mixed-integer programs, as `Peers.ask` has it."""
    made = program(policy, queries, q)
    begun = process_time()
    answer = get_solver(solver).solve(made, time_limit=limit)
    spent = process_time() - begun
    said = "sat" if isinstance(answer, Feasible) else "unsat" if isinstance(answer, Infeasible) else "unknown"
    note = "time" if said == "unknown" else ""
    if isinstance(answer, Feasible):
        rows, constants = queries.rows[q].tolist(), queries.constants[q].tolist()
        about = Query(policy, int(queries.label[q]), queries.low[q].tolist(), queries.high[q].tolist(), rows, constants)
        if not about.meets([round(v) for v in answer.point[: len(policy.inputs)]]):
            said, note = "unknown", "a point that does not replay"
    return {"said": said, "note": note, "CPU": spent}


@dataclass
class Tally:
    """What an engine said of the queries of a size."""

    seconds: list[float] = field(default_factory=list)
    unknown: int = 0
    wrong: int = 0


def others_of(given: Sequence[str] | None) -> list[str]:
    """The engines beside ours: those that are asked for, or all that are installed."""
    there = [*(name for name in SOLVERS if get_solver(name).available() is None), *installed()]
    return there if given is None else [name for name in there if name in given]


@on_one_thread
def main(arguments: list[str] | None = None) -> int:
    """Ask, compare, print."""
    parser = argparse.ArgumentParser(prog="python -m experiments.policies.integer_queries", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="queries in all")
    parser.add_argument("--engines", nargs="*", metavar="NAME", help="engines beside ours; all that are installed")
    parser.add_argument("--solved", type=int, default=5, help="queries of each size that go to the others, too")
    parser.add_argument("--sizes", type=int, nargs="+", choices=SIZES, default=SIZES, help="widths of networks")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds of the others for a query")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results/policies"))
    args = parser.parse_args(arguments)
    rng = np.random.default_rng(args.seed)
    others, output = others_of(args.engines), Output(args.out, "integer_queries")
    tallies: dict[tuple[int, str], Tally] = {}
    wrong: list[tuple[Any, ...]] = []
    with Cells(args.out / "integer_queries.db") as cells, Peers() as peers:
        for number in range(-(-args.count // GROUP)):
            width = args.sizes[number % len(args.sizes)]
            policy = random_policy(rng, int(rng.integers(4, 14)), width, int(rng.integers(2, 8)), ties=number % 5 == 0)
            queries = random_queries(rng, policy, GROUP, rows=number % 3)
            engine = QueryEngine(policy, np.random.default_rng(number))
            peers.about(policy.network)
            for q in range(GROUP):
                begun = process_time()
                (sat,), _ = engine.ask(queries.take(np.array([q])))
                replies = {OURS: {"said": "sat" if sat else "unsat", "note": "", "CPU": process_time() - begun}}
                for name in others if len(tallies.get((width, OURS), Tally()).seconds) < args.solved else ():
                    ask = partial(solved, name, policy) if name in SOLVERS else partial(peers.ask, name)
                    shape = [args.seed, list(args.sizes), number, q, name, args.limit]
                    replies[name] = cells.keep(json.dumps(shape), partial(ask, queries, q, args.limit))
                expected = "sat" if truth(policy, queries, q) else "unsat"
                for name, reply in replies.items():
                    tally = tallies.setdefault((width, name), Tally())
                    tally.seconds.append(reply["CPU"])
                    tally.unknown += reply["said"] == "unknown"
                    if reply["said"] not in (expected, "unknown"):
                        tally.wrong += 1
                        wrong.append((name, f"2x{width}", f"{number}.{q}", reply["said"], expected))
    output.head("network", "by", "queries", "unknown", "wrong", "median, CPU ms", "worst, CPU ms")
    for (width, name), tally in sorted(tallies.items()):
        times = f"{1000 * median(tally.seconds):.2f}", f"{1000 * max(tally.seconds):.1f}"
        output.row(f"2x{width}", name, len(tally.seconds), tally.unknown, tally.wrong, *times)
    output.say("")
    if wrong:
        output.head("wrong", "network", "query", "said", "by enumeration")
        for row in wrong:
            output.row(*row)
    output.end()
    return int(any(name == OURS for name, *_ in wrong))


if __name__ == "__main__":
    raise SystemExit(main())
