"""A query under the rules of VNN-COMP: evaluations in float32 count.

First an attack: the property at a point is what onnxruntime says. An ``unsat`` is of the query with every comparison
loosened by what float32 may change (`venmas.bounds.single`), in any order of operations, so that it holds for the real
function and for every such evaluation. Where that leaves a point, it is run as deployed; else the error is bounded
again, over smaller boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isfinite
from os import PathLike
from typing import TypeAlias

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.bounds.single import deployed
from venmas.budget import Budget, BudgetError
from venmas.engine.query import QueryReport, check_sizes
from venmas.engine.query_attack import attack
from venmas.engine.query_joint import check_networks, decide_joint
from venmas.engine.query_products import outputs_of
from venmas.engine.query_relaxed import as_float32
from venmas.engine.query_replay import TOLERANCE, nearest
from venmas.formats.vnnlib.reader import Query
from venmas.nn import Network
from venmas.nn.deployed import run_deployed
from venmas.procedures.branch_and_bound.bisect import Point
from venmas.procedures.branch_and_bound.falsify import floats

_ATTACK = 0.2
"""Seconds of the first attack, and the part of the time so far of later ones."""
_REAL = 0.4
"""Part of the time left for the query of the real functions."""
_CELLS = (1, 256, 4096)
"""Boxes over which the error is bounded, one try after the other."""
_SPLIT = 64
"""Cells that are cut at once."""

_EXACT = Fraction(0)

Hit: TypeAlias = tuple[Point, tuple[Fraction, ...]]
"""Inputs and outputs of a counterexample."""


def decide_deployed(
    paths: Sequence[str | PathLike[str]],
    networks: Sequence[Network],
    query: Query,
    *,
    timeout: float | None = None,
    workers: int = 1,
    progress: Callable[[QueryReport], None] = lambda report: None,
) -> QueryReport:
    """Decide a query about the networks of files, in the order of the query, as deployed.

    The other arguments are those of `decide_joint`. Inputs and outputs of a ``sat`` are float32 numbers, those of
    onnxruntime where it is installed, else of numpy.
    """
    if query.networks:
        check_networks(query, networks)
    else:
        check_sizes(networks[0], query.inputs, query.outputs)
    budget, report = Budget(timeout), QueryReport()
    run = _Deployed(paths, networks, query)
    try:
        hit = run.attack(budget, 0)
        report = run.found(hit) if hit else _decide(run, budget, workers, progress)
    except BudgetError:
        report = QueryReport("timeout", reason=f"the time limit of {timeout:g} s was reached")
    except KeyboardInterrupt:
        report = QueryReport("unknown", reason="interrupted")
    report.deployed, report.seconds = True, budget.spent
    return report


def _decide(run: _Deployed, budget: Budget, workers: int, progress: Callable[[QueryReport], None]) -> QueryReport:
    query, cells = as_float32(run.query), _Cells(run.networks, as_float32(run.query))
    report = QueryReport("unknown")
    for number, count in enumerate(_CELLS):
        errors = cells.errors(count, budget)
        if not all(isfinite(error) for error in errors):
            reason = "float32 may overflow, or the network has operations that runtimes evaluate in different ways"
            return QueryReport("unknown", reason=next((o for o in run.obstacles() if o), reason))
        exact = [Fraction(error) for error in errors]
        left = budget.left
        share = None if left is None else max(0.01, left if number + 1 == len(_CELLS) else 0.5 * left)
        report = decide_joint(run.networks, query, timeout=share, workers=workers, progress=progress, errors=exact)
        if report.verdict == "unsat":
            report.notes.append(f"outputs in float32 differ by at most {max(errors):.1e}, in any order of operations")
            return report
        if report.verdict != "sat":
            continue
        hit = run.at(report.inputs) or run.real(budget, workers, progress) or run.attack(budget, number + 1)
        if hit is not None:
            return run.found(hit)
        reason = f"within {max(errors):.1e} of the outputs, which float32 may differ by, there is a counterexample"
        report = QueryReport("unknown", reason=f"{reason}, but as deployed none was found")
    return report


class _Deployed:
    """The networks of files as run in float32, and their query."""

    def __init__(self, paths: Sequence[str | PathLike[str]], networks: Sequence[Network], query: Query) -> None:
        self.paths, self.networks, self.query, self.asked = paths, networks, query, False

    def attack(self, budget: Budget, seed: int) -> Hit | None:
        seconds = max(_ATTACK, _ATTACK * budget.spent)
        if budget.left is not None:
            seconds = min(seconds, _ATTACK * budget.left)
        return attack(self.networks, self.query, self.shown, budget, seconds, seed)

    def obstacles(self) -> list[str | None]:
        return [network.float32_obstacle for network in self.networks]

    def outputs(self, point: Point) -> tuple[Fraction, ...] | None:
        """The answers of the deployed networks; None where one is no finite number."""
        values: list[float] = []
        first = 0
        for path, network in zip(self.paths, self.networks, strict=True):
            own = point[first : first + network.input_size]
            first += network.input_size
            values += [float(v) for v in run_deployed(path, network, own)[2]]
        return tuple(map(Fraction, values)) if all(map(isfinite, values)) else None

    def shown(self, point: Point, slack: Fraction = _EXACT) -> tuple[Fraction, ...] | None:
        """The outputs with which the property holds at a point, rounded to float32, or None."""
        outputs = self.outputs(point)
        holds = outputs is not None and self.query.holds(self.query.at(_singles(point), outputs), slack)
        return outputs if holds else None

    def at(self, point: Point, slack: Fraction = _EXACT) -> Hit | None:
        outputs = self.shown(point, slack)
        return None if outputs is None else (point, outputs)

    def real(self, budget: Budget, workers: int, progress: Callable[[QueryReport], None]) -> Hit | None:
        """A counterexample of the real functions that, as deployed, misses no comparison by more than the rules let."""
        if self.asked:
            return None
        self.asked, left = True, budget.left
        share = None if left is None else max(0.01, _REAL * left)
        report = decide_joint(self.networks, self.query, timeout=share, workers=workers, progress=progress)
        return self.at(report.inputs, TOLERANCE) if report.verdict == "sat" else None

    def found(self, hit: Hit) -> QueryReport:
        inputs, outputs = _singles(hit[0]), hit[1]
        report = QueryReport("sat", inputs=inputs, outputs=outputs)
        if not any(network.smooth for network in self.networks):
            exact = outputs_of(self.networks, inputs)
            if not self.query.holds(self.query.at(inputs, exact)):
                shown = ", ".join(repr(nearest(v)) for v in exact)
                report.notes.append(f"in real numbers it does not hold there: the outputs are {shown}")
        return report


def _singles(point: Point) -> Point:
    """The point as networks read it, in float32."""
    return tuple(Fraction(float(np.float32(float(v)))) for v in point)


class _Cells:
    """Boxes that cover the inputs of a query, and the errors of float32 over each."""

    def __init__(self, networks: Sequence[Network], query: Query) -> None:
        self.networks = networks
        self.low, self.high = floats([box for case in query.cases for box in case.boxes])
        if len(self.low) > _CELLS[-1]:
            self.low, self.high = self.low.min(0, keepdims=True), self.high.max(0, keepdims=True)
        self.whole = np.maximum(self.high.max(0) - self.low.min(0), 1e-300) if len(self.low) else np.ones(0)
        self.error = np.zeros((0, sum(network.output_size for network in networks)))

    def errors(self, count: int, budget: Budget) -> list[float]:
        """Greatest errors by output, after cuts to at least `count` cells where the error is greatest."""
        if len(self.error) < len(self.low):
            self.error = self.bounded(self.low, self.high)
        while 0 < len(self.low) < count:
            budget()
            worst = np.argsort(-self.error.max(1))[:_SPLIT]
            low, high = self.low[worst], self.high[worst]
            axis, row = ((high - low) / self.whole).argmax(1), np.arange(len(worst))
            middle = 0.5 * low[row, axis] + 0.5 * high[row, axis]
            if (high[row, axis] == low[row, axis]).all():
                break
            below, above = high.copy(), low.copy()
            below[row, axis] = above[row, axis] = middle
            low, high = np.concatenate([low, above]), np.concatenate([below, high])
            kept = np.delete(np.arange(len(self.low)), worst)
            self.low, self.high = np.concatenate([self.low[kept], low]), np.concatenate([self.high[kept], high])
            self.error = np.concatenate([self.error[kept], self.bounded(low, high)])
        return [float(v) for v in self.error.max(0, initial=0.0)]

    def bounded(self, low: Floats, high: Floats) -> Floats:
        """Errors (B, out) of all networks, each over its part of boxes (B, n)."""
        parts, first = [], 0
        for network in self.networks:
            own = slice(first, first := first + network.input_size)
            turns = range(0, len(low), _SPLIT)
            if network.float32_obstacle:
                parts.append(np.full((len(low), network.output_size), np.inf))
                continue
            parts.append(
                np.concatenate(
                    [deployed(network, low[i : i + _SPLIT, own], high[i : i + _SPLIT, own]).error for i in turns]
                )
            )
        return np.concatenate(parts, 1)
