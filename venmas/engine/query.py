"""One-step queries: is there an input in given boxes for which a network meets a condition? (VNN-LIB)

Few inputs are searched by bisection with linear bounds (`search.network.bisect`), which needs no solver and rests on
bounds with their rounding errors and on rationals; where many inputs make that hopeless, a mixed-integer program is
asked as in mode ``mono``. A *sat* comes with a point at which the condition holds in exact rationals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from time import monotonic
from typing import TYPE_CHECKING, Literal

import numpy as np

from venmas.bounds.crown_plan import plan_of
from venmas.budget import limited
from venmas.engine.blas import on_one_thread
from venmas.errors import ModelError, UsageError
from venmas.formats.vnnlib import Box, Case, Query
from venmas.logic import AX, Formula, Not
from venmas.nn import Network
from venmas.search.network.bisect import Bisection, Point

if TYPE_CHECKING:  # what most queries do without is imported when it is needed
    from venmas.model import System

FEW_INPUTS = 12
"""Inputs up to which bisection alone is asked."""
_FIRST_SHARE, _FIRST_SECONDS = 0.2, 5.0
"""With more inputs, bisection has this part of the time, at most so many seconds."""
_LARGEST = 10**99


@dataclass
class QueryReport:
    """The answer to a query.

    verdict: ``sat`` with `inputs` and `outputs` (both exact), ``unsat``, ``timeout`` or ``unknown``, the last two with
    a `reason`. basis: what an ``unsat`` rests on: ``bounds``, ``exact`` (some boxes were decided in rationals) or
    ``solver`` (which answers up to a tolerance). boxes: how many were bounded, exact: in rationals.
    """

    verdict: Literal["sat", "unsat", "timeout", "unknown"] = "unknown"
    inputs: Point = ()
    outputs: Point = ()
    basis: str = ""
    reason: str = ""
    boxes: int = 0
    exact: int = 0
    compiled: bool = False
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)


class _TimeoutError(Exception):
    pass


class _EnoughError(Exception):
    pass


@on_one_thread
def decide_query(
    network: Network,
    query: Query,
    *,
    timeout: float | None = None,
    workers: int = 1,
    progress: Callable[[QueryReport], None] = lambda report: None,
    compiled: bool | None = None,
) -> QueryReport:
    """Decide a query about a network.

    timeout: seconds. workers: threads of bisection. progress: called between batches. compiled: use numba (None: where
    it pays). Raises `UsageError` where network and query have different sizes. Ctrl-C is an ``unknown``.
    """
    for what, asked, given in (
        ("inputs", query.inputs, network.input_size),
        ("outputs", query.outputs, network.output_size),
    ):
        if asked != given:
            raise UsageError(
                f"the property declares {asked} {what}, network {network.name!r} has {given}: give the property of "
                "this network, or the network of this property"
            )
    begun = monotonic()
    report = QueryReport(basis="bounds")
    run = _Run(network, report, None if timeout is None else begun + timeout, workers, progress, compiled, begun)
    try:
        with limited(run.deadline, run.tick):
            for case in query.cases:
                if not run.decide(case):
                    break
            else:
                report.verdict = "unsat"
    except _TimeoutError:
        report.verdict, report.reason = "timeout", f"the time limit of {timeout:g} s was reached"
    except KeyboardInterrupt:
        report.verdict, report.reason = "unknown", "interrupted"
    except MemoryError:
        report.verdict, report.reason = "unknown", "there is not enough memory"
    if report.verdict == "sat":
        report.outputs = network.evaluate_exact(report.inputs)
        names = [*(f"X_{i}" for i in range(query.inputs)), *(f"Y_{i}" for i in range(query.outputs))]
        if not query.holds(dict(zip(names, (*report.inputs, *report.outputs), strict=True))):
            raise AssertionError("a counterexample does not meet the property")
    if report.verdict != "unsat":
        report.basis = ""
    report.seconds = monotonic() - begun
    return report


@dataclass
class _Run:
    network: Network
    report: QueryReport
    deadline: float | None
    workers: int
    progress: Callable[[QueryReport], None]
    compiled: bool | None
    begun: float

    def tick(self) -> None:
        now = monotonic()
        if self.deadline is not None and now > self.deadline:
            raise _TimeoutError
        self.report.seconds = now - self.begun
        self.progress(self.report)

    def decide(self, case: Case) -> bool:
        """True when the case has no counterexample; the report says what else was found."""
        plan = plan_of(self.network, case.condition)
        until = np.inf
        if self.network.input_size > FEW_INPUTS:
            until = monotonic() + _FIRST_SECONDS
            if self.deadline is not None:
                until = min(until, monotonic() + _FIRST_SHARE * (self.deadline - monotonic()))

        before = self.report.boxes, self.report.exact

        def tick() -> None:
            self.report.boxes, self.report.exact = before[0] + search.result.boxes, before[1] + search.result.exact
            self.tick()
            if monotonic() > until:
                raise _EnoughError

        def exact(box: Box, seconds: float) -> tuple[bool, Point | None]:
            return exactly(self.network, box, case.condition, tick, seconds)

        search = Bisection(plan, case.boxes, tick, self.workers, exact, self.compiled)
        try:
            result = search.run()
            why = result.why
        except _EnoughError:
            result = search.result
            why = f"{self.network.input_size} inputs are too many for bisection"
        self.report.boxes, self.report.exact = before[0] + result.boxes, before[1] + result.exact
        self.report.compiled |= result.compiled
        if result.exact and self.report.basis == "bounds":
            self.report.basis = "exact"
        if result.point is not None:
            self.report.verdict, self.report.inputs = "sat", result.point
            return False
        return result.proved or self.ask_solver(case, why)

    def ask_solver(self, case: Case, why: str) -> bool:
        from venmas.engine.verify import verify

        self.report.notes.append(f"{why}: a mixed-integer program is asked")
        left = None if self.deadline is None else max(0.01, self.deadline - monotonic())
        try:
            found = verify(
                question(self.network, case.boxes), AX(Not(case.condition)), mode="mono", timeout=left, isolated=True
            )
        except ModelError as error:  # of `question`, as other systems have no such limits
            self.report.verdict, self.report.reason = "unknown", f"inputs or outputs are too large: {error}"
            return False
        if found.violated and found.witness is not None:
            self.report.verdict, self.report.inputs = "sat", _inputs(found.witness.initial, self.network.input_size)
            return False
        if found.satisfied:
            if found.basis == "solver":
                self.report.basis = "solver"
            return True
        if found.reason == "interrupted":
            raise KeyboardInterrupt
        self.report.verdict = "timeout" if found.reason == "time" else "unknown"
        self.report.reason = f"{found.reason}: {found.message}"
        return False


def exactly(
    network: Network, box: Box, condition: Formula, tick: Callable[[], None], seconds: float
) -> tuple[bool, Point | None]:
    """The search in rationals on a box, for some seconds: could it decide, and where is the condition met?

    It does not where inputs or outputs are beyond the numbers that a system may have.
    """
    from venmas.engine.certify import prove

    limit = monotonic() + seconds

    def limited() -> None:
        tick()
        if monotonic() > limit:
            raise _LimitError

    try:
        proof = prove(question(network, (box,)), AX(Not(condition)), limited)
    except (_LimitError, ModelError):
        return False, None
    if proof.witness is not None:
        return True, _inputs(proof.witness.initial, len(box))
    return proof.complete, None


class _LimitError(Exception):
    pass


def question(network: Network, boxes: tuple[Box, ...]) -> System:
    """A system that holds the inputs and takes one step to the outputs: ``AX condition`` asks about them."""
    from venmas.model import System, apply_network

    system = System("query")
    ranges = [(min(box[i][0] for box in boxes), max(box[i][1] for box in boxes)) for i in range(network.input_size)]
    x = [system.real(f"X_{i}", low, high) for i, (low, high) in enumerate(ranges)]
    y = [system.real(f"Y_{i}", -_LARGEST, _LARGEST) for i in range(network.output_size)]
    system.branch("step", dict(zip(y, apply_network(network, x), strict=True)))
    for box in boxes:
        sides = [(v >= low) & (v <= high) for v, (low, high) in zip(x, box, strict=True)]
        system.initial(*sides, *(v == 0 for v in y))
    return system


def _inputs(state: object, count: int) -> Point:
    return tuple(Fraction(state[f"X_{i}"]) for i in range(count))  # type: ignore[index]
