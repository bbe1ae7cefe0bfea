"""Queries on policies over integers: ``python -m experiments.policies.integer_queries [--count 1000] ...``.

Random queries ("is there a point in this box of integers that meets these rows and for which the policy picks this
label?"), networks of 2x16 to 2x128, 4 to 13 inputs, ties and rows among them. Every answer is compared with the
enumeration of all points; some queries of each size are given to HiGHS and Gurobi as mixed-integer programs. Exit
status 1 where an answer is wrong. A solver cannot say "strictly above": where only a tie meets its program it finds a
point that is none, which is counted beside. Times are CPU times, of all threads.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from statistics import median
from time import process_time

import numpy as np

from tests.random_queries import random_policy, random_queries
from venmas.procedures.predicate_abstraction.states.points import enumerated, row_values
from venmas.procedures.predicate_abstraction.states.policy import Policy
from venmas.procedures.predicate_abstraction.states.queries import FREE, Queries, QueryEngine
from venmas.runtime.blas import on_one_thread
from venmas.solvers import get_solver
from venmas.solvers.milp.program import Feasible, Infeasible, Kind, Program, ProgramBuilder

SIZES = (16, 32, 64, 128)
SOLVERS = ("highs", "gurobi")
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


@on_one_thread
def main() -> int:
    """Ask, compare, print."""
    parser = argparse.ArgumentParser(prog="python -m experiments.policies.integer_queries", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="queries in all")
    parser.add_argument("--solved", type=int, default=5, help="queries of each size that go to the solvers, too")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds of a solver for a query")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    solvers = [name for name in SOLVERS if get_solver(name).available() is None]
    seconds: dict[tuple[int, str], list[float]] = {}
    wrong = dict.fromkeys(("engine", *solvers), 0)
    unknown, total = dict.fromkeys(solvers, 0), 0
    for number in range(-(-args.count // GROUP)):
        width = SIZES[number % len(SIZES)]
        policy = random_policy(rng, int(rng.integers(4, 14)), width, int(rng.integers(2, 8)), ties=number % 5 == 0)
        queries = random_queries(rng, policy, GROUP, rows=number % 3)
        engine = QueryEngine(policy, np.random.default_rng(number))
        for q in range(GROUP):
            total += 1
            begun = process_time()
            (found,), _ = engine.ask(queries.take(np.array([q])))
            took = process_time() - begun
            seconds.setdefault((width, "engine"), []).append(took)
            if solvers and len(same := seconds.setdefault((width, "engine, those of solvers"), [])) < args.solved:
                same.append(took)
            expected = truth(policy, queries, q)
            wrong["engine"] += bool(found) != expected
            for name in solvers:
                if len(seconds.setdefault((width, name), [])) >= args.solved:
                    continue
                made = program(policy, queries, q)
                begun = process_time()
                answer = get_solver(name).solve(made, time_limit=args.limit)
                seconds[width, name].append(process_time() - begun)
                if isinstance(answer, Feasible | Infeasible):
                    wrong[name] += isinstance(answer, Feasible) != expected
                else:
                    unknown[name] += 1
    print("| network | by | queries | median, CPU ms | worst, CPU ms |\n|---|---|---|---|---|")
    for (width, name), times in sorted(seconds.items()):
        if times:
            print(f"| 2x{width} | {name} | {len(times)} | {1000 * median(times):.2f} | {1000 * max(times):.1f} |")
    print(f"\nengine: {wrong['engine']} of {total} wrong")
    for name in solvers:
        print(f"{name}: {wrong[name]} other answers than enumeration (ties, tolerances), {unknown[name]} undecided")
    return int(wrong["engine"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
