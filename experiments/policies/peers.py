"""The engines that Vinzent, Steinmetz, Hoffmann (ICAPS 2022, section 6 and Table 1) compare, for single queries.

    z3              Base: integers, ReLU by if-then-else, everything to Z3
    marabou+z3      the relaxation to Marabou first; what it does not exclude to Z3
    marabou+z3 (b)  the same, activations that Marabou's bounds fix being fixed for Z3 (Mar+Z3(Mar))
    marabou bnb     branch and bound around the relaxation, without Z3 (BnB(Mar))
    marabou         the relaxation alone (Mar): it excludes, or it does not know

``sat`` is said with an integer point only that meets the rows and for which the policy picks the label, in rationals.
Marabou computes in floats: points that do not replay are no answers, and its ``unsat`` is what it says.

Run as a module this is a process that is sent a policy and queries, a line of JSON each, and answers each with a line:
Marabou may end the process that calls it. The engines need the extra ``peers``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, floor
from time import monotonic, process_time
from typing import Any, TextIO

import numpy as np

from venmas.nn.network import relu_network
from venmas.procedures.predicate_abstraction.states.policy import Policy

Box = tuple[list[int], list[int]]
WHOLE = 1e-6
"""How near to an integer a value of Marabou counts as one."""


@dataclass(frozen=True)
class Query:
    """An integer point in low..high that meets ``rows @ x + constants >= 0``, of which the policy picks the label?"""

    policy: Policy
    label: int
    low: list[int]
    high: list[int]
    rows: list[list[int]]
    constants: list[int]

    def meets(self, point: list[int]) -> bool:
        """Exactly."""
        x = np.array([point], dtype=np.int64)
        inside = all(a <= v <= b for a, v, b in zip(self.low, point, self.high, strict=True))
        values = np.array(self.rows, dtype=np.int64).reshape(-1, len(point)) @ x[0] + np.array(self.constants)
        return inside and bool((values >= 0).all()) and (self.label < 0 or int(self.policy.choose(x)[0]) == self.label)


@dataclass(frozen=True)
class Reply:
    """said: ``sat`` (with a point that replays), ``unsat`` or ``unknown``, and why it is unknown."""

    said: str
    point: list[int] | None = None
    note: str = ""


OVER = Reply("unknown", note="time")
Engine = Callable[[Query, float], Reply]


def base(query: Query, end: float, phases: dict[tuple[int, int], bool] | None = None) -> Reply:
    """Z3, until a moment of the clock; phases: units (layer, place) that are known to be active, or not."""
    import z3

    xs = [z3.Int(f"x{i}") for i in range(len(query.low))]
    solver = z3.Solver()
    solver.set("timeout", max(1, int(1000 * (end - monotonic()))))
    for x, a, b in zip(xs, query.low, query.high, strict=True):
        solver.add(x >= a, x <= b)
    for row, constant in zip(query.rows, query.constants, strict=True):
        solver.add(z3.Sum([c * x for c, x in zip(row, xs, strict=True) if c]) + constant >= 0)
    values = [z3.ToReal(x) for x in xs]
    for number, layer in enumerate(query.policy.network.layers if query.label >= 0 else ()):
        sums = []
        for place, (row, bias) in enumerate(zip(layer.exact_weight, layer.exact_bias, strict=True)):
            unit = z3.Real(f"u{number}_{place}")
            solver.add(unit == z3.Sum([z3.Q(*c.as_integer_ratio()) * v for c, v in zip(row, values, strict=True) if c])
                       + z3.Q(*bias.as_integer_ratio()))  # fmt: skip
            phase = (phases or {}).get((number, place))
            if not layer.rectified or phase:
                sums.append(unit)
            else:
                sums.append(z3.RealVal(0) if phase is False else z3.If(unit >= 0, unit, z3.RealVal(0)))
        values = sums
    if query.label >= 0:
        own = values[query.label]
        solver.add(*[own > v if j < query.label else own >= v for j, v in enumerate(values) if j != query.label])
    answer = str(solver.check())
    if answer != "sat":
        return Reply(answer, note="time" if answer == "unknown" else "")
    model = solver.model()
    point = [model.eval(x, model_completion=True).as_long() for x in xs]
    return Reply("sat", point) if query.meets(point) else Reply("unknown", note="a point that does not replay")


class Relaxation:
    """The query over the reals, for Marabou; a label is to be at least every other one (it has no strict rows)."""

    def __init__(self, query: Query, box: Box) -> None:
        from experiments.benchmarks.marabou_queries import Query as Network

        self.made, layers = Network(), query.policy.network.layers
        self.inputs = [self.made.variable(a, b) for a, b in zip(*box, strict=True)]
        for row, constant in zip(query.rows, query.constants, strict=True):
            if any(row):
                self.made.at_most({v: -float(c) for v, c in zip(self.inputs, row, strict=True) if c}, float(constant))
        self.units: dict[int, tuple[int, int]] = {}
        if query.label >= 0:
            before = len(self.inputs)
            outputs = self.made.network(query.policy.network, self.inputs)
            for number, layer in enumerate(layers[:-1]):  # sums of a layer, then what follows them
                self.units |= {before + i: (number, i) for i in range(layer.out_size)}
                before += 2 * layer.out_size
            for j, v in enumerate(outputs):
                if j != query.label:
                    self.made.at_most({v: 1.0, outputs[query.label]: -1.0}, 0.0)

    def solve(self, end: float) -> tuple[str, list[float]]:
        """``unsat``, or ``sat`` with a point, or another word."""
        left = end - monotonic()
        if left <= 0:
            return "TIMEOUT", []
        said, values, _ = self.made.solve(self.inputs, max(1, ceil(left)))
        return said, values

    def phases(self) -> dict[tuple[int, int], bool]:
        """Units whose activation Marabou's bounds fix."""
        from maraboupy import Marabou

        found: dict[tuple[int, int], bool] = {}
        said, bounds, _ = self.made.query.calculateBounds(verbose=False, options=Marabou.createOptions(verbosity=0))
        for v, unit in self.units.items() if said != "unsat" else ():
            low, high = bounds[v]
            if low > WHOLE or high < -WHOLE:
                found[unit] = low > 0
        return found


def relaxed(query: Query, end: float) -> Reply:
    """Marabou alone."""
    said, values = Relaxation(query, (query.low, query.high)).solve(end)
    if said == "unsat":
        return Reply("unsat")
    if said != "sat":
        return OVER
    point = [round(v) for v in values]
    return Reply("sat", point) if query.meets(point) else Reply("unknown", note="a point of the relaxation")


def then_z3(query: Query, end: float, fixed: bool) -> Reply:
    """What Marabou does not decide to Z3, with its fixed activations or without."""
    first = relaxed(query, end)
    if first.said != "unknown" or first is OVER:
        return first
    return base(query, end, Relaxation(query, (query.low, query.high)).phases() if fixed else None)


def bnb(query: Query, end: float) -> Reply:
    """Branch and bound (section 6.4): a value that is no integer is cut between its neighbours.

    Where all are integers and the point does not replay (a tie, an error of floats), the widest side is cut at it.
    """
    waiting = [(query.low, query.high)]
    while waiting:
        low, high = waiting.pop()
        said, values = Relaxation(query, (low, high)).solve(end)
        if said == "unsat":
            continue
        if said != "sat":
            return OVER
        point = [min(max(round(v), a), b) for v, a, b in zip(values, low, high, strict=True)]
        if query.meets(point):
            return Reply("sat", point)
        off = [abs(v - p) for v, p in zip(values, point, strict=True)]
        place = int(np.argmax(off))
        below = floor(values[place])
        if off[place] <= WHOLE:
            place = int(np.argmax(np.subtract(high, low)))
            below = min(point[place], high[place] - 1)
        if low[place] < high[place]:
            waiting.append(([*low[:place], below + 1, *low[place + 1 :]], high))
            waiting.append((low, [*high[:place], below, *high[place + 1 :]]))
    return Reply("unsat")


ENGINES: dict[str, Engine] = {
    "z3": base,
    "marabou": relaxed,
    "marabou+z3": lambda query, end: then_z3(query, end, False),
    "marabou+z3 (b)": lambda query, end: then_z3(query, end, True),
    "marabou bnb": bnb,
}


def installed() -> list[str]:
    """The engines whose solvers are there."""
    from importlib.util import find_spec

    solvers = {"z3": "z3", "marabou": "maraboupy"}
    return [name for name in ENGINES if all(find_spec(m) for word, m in solvers.items() if word in name)]


def answers(lines: Iterator[str], out: TextIO) -> None:
    """Serve: ``{"weights", "biases"}`` is a policy, ``{"engine", "limit", ..}`` a query about the one before."""
    policy: Policy | None = None
    for line in lines:
        sent: dict[str, Any] = json.loads(line)
        if "weights" in sent:
            network = relu_network(sent["weights"], sent["biases"])
            policy = Policy(network, range(network.input_size))
            continue
        assert policy is not None
        engine, limit = ENGINES[sent.pop("engine")], sent.pop("limit")
        begun = process_time()
        reply = engine(Query(policy, **sent), monotonic() + limit)
        told = {"said": reply.said, "point": reply.point, "note": reply.note, "CPU": process_time() - begun}
        print(json.dumps(told), file=out, flush=True)


if __name__ == "__main__":
    sys.modules["tensorflow"] = None  # type: ignore[assignment]  # maraboupy would load it for nothing
    answers(iter(sys.stdin), sys.stdout)
