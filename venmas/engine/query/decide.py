"""One-step queries: is there an input in given boxes for which a network meets a condition? (VNN-LIB)

Few inputs are searched by bisection with linear bounds (`procedures.branch_and_bound.bisect`), which needs no solver
and rests on bounds with their rounding errors and on rationals; where many inputs make that hopeless, a mixed-integer
program is asked as in mode ``mono``. A *sat* comes with a point at which the condition holds in exact rationals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from venmas.bounds.crown_plan import Plan, plan_of
from venmas.budget import Budget, BudgetError, limited
from venmas.errors import ModelError, UsageError
from venmas.formats.vnnlib.query import Box, Case, Query
from venmas.logic import AX, Not
from venmas.nn import Network
from venmas.procedures.branch_and_bound import falsify, gradient
from venmas.procedures.branch_and_bound.bisect import Bisection, Point
from venmas.procedures.branch_and_bound.query_box import FEW_INPUTS, decide_box, inputs_of, query_system
from venmas.runtime.blas import on_one_thread

_FIRST_SHARE, _FIRST_SECONDS = 0.2, 5.0
"""With more inputs, bisection has this part of the time, at most so many seconds."""


@dataclass
class QueryReport:
    """The answer to a query.

    verdict: ``sat`` with `inputs` and `outputs` (both exact), ``unsat``, ``timeout`` or ``unknown``, the last two with
    a `reason`. enclosed: outputs are those in doubles, and the property was shown in enclosures. deployed: the answer
    is about evaluations in float32, and outputs are of one. basis: what an
    ``unsat`` rests on: ``bounds``, ``exact`` (some boxes were decided in rationals) or ``solver`` (which answers up to
    a tolerance). boxes: how many were bounded, exact: in rationals. closest: where attacks found none, the least by
    which floats missed the property, and the inputs where they did.
    """

    verdict: Literal["sat", "unsat", "timeout", "unknown"] = "unknown"
    inputs: Point = ()
    outputs: Point = ()
    enclosed: bool = False
    deployed: bool = False
    basis: str = ""
    reason: str = ""
    boxes: int = 0
    exact: int = 0
    compiled: bool = False
    seconds: float = 0.0
    closest: tuple[float, tuple[float, ...]] | None = None
    notes: list[str] = field(default_factory=list)


def check_sizes(network: Network, inputs: int, outputs: int, declared: str = "") -> None:
    """Refuse, as `UsageError`, a network of other sizes; declared: its name in a property that gives it one."""
    whose, remedy = f", network {network.name!r}", "the property of this network, or the network of this property"
    if declared:
        whose, remedy = f" of network {declared}, {network!r}", "the file of this network"
    for what, size, given in (("inputs", inputs, network.input_size), ("outputs", outputs, network.output_size)):
        if size != given:
            raise UsageError(f"the property declares {size} {what}{whose} has {given}: give {remedy}")


def shares(networks: Iterable[Network]) -> Iterator[tuple[Network, slice]]:
    """Networks with their parts of the inputs of a query, which follow each other."""
    first = 0
    for network in networks:
        yield network, slice(first, first + network.input_size)
        first += network.input_size


def confirm(query: Query, report: QueryReport) -> None:
    """The counterexample of a ``sat`` meets the property, exactly."""
    if not query.holds(query.at(report.inputs, report.outputs)):
        raise AssertionError("a counterexample does not meet the property")


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
    check_sizes(network, query.inputs, query.outputs)
    report = QueryReport(basis="bounds")
    budget = Budget(timeout)
    run = _Run(network, report, budget, workers, progress, compiled)
    try:
        with limited(budget):
            for case in query.cases:
                if not run.decide(case):
                    break
            else:
                report.verdict = "unsat"
    except BudgetError:
        report.verdict, report.reason = "timeout", f"the time limit of {timeout:g} s was reached"
    except KeyboardInterrupt:
        report.verdict, report.reason = "unknown", "interrupted"
    except MemoryError:
        report.verdict, report.reason = "unknown", "there is not enough memory"
    if report.verdict == "sat":
        report.outputs = network.evaluate_exact(report.inputs)
        confirm(query, report)
    if report.verdict != "unsat":
        report.basis = ""
    report.seconds = budget.spent
    return report


@dataclass
class _Run:
    network: Network
    report: QueryReport
    budget: Budget
    workers: int
    progress: Callable[[QueryReport], None]
    compiled: bool | None

    def decide(self, case: Case) -> bool:
        """True when the case has no counterexample; the report says what else was found."""
        plan = plan_of(self.network, case.condition)
        part = self.budget
        if self.network.input_size > FEW_INPUTS:
            left = self.budget.left
            part = part.within(_FIRST_SECONDS if left is None else min(_FIRST_SECONDS, _FIRST_SHARE * left))
        before = self.report.boxes, self.report.exact

        def tick() -> None:
            self.report.boxes, self.report.exact = before[0] + search.result.boxes, before[1] + search.result.exact
            self.report.seconds = self.budget.spent
            part()
            self.progress(self.report)

        def exact(box: Box, seconds: float) -> tuple[bool, Point | None]:
            return decide_box(self.network, box, case.condition, part, seconds)

        search = Bisection(plan, case.boxes, tick, self.workers, exact, self.compiled)
        try:
            result = search.run(_points)
            why = result.why
        except BudgetError as error:
            if error.budget is not part or part is self.budget:
                raise
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
        left = None if self.budget.left is None else max(0.01, self.budget.left)
        try:
            found = verify(query_system(self.network, case.boxes), AX(Not(case.condition)), mode="mono", timeout=left)
        except ModelError as error:  # of `query_system`, as other systems have no such limits
            self.report.verdict, self.report.reason = "unknown", f"inputs or outputs are too large: {error}"
            return False
        if found.violated and found.witness is not None:
            self.report.verdict, self.report.inputs = "sat", inputs_of(found.witness.initial, self.network.input_size)
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


def _points(plan: Plan, boxes: Sequence[Box], tick: Callable[[], None]) -> Point | None:
    """A point that meets a condition: of many inputs, slopes say more than random steps."""
    point = gradient.search(plan, boxes, tick) if len(boxes[0]) > FEW_INPUTS else None
    return point or falsify.search(plan, boxes, tick)
