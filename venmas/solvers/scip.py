"""SCIP through PySCIPOpt: Apache licence, indicators, no size limit.

SCIP 10 has the trap that `highs` describes too: of 4000 feasible programs made as described there it called 4 to 6
infeasible as they were and 2 to 3 when relaxed. Each of the relaxed ones is mended by leaving out dual reductions;
without them, relaxed, and with feastol 1e-7 none of 10000 further programs was answered wrongly.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from venmas.errors import Reason
from venmas.solvers.base import BaseSolver, Features, row_terms
from venmas.solvers.interrupts import run_interruptibly
from venmas.solvers.milp.program import Feasible, Infeasible, Kind, Outcome, Program

_FEASIBILITY = 1e-7


class Scip(BaseSolver):
    """Interface to SCIP."""

    name = "scip"
    features = Features(indicators=True, size_limit=None, time_limit=True)

    def version(self) -> str:
        """Version of the installed SCIP; empty when it is not installed."""
        if self.available() is not None:
            return ""
        import pyscipopt

        model = pyscipopt.Model()
        return f"{model.getMajorVersion()}.{model.getMinorVersion()}.{model.getTechVersion()}"

    def available(self) -> str | None:
        """None when pyscipopt is installed."""
        if importlib.util.find_spec("pyscipopt") is None:
            return "SCIP is not installed: run `pip install pyscipopt`"
        return None

    def _run(self, program: Program, time_limit: float | None, threads: int) -> Outcome:
        """SCIP's own branch and bound has one thread whatever `threads` says."""
        import pyscipopt

        model = pyscipopt.Model()
        model.hideOutput()
        model.setParam("randomization/randomseedshift", 0)
        model.setParam("misc/catchctrlc", False)
        model.setParam("limits/gap", 1e-9)
        model.setParam("numerics/feastol", _FEASIBILITY)
        for reductions in ("misc/allowstrongdualreds", "misc/allowweakdualreds"):
            model.setParam(reductions, False)
        if time_limit is not None:
            model.setParam("limits/time", time_limit)
        if program.objective is None:
            model.setParam("limits/solutions", 1)
        x = _fill(model, program)
        run_interruptibly(model.optimizeNogil, model.interruptSolve)  # other threads of the process go on
        status = model.getStatus()
        if status == "infeasible":
            return Infeasible()
        stopped = ("optimal", "sollimit", "bestsollimit", "gaplimit", "timelimit", "userinterrupt")
        if status in stopped and model.getNSols():
            solution = model.getBestSol()
            return Feasible(np.array([model.getSolVal(solution, v) for v in x], dtype=np.float64))
        reasons = {
            "timelimit": Reason.TIME,
            "memlimit": Reason.MEMORY,
            "unbounded": Reason.UNBOUNDED,
            "inforunbd": Reason.UNBOUNDED,
            "userinterrupt": Reason.INTERRUPTED,
        }
        return self._unknown(reasons.get(status, Reason.FAILURE), status)


def _fill(model: Any, program: Program) -> list[Any]:
    """Put the program into the model and return its variables."""
    from pyscipopt import ExprCons, quicksum

    types = {Kind.CONTINUOUS: "C", Kind.INTEGER: "I", Kind.BINARY: "B"}
    x = [
        model.addVar(vtype=types[Kind(kind)], lb=_finite(lower), ub=_finite(upper))
        for lower, upper, kind in zip(program.lower, program.upper, program.kinds, strict=True)
    ]
    for row in range(program.rows):
        columns, coefficients = row_terms(program, row)
        expression = quicksum(a * x[c] for a, c in zip(coefficients.tolist(), columns, strict=True))
        lower, upper = _finite(program.row_lower[row]), _finite(program.row_upper[row])
        model.addCons(ExprCons(expression, lower, upper))
    for i in program.implications:
        expression = quicksum(a * x[c] for a, c in zip(i.coefficients.tolist(), i.columns, strict=True))
        # An indicator of SCIP has one side, and pyscipopt turns >= round: an equation is two of them.
        if np.isfinite(i.upper):
            model.addConsIndicator(ExprCons(expression, None, i.upper), x[i.binary], activeone=i.value)
        if np.isfinite(i.lower):
            model.addConsIndicator(ExprCons(expression, i.lower, None), x[i.binary], activeone=i.value)
    if program.objective is not None:
        objective = quicksum(a * v for a, v in zip(program.objective.tolist(), x, strict=True))
        model.setObjective(objective, "maximize")
    return x


def _finite(bound: float) -> float | None:
    return float(bound) if np.isfinite(bound) else None


SCIP = Scip()
