"""The standard problems that every solver interface must pass, and generators of random ones with known answers."""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from venmas.errors import Reason
from venmas.solvers.milp.program import Feasible, Infeasible, Kind, Outcome, Program, ProgramBuilder, Unknown

INF = float("inf")
TRAPS = json.loads((Path(__file__).parent / "highs_traps.json").read_text())


@dataclass(frozen=True)
class Problem:
    """A program and what a solver must say: `check` raises AssertionError otherwise."""

    name: str
    make: Callable[[], Program]
    check: Callable[[Program, Outcome], None]


def feasible(program: Program, outcome: Outcome) -> None:
    assert isinstance(outcome, Feasible), outcome
    assert program.violation(outcome.point) <= 1e-5


def infeasible(program: Program, outcome: Outcome) -> None:
    assert isinstance(outcome, Infeasible), outcome


def unbounded(program: Program, outcome: Outcome) -> None:
    assert isinstance(outcome, Unknown), outcome
    assert outcome.reason is Reason.UNBOUNDED


def value(expected: float) -> Callable[[Program, Outcome], None]:
    def check(program: Program, outcome: Outcome) -> None:
        feasible(program, outcome)
        assert abs(program.objective @ outcome.point - expected) <= 1e-5

    return check


def coordinates(*expected: float) -> Callable[[Program, Outcome], None]:
    def check(program: Program, outcome: Outcome) -> None:
        feasible(program, outcome)
        np.testing.assert_allclose(outcome.point, expected, atol=1e-5)

    return check


def small(variables, rows, indicators=(), objective=None) -> Program:
    """Variables as (lower, upper[, kind]), rows as (columns, coefficients, lower, upper), indicators likewise."""
    builder = ProgramBuilder()
    for variable in variables:
        builder.add_variable(*variable)
    for row in rows:
        builder.add_row(*row)
    for indicator in indicators:
        builder.add_indicator(*indicator)
    if objective is not None:
        builder.maximize(range(len(objective)), objective)
    return builder.build()


def trap(name: str) -> tuple[Program, np.ndarray]:
    """A program that HiGHS 1.15 calls infeasible with some settings, and a point of it."""
    case = TRAPS[name]
    kinds = [Kind.CONTINUOUS] * len(case["lower"])
    for kind, columns in ((Kind.BINARY, case["binaries"]), (Kind.INTEGER, case.get("integers", ()))):
        for column in columns:
            kinds[column] = kind
    rows = [
        (
            row["columns"],
            row["coefficients"],
            -INF if row["lower"] is None else row["lower"],
            INF if row["upper"] is None else row["upper"],
        )
        for row in case["rows"]
    ]
    return small(list(zip(case["lower"], case["upper"], kinds, strict=True)), rows), np.array(case["point"])


def many_rows(count: int) -> Program:
    rows = [([i, i + 1], [1, 1], -INF, 1) for i in range(count)]
    return small([(0, 1, Kind.BINARY)] * (count + 1), rows)


def hard(size: int = 60) -> Program:
    """Market split (Cornuéjols, Dawande 1998): equations over binaries that branch and bound takes very long for."""
    rng = np.random.default_rng(7)
    weights = rng.integers(0, 100, (7, size))
    rows = [(np.arange(size), w, w.sum() // 2, w.sum() // 2) for w in weights]
    return small([(0, 1, Kind.BINARY)] * size, rows)


B, I = Kind.BINARY, Kind.INTEGER  # noqa: E741

PROBLEMS = [
    Problem("feasible", lambda: small([(0, 1), (0, 1)], [([0, 1], [1, 1], 1.5, INF)]), feasible),
    Problem("infeasible", lambda: small([(0, 1), (0, 1)], [([0, 1], [1, 1], 2.5, INF)]), infeasible),
    Problem("no_rows", lambda: small([(2, 3), (0, 1, B)], []), feasible),
    Problem("no_variables", lambda: small([], []), feasible),
    Problem("empty_row_holds", lambda: small([(0, 1)], [([], [], -1, 1)]), feasible),
    Problem("empty_row_violated", lambda: small([(0, 1)], [([], [], 1, 2)]), infeasible),
    Problem("crossed_bounds", lambda: small([(1, 0), (0, 1)], [([0, 1], [1, 1], 0, INF)]), infeasible),
    Problem("crossed_row", lambda: small([(0, 1), (0, 1)], [([0, 1], [1, 1], 1.5, 0.5)]), infeasible),
    Problem("free_variables", lambda: small([(-INF, INF), (-INF, INF)], [([0, 1], [1, -1], 3, 3)]), feasible),
    Problem(
        "unbounded", lambda: small([(0, INF), (0, INF)], [([0, 1], [1, -1], -INF, 1)], objective=[1, 0]), unbounded
    ),
    Problem(
        "unbounded_integer",
        lambda: small([(0, INF, I), (0, 1)], [([0, 1], [1, 1], 0, INF)], objective=[1, 0]),
        unbounded,
    ),
    Problem(
        "infeasible_with_ray",
        lambda: small([(0, INF), (0, INF)], [([0, 1], [1, -1], 3, INF), ([0, 1], [1, -1], -INF, 1)]),
        infeasible,
    ),
    Problem("integral", lambda: small([(0, 10, I), (0, 10, I)], [([0, 1], [2, 6], 7, 7)]), infeasible),
    Problem("integral_box", lambda: small([(0.2, 0.8, I)], []), infeasible),
    Problem(
        "integral_rounds_bounds", lambda: small([(0.5, 1.5, I), (0, 5)], [([0, 1], [1, -1], 0, 0)]), coordinates(1, 1)
    ),
    Problem("ranged", lambda: small([(0, 9, I), (0, 9, I)], [([0, 1], [3, 5], 7, 7.5)], objective=[1, 0]), infeasible),
    Problem(
        "ranged_value", lambda: small([(0, 9, I), (0, 9, I)], [([0, 1], [3, 5], 7, 9)], objective=[1, 1]), value(3)
    ),
    Problem("repeated_columns", lambda: small([(0, 4)], [([0, 0], [1, 1], 6, INF)], objective=[-1]), value(-3)),
    Problem(
        "indicator_true",
        lambda: small([(1, 1, B), (0, 4)], [([1], [1], 2, INF)], [(0, True, [1], [1], -INF, 1, None)]),
        infeasible,
    ),
    Problem(
        "indicator_false",
        lambda: small([(0, 1, B), (2, 4)], [], [(0, False, [1], [1], -INF, 1, None)]),
        lambda p, o: (feasible(p, o), coordinates(1, o.point[1])(p, o)),
    ),
    Problem(
        "indicator_both",
        lambda: small(
            [(0, 1, B), (0, 4), (0, 4)],
            [([1, 2], [1, 1], 5, INF)],
            [(0, True, [1], [1], -INF, 2, None), (0, False, [2], [1], -INF, 3, None)],
            objective=[0, 2, 1],
        ),
        value(11),
    ),
    Problem(
        "indicator_equation",
        lambda: small([(0, 1, B), (-4, 4)], [], [(0, True, [1], [2], 3, 3, None)], objective=[9, -1]),
        value(7.5),
    ),
    Problem(
        "indicator_ranged",
        lambda: small([(0, 1, B), (-4, 4)], [], [(0, False, [1], [1], -1, 2, None)], objective=[-9, -1]),
        value(1),
    ),
    Problem(
        "indicator_lower_side",
        lambda: small([(0, 1, B), (-4, 4)], [], [(0, True, [1], [1], 3, INF, None)], objective=[9, -1]),
        value(6),
    ),
    Problem(
        "indicator_excluded_binary",
        lambda: small([(0, 1, B), (1, 1)], [], [(0, True, [1], [1], 2, 3, None), (0, False, [1], [1], -INF, 0, None)]),
        infeasible,
    ),
    Problem(
        "indicator_free_row_with_activity",
        lambda: small(
            [(0, 1, B), (-INF, INF)],
            [([1], [1], -5, 5)],
            [(0, True, [1], [1], 4, INF, (-5.0, 5.0))],
            objective=[9, -1],
        ),
        value(5),
    ),
    Problem(
        "equality_fixed",
        lambda: small([(0.1, 0.1), (0.2, 0.2), (0, 1)], [([0, 1, 2], [1, 1, -1], 0, 0)]),
        coordinates(0.1, 0.2, 0.3),
    ),
    Problem("all_fixed", lambda: small([(1, 1, B), (2, 2)], [([0, 1], [2, -1], 0, 0)]), coordinates(1, 2)),
    Problem("all_fixed_violated", lambda: small([(1, 1, B), (2, 2)], [([0, 1], [2, -1], 1, 1)]), infeasible),
    Problem(
        "tiny_coefficients",
        lambda: small([(0, 1e9), (0, 1)], [([0, 1], [1e-8, -1], 0, 0)], objective=[0, 1]),
        value(1),
    ),
    Problem(
        "tiny_big_m",
        lambda: small([(0, 1, B), (-1e-6, 1), (0, 1)], [([1, 2], [1, -1], 0, 0), ([2, 0], [1, -1e-6], -INF, 0)]),
        feasible,
    ),
    Problem(
        "objective", lambda: small([(0, 9, I), (0, 9)], [([0, 1], [1, 2], -INF, 7.5)], objective=[2, 3]), value(14.75)
    ),
    *(Problem(f"trap_{name}", lambda name=name: trap(name)[0], feasible) for name in TRAPS),
]


def relu_program(
    rng: np.random.Generator, indicators: bool, violated: bool = False
) -> tuple[Program, np.ndarray | None]:
    """A random ReLU network over a box as a program, with many units that are stable up to about 1e-6 or exactly.

    Also asks that a random combination of the outputs is at least what it is at one point of the box, which is returned
    as a point of the program; with `violated`, that it is above its interval bound by 0.01: then there is no point.
    """
    sizes = [
        int(rng.integers(1, 4)),
        *(int(n) for n in rng.integers(2, 7, rng.integers(1, 4))),
        int(rng.integers(1, 3)),
    ]
    centre, radius = rng.uniform(-1, 1, sizes[0]), rng.choice([0, 1e-7, 1e-6, 1e-3, 0.1, 1], sizes[0])
    low, high = centre - radius, centre + radius
    x = np.clip(rng.uniform(low, high), low, high)
    builder = ProgramBuilder()
    columns = [builder.add_variable(*ends) for ends in zip(low, high, strict=True)]
    point = list(x)
    for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes)):
        last = layer == len(sizes) - 2
        W = rng.normal(size=(fan_out, fan_in)) / np.sqrt(fan_in) * rng.choice([0.5, 1, 2])
        b = rng.normal(size=fan_out) * 0.3
        z_low, z_high = np.minimum(W * low, W * high).sum(1) + b, np.maximum(W * low, W * high).sum(1) + b
        if not last:
            which, eps = rng.random(fan_out), 10.0 ** rng.uniform(-8, -5, fan_out) * rng.choice([1, 1, 1, 0], fan_out)
            shift = np.where(which < 0.3, -z_low - eps, np.where(which < 0.6, -z_high + eps, 0.0))
            b, z_low, z_high = b + shift, z_low + shift, z_high + shift
        z = W @ x + b
        z_low, z_high = np.minimum(z_low, z), np.maximum(z_high, z)  # rounding
        if last:
            break
        units = []
        for j in range(fan_out):
            y = builder.add_variable(max(z_low[j], 0), max(z_high[j], 0))
            d = builder.add_variable(0, 1, Kind.BINARY)
            terms, row = [y, *columns], [1.0, *-W[j]]
            lowest, highest = min(z_low[j], 0), max(z_high[j], 0)
            if indicators:
                builder.add_indicator(d, True, terms, row, b[j], b[j], (-max(0.0, z_high[j]) + b[j], b[j] - lowest))
                builder.add_indicator(d, False, [y], [1.0], 0, 0, (0, highest))
                builder.add_row(terms, row, b[j], INF)
            else:
                builder.add_row(terms, row, b[j], INF)
                builder.add_row([*terms, d], [*row, -lowest], -INF, b[j] - lowest)
                builder.add_row([y, d], [1.0, -highest], -INF, 0)
            units.append(y)
            point += [max(z[j], 0.0), float(z[j] > 0)]
        columns, x, low, high = units, np.maximum(z, 0), np.maximum(z_low, 0), np.maximum(z_high, 0)
    outputs = [builder.add_variable(*ends) for ends in zip(z_low, z_high, strict=True)]
    for j, y in enumerate(outputs):
        builder.add_row([y, *columns], [1.0, *-W[j]], b[j], b[j])
    point += list(z)
    d = rng.normal(size=len(z))
    if violated:
        builder.add_row(outputs, d, np.maximum(d * z_low, d * z_high).sum() + 0.01, INF)
        return builder.build(), None
    builder.add_row(outputs, d, d @ z - rng.choice([0, 1e-6, 1e-3]), d @ z + rng.choice([1e-6, INF]))
    return builder.build(), np.array(point)
