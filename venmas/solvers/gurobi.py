"""Gurobi. The licence that comes with the pip package is limited in size; the limit is probed, not assumed.

Gurobi 13 with that licence refuses more than 2000 variables or more than 2000 linear constraints and indicators
together; a ranged row counts as one more variable, so that such a row is given as two inequalities here, and each side
of an indicator is one indicator. On the random programs that `highs` describes Gurobi was never wrong.
"""

from __future__ import annotations

import importlib.util
import os
from functools import lru_cache
from typing import Any

import numpy as np

from venmas.errors import Reason
from venmas.solvers.base import BaseSolver, Features, SizeLimit, row_terms, sides
from venmas.solvers.milp.program import Feasible, Infeasible, Kind, Outcome, Program

_PIP_LIMIT = 2000


class Gurobi(BaseSolver):
    """Interface to Gurobi through gurobipy."""

    name = "gurobi"

    @property
    def features(self) -> Features:
        """Indicators; a size limit when the licence has one."""
        limited = self.available() is None and _size_limited()
        limit = SizeLimit(variables=_PIP_LIMIT, constraints=_PIP_LIMIT) if limited else None
        return Features(indicators=True, size_limit=limit, time_limit=True)

    def version(self) -> str:
        """Version of the installed Gurobi; empty when it is not installed."""
        if importlib.util.find_spec("gurobipy") is None:
            return ""
        import gurobipy

        return ".".join(map(str, gurobipy.gurobi.version()))

    def available(self) -> str | None:
        """None when gurobipy is installed and finds a licence."""
        if importlib.util.find_spec("gurobipy") is None:
            return "Gurobi is not installed: run `pip install gurobipy` (limited in size)"
        problem = _licence_problem(os.getpid())
        return (
            problem
            and f"Gurobi finds no licence ({problem}): see https://www.gurobi.com/licenses, or use --solver highs"
        )

    def _run(self, program: Program, time_limit: float | None, threads: int) -> Outcome:
        import gurobipy

        try:
            with gurobipy.Model(env=_environment(os.getpid())) as model:
                return self._solve(model, program, time_limit, threads)
        except gurobipy.GurobiError as error:
            code = gurobipy.GRB.Error
            reasons = {code.OUT_OF_MEMORY: Reason.MEMORY, code.SIZE_LIMIT_EXCEEDED: Reason.LICENCE}
            reasons[code.NO_LICENSE] = Reason.LICENCE
            return self._unknown(reasons.get(error.errno, Reason.FAILURE), f"error {error.errno}: {error}")

    def _solve(self, model: Any, program: Program, time_limit: float | None, threads: int) -> Outcome:
        """Fill a model, optimise it and map its status."""
        from gurobipy import GRB, LinExpr

        model.Params.Threads = threads
        model.Params.IntegralityFocus = 1
        model.Params.FeasibilityTol = 1e-7
        model.Params.MIPGap = 1e-9
        if time_limit is not None:
            model.Params.TimeLimit = time_limit
        if program.objective is None:
            model.Params.SolutionLimit = 1
        types = {Kind.CONTINUOUS: "C", Kind.INTEGER: "I", Kind.BINARY: "B"}
        x = model.addMVar(
            program.variables, lb=program.lower, ub=program.upper, vtype=[types[Kind(kind)] for kind in program.kinds]
        ).tolist()
        for row in range(program.rows):
            columns, coefficients = row_terms(program, row)
            expression = LinExpr(coefficients.tolist(), [x[c] for c in columns])
            for sense, bound in sides(program.row_lower[row], program.row_upper[row]):
                model.addLConstr(expression, sense, bound)
        for i in program.implications:
            expression = LinExpr(i.coefficients.tolist(), [x[c] for c in i.columns])
            for sense, bound in sides(i.lower, i.upper):
                model.addGenConstrIndicator(x[i.binary], i.value, expression, sense, bound)
        if program.objective is not None:
            model.setObjective(LinExpr(program.objective.tolist(), x), GRB.MAXIMIZE)
        model.optimize()
        if model.Status == GRB.INF_OR_UNBD:
            model.Params.DualReductions = 0
            model.optimize()
        if model.Status == GRB.INFEASIBLE:
            return Infeasible()
        stopped = (GRB.OPTIMAL, GRB.SOLUTION_LIMIT, GRB.SUBOPTIMAL, GRB.TIME_LIMIT, GRB.INTERRUPTED)
        if model.Status in stopped and model.SolCount:
            return Feasible(np.array(model.getAttr("X", x), dtype=np.float64))
        reasons = {
            GRB.TIME_LIMIT: Reason.TIME,
            GRB.MEM_LIMIT: Reason.MEMORY,
            GRB.UNBOUNDED: Reason.UNBOUNDED,
            GRB.INF_OR_UNBD: Reason.UNBOUNDED,
            GRB.INTERRUPTED: Reason.INTERRUPTED,
        }
        return self._unknown(reasons.get(model.Status, Reason.FAILURE), model.Status)


@lru_cache(maxsize=1)
def _environment(process: int) -> Any:
    """One silent environment a process; keyed by the process because one that was forked must not be used."""
    import gurobipy

    return gurobipy.Env(params={"OutputFlag": 0})


@lru_cache(maxsize=1)
def _licence_problem(process: int) -> str | None:
    import gurobipy

    try:
        _environment(process)
    except gurobipy.GurobiError as error:
        return str(error)
    return None


@lru_cache(maxsize=1)
def _size_limited() -> bool:
    """Offer a program one variable larger than the licence of the pip package allows."""
    import gurobipy

    try:
        with gurobipy.Model(env=_environment(os.getpid())) as model:
            model.addMVar(_PIP_LIMIT + 1)
            model.optimize()
    except gurobipy.GurobiError as error:
        return bool(error.errno == gurobipy.GRB.Error.SIZE_LIMIT_EXCEEDED)
    return False


GUROBI = Gurobi()
