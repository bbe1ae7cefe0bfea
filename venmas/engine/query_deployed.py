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

from venmas.budget import Budget, BudgetError
from venmas.engine.query import QueryReport, check_sizes
from venmas.engine.query_attack import attack
from venmas.engine.query_cells import Cell, by_error, extent, halves, over
from venmas.engine.query_joint import check_networks, decide_joint
from venmas.engine.query_products import outputs_of
from venmas.engine.query_relaxed import as_float32
from venmas.engine.query_replay import TOLERANCE, nearest
from venmas.formats.vnnlib.reader import Query
from venmas.nn import Network
from venmas.nn.deployed import run_deployed
from venmas.procedures.branch_and_bound.bisect import Point

_ATTACK = 0.2
"""Seconds of the first attack, and the part of the time so far of later ones."""
_REAL = 0.4
"""Part of the time left for the query of the real functions."""
_SHARE, _FIRST = 0.25, 5.0
"""Part of the time left for a group of cells, twice as much at first; seconds where there is no limit."""
_TURNS, _MOST = 40, 16384
"""How often cells are cut, and how many there are."""
_BASES = ("", "bounds", "exact", "solver")

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
    if obstacle := next((o for o in (network.float32_obstacle for network in networks) if o), None):
        return QueryReport("unknown", reason=obstacle, deployed=True)
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
    query, worst, basis = as_float32(run.query), 0.0, "bounds"
    cells = [(number, box) for number, case in enumerate(query.cases) for box in case.boxes]
    whole, report = extent(cells), QueryReport("unknown", reason="float32 may overflow")
    for turn in range(_TURNS):
        kept: list[Cell] = []
        for group, errors in by_error(run.networks, cells, budget):
            if not all(map(isfinite, errors)):
                kept += group
                continue
            left = budget.left
            seconds = _FIRST * 2**turn if left is None else max(0.01, left * (_SHARE if turn else 2 * _SHARE))
            report = decide_joint(
                run.networks, over(query, group), timeout=seconds, workers=workers, progress=progress, errors=errors
            )
            if report.verdict == "unsat":
                worst, basis = max(worst, *map(float, errors)), max(basis, report.basis, key=_BASES.index)
                continue
            hit = run.hit(report, turn, budget, workers, progress)
            if hit is not None:
                return run.found(hit)
            if report.verdict == "sat":
                size = f"{float(max(errors)):.1e}"
                reason = f"within {size} of the outputs, which float32 may differ by, there is a counterexample"
                report = QueryReport("unknown", reason=f"{reason}, but as deployed none was found")
            kept += group
        if not kept:
            note = f"outputs in float32 differ by at most {worst:.1e} where it matters, in any order of operations"
            return QueryReport("unsat", basis=basis, notes=[note])
        cells = halves(kept, whole)
        if len(cells) > _MOST:
            break
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

    def hit(
        self, report: QueryReport, turn: int, budget: Budget, workers: int, progress: Callable[[QueryReport], None]
    ) -> Hit | None:
        """A counterexample near the one of a loosened query."""
        if report.verdict != "sat":
            return None
        near = self.at(report.inputs) or self.real(budget, workers, progress)
        return near or (self.attack(budget, turn + 1) if turn in (0, 1, 3, 7, 15) else None)

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
