"""Closed loops unrolled as one query for Marabou: the networks k times, with the plant between them.

Run as a program with a query as JSON, it solves it in this process, which may crash, and prints the answer: a clip is
two ReLUs, an argmax a disjunction over the advisories; other loops are written from their program. So that Marabou is
not given what a user would see at once, the advisories that interval bounds exclude are left out of the disjunctions,
with the networks that only they would need.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np

from experiments.benchmarks.machine import DATA, peak_mb
from experiments.published.checks import ACCELERATIONS, COMPLIES
from venmas import load_network
from venmas.logic import nnf, parse
from venmas.model.transform.program import AND, Program
from venmas.model.transform.unroll import unroll
from venmas.nn import Network

WEAKEST = {1: 1, 2: 2, 3: 0, 4: 2, 5: 0, 6: 2, 7: 0, 8: 2, 9: 0}
Box = tuple[float, float, float, float]
SLACK = 1e-4
"""Numbers of the plant are given as intervals of this half width (ft/s, ft/s^2), see `UNIT`."""
UNIT = 16000.0
"""All units of a network of VerticalCAS are multiplied by this, which changes no argmax: maraboupy 2.0 takes what
varies by less than 1e-5 for fixed, as 4 ft of 16000 do in some units, and then says ``unsat`` even of no property."""


class Query:
    """A query under construction; rows are ``sum c v <= d`` or ``== d`` as (terms, d)."""

    def __init__(self) -> None:
        from maraboupy.MarabouNetwork import MarabouNetwork

        self.query = MarabouNetwork()

    def variable(self, low: float | None = None, high: float | None = None) -> int:
        v = int(self.query.getNewVariable())
        if low is not None:
            self.query.setLowerBound(v, low)
        if high is not None:
            self.query.setUpperBound(v, high)
        return v

    def equal(self, terms: dict[int, float], constant: float) -> None:
        if len(terms) == 1:
            self.at_most(terms, constant)
            self.at_most({v: -c for v, c in terms.items()}, -constant)
            return
        self.query.addEquality(list(terms), list(terms.values()), constant)

    def at_most(self, terms: dict[int, float], constant: float) -> None:
        """A row of one term becomes a bound: as a row, one with a negative coefficient makes maraboupy 2.0 wrong."""
        if len(terms) == 1:
            ((v, c),) = terms.items()
            lows, highs, at = self.query.lowerBounds, self.query.upperBounds, constant / c
            if c > 0:
                self.query.setUpperBound(v, min(at, highs.get(v, at)))
            else:
                self.query.setLowerBound(v, max(at, lows.get(v, at)))
            return
        self.query.addInequality(list(terms), list(terms.values()), constant)

    def relu(self, before: int) -> int:
        after = self.variable(0)
        self.query.addRelu(before, after)
        return after

    def network(
        self,
        network: Network,
        inputs: Sequence[int],
        scale: Sequence[float] = (),
        last: float | None = None,
        unit: float = 1.0,
    ) -> list[int]:
        """The outputs times `unit`; scale: the network sees inputs times this; last: a number as one more input."""
        values = list(inputs)
        for number, layer in enumerate(network.layers):
            weight, shift, sums = layer.weight, layer.bias, list[int]()
            if number == 0 and last is not None:
                weight, shift = weight[:, :-1], shift + weight[:, -1] * last
            if number == 0 and scale:
                weight = weight * np.array(scale)
            weight = weight * unit if number == 0 else weight
            for row, bias in zip(weight.tolist(), (shift * unit).tolist(), strict=True):
                v = self.variable()
                self.equal({**dict(zip(values, row, strict=True)), v: -1.0}, -bias)
                sums.append(v)
            values = [self.relu(v) for v in sums] if layer.activation == "relu" else sums
        return values

    def any_of(self, cases: list[list[tuple[dict[int, float], str, float]]]) -> None:
        """One of several conjunctions of rows (terms, "EQ", "LE" or "GE", constant)."""
        from maraboupy import MarabouCore, MarabouUtils

        if len(cases) == 1:
            for terms, kind, constant in cases[0]:
                if kind == "GE":
                    self.at_most({v: -c for v, c in terms.items()}, -constant)
                else:
                    (self.equal if kind == "EQ" else self.at_most)(terms, constant)
            return
        made = []
        for case in cases:
            rows = []
            for terms, kind, constant in case:
                row = MarabouUtils.Equation(getattr(MarabouCore.Equation, kind))
                row.addAddend(1.0, self.sum(terms))
                row.setScalar(constant)
                rows.append(row)
            made.append(rows)
        self.query.addDisjunctionConstraint(made)

    def sum(self, terms: dict[int, float]) -> int:
        """A variable that equals a sum, so that disjunctions have bounds only."""
        if list(terms.values()) == [1.0]:
            return next(iter(terms))
        v = self.variable()
        self.equal({**terms, v: -1.0}, 0)
        return v

    def solve(self, inputs: Sequence[int], seconds: int) -> tuple[str, list[float], float]:
        """The answer, the values of `inputs` where it is ``sat``, and how long it took (s)."""
        from maraboupy import Marabou

        self.query.inputVars, self.query.outputVars = [np.array(inputs)], []
        options = Marabou.createOptions(verbosity=0, timeoutInSeconds=seconds)
        begun = perf_counter()
        # a null redirect, the default of verbose=False, would lose this process's stdout
        answer, values, _ = Marabou.solve_query(self.query.getInputQuery(), filename="", verbose=False, options=options)
        return str(answer), [values[v] for v in inputs] if answer == "sat" else [], perf_counter() - begun


def double_integrator(
    name: str, box: list[list[float]], k: int, violating: list[tuple[int, str, float]], limit: int
) -> Any:
    """Is a state after k steps beyond one of the faces (axis from 0, "below" or "above", where)?"""
    folder = DATA / "double_integrator" / "nfl" / name
    network = load_network(folder / "model.json")
    q = Query()
    x = start = [q.variable(*ends) for ends in box]
    for _ in range(k):
        (z,) = q.network(network, x)
        ends = []
        for shift in (1.0, -1.0):
            v = q.variable()
            q.equal({z: 1.0, v: -1.0}, -shift)
            ends.append(q.relu(v))
        low, high = ends  # u = low - high - 1
        after = [q.variable(), q.variable()]
        q.equal({x[0]: 1.0, x[1]: 1.0, low: 0.5, high: -0.5, after[0]: -1.0}, 0.5)
        q.equal({x[1]: 1.0, low: 1.0, high: -1.0, after[1]: -1.0}, 1.0)
        x = after
    rows = [
        ({x[axis]: 1.0 if side == "below" else -1.0}, at if side == "below" else -at) for axis, side, at in violating
    ]
    q.any_of([[(terms, "LE", constant)] for terms, constant in rows])
    return q.solve(start, limit)


def vcas(climb0: float, k: int, pilot: str, limit: int) -> Any:
    """Is |h| <= 100 after k steps, with one pilot?"""
    networks = {i: load_network(DATA / "vcas" / f"VertCAS_noResp_pra0{i}_v9_20HU_200.onnx") for i in range(1, 10)}
    pulls = {i: a[1 if pilot == "middle" else WEAKEST[i]] for i, a in ACCELERATIONS.items()}
    q = Query()
    h, climb, adv = q.variable(-133, -129), q.variable(climb0 - SLACK, climb0 + SLACK), q.variable(1, 1)
    start = h
    boxes: dict[int, Box] = {1: (-133, -129, climb0, climb0)}
    for step in range(k):
        tau = (25 - step - 20) / 40
        after = [q.variable(-3000, 3000), q.variable(-2500, 2500), q.variable(1, 9)]
        pull = q.variable(-11, 11)
        q.equal({h: 1.0, climb: -1.0, pull: -0.5, after[0]: -1.0}, 0)
        q.equal({climb: 1.0, pull: 1.0, after[1]: -1.0}, 0)
        cases, new = [], dict[int, Box]()
        for p, box in boxes.items():
            scores = q.network(networks[p], (h, climb), (1 / 16000, 1 / 5000), tau, UNIT)
            for i in possible(networks[p], box, tau):
                best = [({scores[j]: 1.0, scores[i - 1]: -1.0}, "LE", 0.0) for j in range(9) if j != i - 1]
                for a, conditions in choices(p, i, pulls[i], box, climb):
                    fixed = [({adv: 1.0}, "EQ", float(p)), ({after[2]: 1.0}, "EQ", float(i))]
                    fixed += [({pull: 1.0}, "LE", a + SLACK), ({pull: 1.0}, "GE", a - SLACK)]
                    cases.append(fixed + best + conditions)
                    moved = (box[0] - box[3] - a / 2, box[1] - box[2] - a / 2, box[2] + a, box[3] + a)
                    old = new.get(i, moved)
                    joined = [min(old[n], moved[n]) if n % 2 == 0 else max(old[n], moved[n]) for n in range(4)]
                    new[i] = (joined[0], joined[1], joined[2], joined[3])
        q.any_of(cases)
        boxes = new
        h, climb, adv = after
    q.at_most({h: 1.0}, 100.0)
    q.at_most({h: -1.0}, 100.0)
    return q.solve([start], limit)


def program(asked: Program, limit: int) -> tuple[str, list[float], float]:
    """Does some input meet the condition of a program? Strict rows are taken for weak ones; it has no others.

    Each part of an OR is a query of its own: maraboupy 2.0 finds points that do not exist where it is a disjunction.
    """
    spent, answer = 0.0, "unsat"
    for groups in disjuncts(asked):
        if spent >= limit:
            return "TIMEOUT", [], spent
        found, point, seconds = _conjunction(asked, groups, max(1, round(limit - spent)))
        spent += seconds
        if found == "sat":
            return found, point, spent
        answer = found if found != "unsat" else answer
    return answer, [], spent


def _conjunction(asked: Program, groups: Sequence[int], limit: int) -> tuple[str, list[float], float]:
    q = Query()
    start = [q.variable(float(a), float(b)) for a, b in zip(asked.low, asked.high, strict=True)]
    after = [start]
    for layer in asked.layers[: 1 + max((asked.groups[g].layer for g in groups), default=-1)]:
        now = []
        for row, bias, relu in zip(layer.weights.tolist(), layer.bias.tolist(), layer.relu.tolist(), strict=True):
            v = q.variable()
            q.equal({**{u: c for u, c in zip(after[-1], row, strict=True) if c}, v: -1.0}, -bias)
            now.append(q.relu(v) if relu else v)
        after.append(now)
    for row in (row for g in groups for row in asked.groups[g].rows):
        values = after[row.layer + 1] if row.outputs else []
        pairs = [*zip(values, row.outputs, strict=True), *zip(start, row.inputs, strict=True)]
        q.at_most({v: float(c) for v, c in pairs if c}, -float(row.constant))
    return q.solve(start, limit)


def disjuncts(asked: Program) -> list[tuple[int, ...]]:
    """The condition as an OR of ANDs of groups."""
    stack: list[list[tuple[int, ...]]] = []
    codes = iter(asked.formula)
    for code in codes:
        if code >= 0:
            stack.append([(code,)])
            continue
        count = next(codes)
        parts = stack[len(stack) - count :]
        found = (
            [sum(some, ()) for some in product(*parts)] if code == AND else [case for part in parts for case in part]
        )
        stack[len(stack) - count :] = [found]
    return stack[0]


def loop(limit: int, **which: Any) -> Any:
    """A loop of `experiments.benchmarks.loops`, unrolled."""
    from experiments.benchmarks.loops import Case, built, generated

    system, formula = generated(Case(**which["case"])) if "case" in which else built(which["name"], which["formula"])
    target = nnf(parse(str(formula), system.vocabulary), negate=True)
    asked = unroll(system, system.regions[0], target)
    if isinstance(asked, str):
        raise SystemExit(asked)
    return program(asked, limit)


def choices(p: int, i: int, pull: float, box: Box, climb: int) -> list[tuple[float, list[Any]]]:
    """The pilot's accelerations with the conditions on the climb rate under which they apply."""
    low, high = COMPLIES.get(i, (np.inf, -np.inf)) if p == i else (np.inf, -np.inf)
    found: list[tuple[float, list[Any]]] = []
    if max(low, box[2]) <= min(high, box[3]):
        rows = [({climb: 1.0}, "LE", high), ({climb: -1.0}, "LE", -low)]
        found.append((0.0, [row for row in rows if abs(row[2]) < 1e9]))
    # not complying; the edge is left in, as Marabou has no strict rows
    if box[2] < low:
        found.append((pull, [({climb: 1.0}, "LE", low)] if low < 1e9 else []))
    elif box[3] > high:
        found.append((pull, [({climb: -1.0}, "LE", -high)] if high > -1e9 else []))
    return found


def possible(network: Network, box: Box, tau: float) -> list[int]:
    """The advisories that interval bounds, with differences of scores in the last layer, do not exclude."""
    low = np.array([box[0] / 16000, box[2] / 5000, tau])
    high = np.array([box[1] / 16000, box[3] / 5000, tau])
    *hidden, last = network.layers
    for layer in hidden:
        plus, minus = np.maximum(layer.weight, 0), np.minimum(layer.weight, 0)
        ends = plus @ low + minus @ high + layer.bias, plus @ high + minus @ low + layer.bias
        low, high = np.maximum(ends[0], 0), np.maximum(ends[1], 0)
    rows, bias = last.weight[:, None] - last.weight[None], last.bias[:, None] - last.bias[None]
    most = np.maximum(rows, 0) @ high + np.minimum(rows, 0) @ low + bias  # of score i less score j
    return [i + 1 for i in range(9) if (most[i] >= -1e-9).all()]


KINDS = {"double_integrator": double_integrator, "vcas": vcas, "loop": loop}


def main() -> None:
    sys.modules["tensorflow"] = None  # type: ignore[assignment]  # maraboupy would load it for nothing
    asked = json.loads(sys.argv[1])
    kind = asked.pop("kind")
    answer, point, seconds = KINDS[kind](**asked)
    print(json.dumps({"answer": answer, "point": point, "seconds": seconds, "mb": peak_mb()}))


if __name__ == "__main__":
    main()
