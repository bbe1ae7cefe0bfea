"""When a witness shows that a solver's "infeasible" was wrong: find the program, and save it for a bug report.

The stream of subproblems is made once more. Each program is pinned to the witness's initial state, which leaves little
to decide; where the pinned one has a point, the program has it, too. The solver is then asked for the whole program
again, and only if it still says "infeasible" is there something to report. The file holds what the solver was given
(reduced, relaxed and scaled, see `BaseSolver.prepared`), and the point as comments.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from time import monotonic

import numpy as np

from venmas.bounds.truth import deep_runs
from venmas.budget import Budget, BudgetError
from venmas.logic.linear import format_number
from venmas.procedures.milp.encoding import Strategy, Subproblem, Task, encode
from venmas.solvers import get_solver, solver_order
from venmas.solvers.base import Solver
from venmas.solvers.milp.lp_format import to_lp
from venmas.solvers.milp.program import Feasible, Floats, Infeasible, NotFiniteError, Program
from venmas.solvers.milp.terms import Term

_FEASIBLE = 1e-6
"""Largest violation of a point that shows a program feasible: the tolerance that solvers claim for theirs."""


def save_contradicted(task: Task, initial: Mapping[str, Fraction], solvers: Sequence[str], budget: Budget) -> str:
    """Find the program of `task` that has the run from `initial` as a point, and that a solver calls infeasible.

    solvers: names of those that answered; budget: what the search may take.
    Returns what to tell, with the name of the file, or why there is none.
    """
    deadline = budget.deadline
    # a monolithic search may have gone on path by path
    strategies: list[Strategy] = ["compositional"]
    if task.strategy == "monolithic":
        strategies.insert(0, "monolithic")
    try:
        with deep_runs(task.target), np.errstate(over="ignore", invalid="ignore"):
            for subproblem in (s for strategy in strategies for s in encode(replace(task, strategy=strategy), budget)):
                budget()
                if isinstance(subproblem, Subproblem) and (
                    said := _contradicted(task, subproblem, initial, solvers, deadline)
                ):
                    return said
    except (BudgetError, OverflowError, NotFiniteError, OSError) as error:
        return f"the program was not saved: {error}"
    return "the program was not saved: asked again, no solver calls one infeasible that has this run as a point"


def _contradicted(
    task: Task, subproblem: Subproblem, initial: Mapping[str, Fraction], solvers: Sequence[str], deadline: float
) -> str:
    program = subproblem.program
    pinned = _pinned(subproblem, initial)
    point = None if pinned is None else _point(pinned, deadline)
    if point is None or program.violation(point) > _FEASIBLE:
        return ""
    for solver in (get_solver(name) for name in solvers):
        if solver.fits(program) is not None:
            continue
        answer = solver.solve(program, time_limit=max(0.0, deadline - monotonic()))
        return _saved(task, program, point, initial, solver) if isinstance(answer, Infeasible) else ""
    return ""


def _pinned(subproblem: Subproblem, initial: Mapping[str, Fraction]) -> Program | None:
    """The program with the initial state fixed; None where it is not inside the bounds."""
    program = subproblem.program
    lower, upper = program.lower.copy(), program.upper.copy()
    for name, term in subproblem.initial.items():
        value = float(initial[name])
        slack = _FEASIBLE * max(1.0, abs(value))
        column = _column(term)
        low, high = (term.constant, term.constant) if column is None else (lower[column], upper[column])
        if not low - slack <= value <= high + slack:
            return None
        if column is not None:
            lower[column] = upper[column] = min(max(value, low), high)
    return replace(program, lower=lower, upper=upper)


def _column(term: Term) -> int | None:
    """The column that stands for a variable of the initial state, None where it is a constant."""
    return next(iter(term.columns), None)


def _point(pinned: Program, deadline: float) -> Floats | None:
    """A point by the first solver that finds one."""
    for solver in solver_order():
        if solver.fits(pinned) is None:
            answer = solver.solve(pinned, time_limit=max(0.0, deadline - monotonic()))
            if isinstance(answer, Feasible):
                return answer.point
    return None


def _saved(task: Task, program: Program, point: Floats, initial: Mapping[str, Fraction], solver: Solver) -> str:
    """Write the file; what to tell."""
    given, back = solver.prepared(program)
    if given is None:
        given, kept, who = program, point, "a reduction of VenMAS, before the solver,"
    else:
        free = np.isnan(back(np.full(given.variables, np.nan)))
        kept, who = point[free] / back(np.ones(given.variables))[free], f"{solver.name} {solver.version()}"
    state = ", ".join(f"{name} = {format_number(value)}" for name, value in initial.items())
    comments = [
        f"{who} calls this program infeasible ({task.encoding} encoding).",
        f"It has the point below, which violates nothing in it by more than {given.violation(kept):.3g}.",
        f"system {task.system.name}; initial state {state}; looked for: {str(task.target)[:500]}",
        *(f"x{column} = {value!r}" for column, value in enumerate((kept + 0.0).tolist())),
    ]
    lines = [line for comment in comments for line in comment.splitlines()]
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix=f"venmas-{solver.name}-", suffix=".lp", delete=False
    ) as file:
        file.write(to_lp(given, lines))
    return f"{who} calls the program in {file.name} infeasible, which has a point: please attach it"
