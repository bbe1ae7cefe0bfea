"""A query under the rules of VNN-COMP: evaluations in float32 count.

First an attack: the property at a point is what onnxruntime says. An ``unsat`` is of the query with every comparison
loosened by what float32 may change (`venmas.bounds.single`), in any order of operations, so that it holds for the real
function and for every such evaluation. Where that leaves a point, it is run as deployed; else the error is bounded
again, over smaller boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from os import PathLike

from venmas.budget import Budget, BudgetError
from venmas.engine.query.attack import Attack, Hit
from venmas.engine.query.cells import Cell, by_error, halves, over
from venmas.engine.query.decide import QueryReport, check_sizes
from venmas.engine.query.files import run_networks
from venmas.engine.query.joint import check_networks, decide_joint
from venmas.engine.query.products import outputs_of
from venmas.engine.query.relaxed import as_float32, nearest_float32
from venmas.engine.query.replay import TOLERANCE, nearest
from venmas.formats.vnnlib.query import Query
from venmas.nn import Network
from venmas.procedures.branch_and_bound.bisect import Point

_ATTACK = 0.2
"""Seconds of the first attack, and the part of the time so far of later ones."""
_REAL = 0.4
"""Part of the time left for the query of the real functions."""
_SHARE, _FIRST = 0.25, 5.0
"""Part of the time left for a group of cells, twice as much at first; seconds where there is no limit."""
_TURNS, _MOST = 40, 16384
"""How often cells are cut, and how many there are."""
_FALL = 0.95
"""What is left of the greatest error when every input was cut twice; else more cuts are in vain."""
_CREDIT = 3
"""How often a group of cells is cut without closing any part."""
_BASES = ("", "bounds", "exact", "solver")

_EXACT = Fraction(0)


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
    if report.verdict in ("unknown", "timeout") and run.attacks.miss[1]:
        report.closest = run.attacks.miss
    report.deployed, report.seconds = True, budget.spent
    return report


def _decide(run: _Deployed, budget: Budget, workers: int, progress: Callable[[QueryReport], None]) -> QueryReport:
    search = _Search(run, as_float32(run.query), budget, workers, progress)
    cells = [Cell(number, box) for number, case in enumerate(search.query.cases) for box in case.boxes]
    greatest: list[Fraction | float] = []
    for search.turn in range(_TURNS):
        kept: list[Cell] = []
        for group, errors in by_error(run.networks, cells, budget):
            last = max(errors)
            kept += search.left(group, errors) if all(map(isfinite, errors)) else group
            if search.hit is not None:
                return run.found(search.hit)
        if not kept:
            note = (
                f"outputs in float32 differ by at most {search.worst:.1e} where it matters, in any order of operations"
            )
            return QueryReport("unsat", basis=search.basis, notes=[note])
        cells, before = halves(kept), len(greatest) - 2 * len(search.query.cases[0].boxes[0]) - 2
        greatest.append(last)
        if len(cells) > _MOST or (before >= 0 and last > _FALL * greatest[before]):
            break
    return search.report


@dataclass
class _Search:
    """The loosened query over groups of cells.

    report: the last one that left a group open. worst, basis: of those that are closed. hit: a counterexample.
    """

    run: _Deployed
    query: Query
    budget: Budget
    workers: int
    progress: Callable[[QueryReport], None]
    turn: int = 0
    worst: float = 0.0
    basis: str = "bounds"
    report: QueryReport = field(default_factory=lambda: QueryReport("unknown", reason="float32 may overflow"))
    hit: Hit | None = None

    def left(self, group: list[Cell], errors: list[Fraction]) -> list[Cell]:
        """The cells of a group that stay open, the group cut in two as long as that closes parts of it."""
        kept: list[Cell] = []
        waiting = [] if self.closed(group, errors) else [(group, _CREDIT)]
        while waiting and self.hit is None:
            own, credit = waiting.pop()
            if len(own) == 1 or credit == 0:
                kept += own
                continue
            sides = own[: len(own) // 2], own[len(own) // 2 :]
            open_ = [side for side in sides if not self.closed(side, errors)]
            waiting += [(side, _CREDIT if len(open_) == 1 else credit - 1) for side in open_]
        return kept

    def closed(self, group: list[Cell], errors: list[Fraction]) -> bool:
        left = self.budget.left
        seconds = _FIRST * 2**self.turn if left is None else max(0.01, left * (_SHARE if self.turn else 2 * _SHARE))
        report = decide_joint(
            self.run.networks,
            over(self.query, group),
            timeout=seconds,
            workers=self.workers,
            progress=self.progress,
            errors=errors,
        )
        if report.verdict == "unsat":
            self.worst = max(self.worst, *map(float, errors))
            self.basis = max(self.basis, report.basis, key=_BASES.index)
            return True
        if report.verdict == "sat":
            near = self.run.at(report.inputs) or self.run.real(self.budget, self.workers, self.progress)
            tries = self.turn in (0, 1, 3, 7, 15) and self.turn + 1 not in self.run.tried
            self.hit = near or (self.run.attack(self.budget, self.turn + 1) if tries else None)
            size = f"{float(max(errors)):.1e}"
            reason = f"within {size} of the outputs, which float32 may differ by, there is a counterexample"
            report = QueryReport("unknown", reason=f"{reason}, but as deployed none was found")
        self.report = report
        return False


class _Deployed:
    """The networks of files as run in float32, and their query."""

    def __init__(self, paths: Sequence[str | PathLike[str]], networks: Sequence[Network], query: Query) -> None:
        self.paths, self.networks, self.query = paths, networks, query
        self.asked, self.tried = False, set[int]()
        self.attacks = Attack(networks, query, self.shown)

    def attack(self, budget: Budget, seed: int) -> Hit | None:
        self.tried.add(seed)
        seconds = max(_ATTACK, _ATTACK * budget.spent)
        if budget.left is not None:
            seconds = min(seconds, _ATTACK * budget.left)
        return self.attacks.run(budget, seconds, seed)

    def outputs(self, point: Point) -> tuple[Fraction, ...] | None:
        """The answers of the deployed networks; None where one is no finite number."""
        values = run_networks(self.paths, self.networks, self.query, point)[2].tolist()
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
    return tuple(map(nearest_float32, point))
