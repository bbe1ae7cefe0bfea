"""The solvers by name, ours and those of other packages; solving with the first one that can."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from venmas.errors import Reason, SolverUnavailableError, UsageError
from venmas.runtime import plugins

if TYPE_CHECKING:
    from venmas.solvers.base import Solver
    from venmas.solvers.milp.program import Outcome, Program

log = logging.getLogger(__name__)

AUTO = "auto"
_OWN = {
    "gurobi": ("venmas.solvers.gurobi:GUROBI", "gurobipy"),
    "highs": ("venmas.solvers.highs:HIGHS", "highspy"),
    "scip": ("venmas.solvers.scip:SCIP", "pyscipopt"),
}
"""Name to the module with its attribute, and the package that does the work."""

SOLVERS: tuple[str, ...] = tuple(_OWN)
"""Names of our solvers, in the order in which `auto` tries them; those of other packages come after them."""

PACKAGES: tuple[str, ...] = tuple(package for _, package in _OWN.values())
"""What our solvers are made of."""


def _misfit(name: str, made: object) -> str:
    if name == AUTO:
        return f"the name {AUTO!r} is taken"
    return plugins.has("name", "features", "version", "available", "fits", "solve", "prepared")(name, made)


_SOLVERS: plugins.Registry[Solver] = plugins.Registry(
    "solver", plugins.SOLVERS, {name: place for name, (place, _) in _OWN.items()}, _misfit
)
_REGISTRY = _SOLVERS.loaded


def solver_names() -> tuple[str, ...]:
    """Names of all solvers, in the order in which `auto` tries them."""
    return _SOLVERS.names


def get_solver(name: str) -> Solver:
    """The solver of that name, whether it is installed or not. Raises `UsageError` for an unknown name."""
    try:
        return _SOLVERS.get(name)
    except UsageError as error:
        raise UsageError(f"{error}, or {AUTO}") from None


def solver_order(preference: str = AUTO) -> tuple[Solver, ...]:
    """The solvers to try: those that are there for ``auto``, ours first, else the one that is named.

    Raises `SolverUnavailableError` when the named one, or every one, is not installed or has no licence, and
    `UsageError` for an unknown name.
    """
    if preference != AUTO:
        solver = get_solver(preference)
        problem = solver.available()
        if problem is not None:
            raise SolverUnavailableError(problem)
        return (solver,)
    problems = [(solver, solver.available()) for solver in map(get_solver, solver_names())]
    usable = tuple(solver for solver, problem in problems if problem is None)
    if not usable:
        raise SolverUnavailableError("no solver is usable. " + ". ".join(p for _, p in problems if p))
    return usable


def solve_in_order(
    program: Program, order: Sequence[Solver], time_limit: float | None = None, threads: int = 1
) -> tuple[Outcome, str]:
    """Solve with the first solver that the program fits and that answers; also return the name of that solver.

    A point, a proof and "unbounded" are answers. Programs beyond a licence, failures, lack of memory and points outside
    the tolerance lead on to the next solver, a time limit (s, for all together) or an interrupt does not. When none
    answers, the last `Unknown` that a solver gave is returned, or one with `Reason.LICENCE` if none was even tried.
    """
    from venmas.solvers.milp.program import Unknown

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
