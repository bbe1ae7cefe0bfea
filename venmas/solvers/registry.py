"""Finding solvers by name, and solving with the first one that can."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from venmas.errors import Reason, SolverUnavailableError, UsageError
from venmas.milp.program import Outcome, Program, Unknown
from venmas.solvers.base import Solver
from venmas.solvers.gurobi import Gurobi
from venmas.solvers.highs import Highs
from venmas.solvers.scip import Scip

log = logging.getLogger(__name__)

_REGISTRY: dict[str, Solver] = {solver.name: solver for solver in (Gurobi(), Highs(), Scip())}

SOLVERS: tuple[str, ...] = tuple(_REGISTRY)
"""Names of all solvers, in the order in which `auto` tries them."""

AUTO = "auto"


def get_solver(name: str) -> Solver:
    """The solver of that name, whether it is installed or not. Raises `UsageError` for an unknown name."""
    if name not in _REGISTRY:
        raise UsageError(f"unknown solver {name!r}: choose one of {', '.join((AUTO, *SOLVERS))}")
    return _REGISTRY[name]


def solver_order(preference: str = AUTO) -> tuple[Solver, ...]:
    """The solvers to try: those that are there for ``auto`` (Gurobi, HiGHS, SCIP), else the one that is named.

    Raises `SolverUnavailableError` when the named one, or every one, is not installed or has no licence, and
    `UsageError` for an unknown name.
    """
    if preference != AUTO:
        solver = get_solver(preference)
        problem = solver.available()
        if problem is not None:
            raise SolverUnavailableError(problem)
        return (solver,)
    problems = {solver: solver.available() for solver in _REGISTRY.values()}
    found = tuple(solver for solver, problem in problems.items() if problem is None)
    if not found:
        raise SolverUnavailableError("no solver is usable. " + ". ".join(p for p in problems.values() if p))
    return found


def solve_in_order(
    program: Program, order: Sequence[Solver], time_limit: float | None = None, threads: int = 1
) -> tuple[Outcome, str]:
    """Solve with the first solver that the program fits and that answers; also return the name of that solver.

    A point, a proof and "unbounded" are answers. Programs beyond a licence, failures, lack of memory and points outside
    the tolerance lead on to the next solver, a time limit (s, for all together) or an interrupt does not. When none
    answers, the last `Unknown` that a solver gave is returned, or one with `Reason.LICENCE` if none was even tried.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    outcome: Outcome = Unknown(Reason.FAILURE, "no solver was given")
    name = ""
    tried = False
    for solver in order:
        excess = solver.fits(program)
        if excess is not None:
            log.info("%s", excess)
            if not tried:
                outcome, name = Unknown(Reason.LICENCE, excess), solver.name
            continue
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        outcome, name, tried = solver.solve(program, time_limit=left, threads=threads), solver.name, True
        if not isinstance(outcome, Unknown) or outcome.reason in _FINAL:
            break
        log.warning("%s", outcome.message)
    return outcome, name


_FINAL = (Reason.TIME, Reason.INTERRUPTED, Reason.UNBOUNDED)
