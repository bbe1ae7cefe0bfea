"""The interface of solvers and what they share: reductions before, checks after.

Statuses are mapped conservatively (design S7): only a solver's own "infeasible" is `Infeasible`, only a point that
`Program.violation` accepts is `Feasible`, and everything else is `Unknown` with its reason.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from venmas.errors import Reason
from venmas.solvers.interrupts import takes_interrupts
from venmas.solvers.milp.program import Feasible, Floats, Infeasible, Kind, Outcome, Program, Unknown
from venmas.solvers.milp.reduce import Reduced, lower_indicators, relax, scale_columns, substitute_fixed

TOLERANCE = 1e-5
"""Largest `Program.violation` of a point that may be called feasible."""

SLACK = 2e-6
"""Widening of inequalities before a program reaches a solver: twice the usual feasibility tolerance of solvers."""

INFINITE = 1e20
"""Numbers that solvers take for infinite. A coefficient of that size changes the program, or is refused."""

PRECISE = 1e-9
"""Violation up to which a point is not worth another run."""


@dataclass(frozen=True)
class SizeLimit:
    """The largest program a licence allows: variables, and constraints.

    Constraints are rows and indicators together, one for each side that is finite; an equation is one.
    """

    variables: int
    constraints: int


@dataclass(frozen=True)
class Features:
    """Capabilities of a solver. Without `indicators` they are lowered to big-M rows on the way to it."""

    indicators: bool
    size_limit: SizeLimit | None
    time_limit: bool


class Solver(Protocol):
    """Interface of a solver to the rest of VenMAS."""

    @property
    def name(self) -> str:
        """Name on the command line."""
        ...

    @property
    def features(self) -> Features:
        """Capabilities here, with the licence that is installed."""
        ...

    def version(self) -> str:
        """Version of the installed solver; empty when it is not installed."""
        ...

    def available(self) -> str | None:
        """None when usable, else why not and what to do."""
        ...

    def fits(self, program: Program) -> str | None:
        """None when the program is within the licence, else what is too large."""
        ...

    def solve(self, program: Program, *, time_limit: float | None = None, threads: int = 1) -> Outcome:
        """Find a point: any where there is no objective, else the best one, or the best one found in `time_limit` s."""
        ...

    def prepared(self, program: Program) -> Reduced:
        """The program as the vendor gets it, for bug reports; None where it is found infeasible before that."""
        ...


class BaseSolver(ABC):
    """Everything but the vendor: subclasses give `name`, `features`, `version`, `available` and `_run`."""

    name: str
    slack: float = SLACK

    @property
    @abstractmethod
    def features(self) -> Features:
        """Capabilities here, with the licence that is installed."""

    @abstractmethod
    def version(self) -> str:
        """Version of the installed solver; empty when it is not installed."""

    @abstractmethod
    def available(self) -> str | None:
        """None when usable, else why not and what to do."""

    @abstractmethod
    def _run(self, program: Program, time_limit: float | None, threads: int) -> Outcome:
        """Give a program without fixed variables to the vendor and map its status; may raise what the vendor raises."""

    def fits(self, program: Program) -> str | None:
        """None when the program, fixed variables substituted, is within the licence, else what is too large."""
        limit = self.features.size_limit
        if limit is None or _excess(program, limit) is None:
            return None
        reduced = substitute_fixed(program).program
        excess = None if reduced is None else _excess(reduced, limit)
        return None if excess is None else f"the licence of {self.name} is too small for this program: {excess}"

    def solve(self, program: Program, *, time_limit: float | None = None, threads: int = 1) -> Outcome:
        """Find a point: any where there is no objective, else the best one, or the best one found in `time_limit` s.

        Never raises what a vendor raises. Integer variables of the point are whole numbers where the rows allow it.
        Ctrl-C stops the vendor and raises `KeyboardInterrupt`, as it does everywhere in Python, unless the process
        handles or ignores SIGINT itself.

        The program is solved relaxed by `slack`, so that "infeasible" has something to spare. A point is then solved
        for again in the program as it was given, first with the integer variables where they are; where that fails the
        first point is kept if it violates the program by no more than `TOLERANCE`.
        """
        deadline = None if time_limit is None else time.monotonic() + time_limit
        outcome = self._reduce_and_run(program, self.slack, deadline, threads)
        if not isinstance(outcome, Feasible):
            return outcome
        whole = program.kinds != Kind.CONTINUOUS
        best = _rounded(program, outcome.point)
        if program.violation(best) > PRECISE and np.isfinite(best).all():
            lower, upper = np.where(whole, best, program.lower), np.where(whole, best, program.upper)
            for attempt in (replace(program, lower=lower, upper=upper), program):
                again = self._reduce_and_run(attempt, 0.0, deadline, threads)
                if isinstance(again, Feasible):
                    best = min(best, _rounded(program, again.point), key=program.violation)
                    break
        best = min(best, outcome.point, key=program.violation) if program.violation(best) > TOLERANCE else best
        violation = program.violation(best)
        if violation <= TOLERANCE:
            return Feasible(best)
        return Unknown(Reason.TOLERANCE, f"{self.name} returned a point that violates the program by {violation:.3g}")

    def prepared(self, program: Program) -> Reduced:
        """The program that the vendor gets first, relaxed by `slack`; None where reductions find it infeasible."""
        return self._prepared(program, self.slack)

    def _prepared(self, program: Program, slack: float) -> Reduced:
        lowered = program if self.features.indicators else lower_indicators(program).program
        assert lowered is not None  # lowering never decides a program
        reduced, invert = substitute_fixed(lowered)
        if reduced is None or not reduced.variables:
            return Reduced(reduced, invert)
        if slack:
            relaxed = relax(reduced, slack).program
            assert relaxed is not None
            reduced = relaxed
        scaled, restore = scale_columns(reduced)
        return Reduced(scaled, lambda point: invert(restore(point)))

    def _reduce_and_run(self, program: Program, slack: float, deadline: float | None, threads: int) -> Outcome:
        """Reduce, run the vendor within the deadline (seconds of the monotonic clock), and bring its point back."""
        scaled, back = self._prepared(program, slack)
        if scaled is None:
            return Infeasible()
        if not scaled.variables:
            return Feasible(back(np.empty(0)))
        largest = max((float(np.max(np.abs(c), initial=0.0)) for c in _coefficients(scaled)), default=0.0)
        if largest >= INFINITE:
            problem = f"a coefficient of {largest:.3g}, and solvers take numbers from {INFINITE:g} on for infinite"
            return Unknown(Reason.FAILURE, f"{self.name} was not asked: the program has {problem}")
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return self._unknown(Reason.TIME, "time limit")
        try:
            outcome = self._run(scaled, left, threads)
        except MemoryError as error:
            return Unknown(Reason.MEMORY, f"{self.name} ran out of memory: {error}")
        except Exception as error:
            return Unknown(Reason.FAILURE, f"{self.name} failed: {type(error).__name__}: {error}")
        if isinstance(outcome, Unknown) and outcome.reason is Reason.INTERRUPTED and takes_interrupts():
            raise KeyboardInterrupt
        return Feasible(back(outcome.point)) if isinstance(outcome, Feasible) else outcome

    def _unknown(self, reason: Reason, status: object) -> Unknown:
        return Unknown(reason, f"{self.name} stopped with status {status}")


def row_terms(program: Program, row: int) -> tuple[list[int], Floats]:
    """Columns and coefficients of a row."""
    at = slice(program.indptr[row], program.indptr[row + 1])
    return program.indices[at].tolist(), program.data[at]


def _rounded(program: Program, point: Floats) -> Floats:
    """The point with the integer variables rounded."""
    return np.where(program.kinds != Kind.CONTINUOUS, np.rint(point), point)


def _coefficients(program: Program) -> list[Floats]:
    return [program.data, *(i.coefficients for i in program.implications)]


def _sides_of(lower: Floats, upper: Floats) -> int:
    return int((np.isfinite(lower) & (lower != upper)).sum() + np.isfinite(upper).sum())


def _excess(program: Program, limit: SizeLimit) -> str | None:
    constraints = _sides_of(program.row_lower, program.row_upper)
    constraints += sum(len(sides(i.lower, i.upper)) for i in program.implications)
    if program.variables > limit.variables:
        return f"{program.variables} variables, {limit.variables} are allowed"
    if constraints > limit.constraints:
        return f"{constraints} constraints, {limit.constraints} are allowed"
    return None


def sides(lower: float, upper: float) -> list[tuple[str, float]]:
    """Senses and right-hand sides of ``lower <= row <= upper``: one for an equation, else one for each finite side."""
    if lower == upper:
        return [("=", float(lower))]
    return [(sense, float(side)) for sense, side in ((">", lower), ("<", upper)) if np.isfinite(side)]
