"""HiGHS, the embedded default: MIT licence, no size limit, no indicators (they are lowered to big-M rows).

HiGHS (1.15 and 1.16) calls some feasible programs infeasible when numbers near its tolerance meet: a big-M or the width
of a box near 1e-6, bounds that are equal (ERGO-Code/HiGHS issues 1578, 1958, 1959, 2033 and 3296 tell of the like, with
presolve on and off, with larger and smaller tolerances). Measured with 1.15 on random ReLU networks in big-M form with
known points, most units stable up to 1e-8..1e-5, fixed variables substituted (`tests/solvers/highs_traps.json` keeps
four cases, of which one or another is wrong with every setting in both versions):

- as they are: default settings wrong on 9 of 6000, mip_feasibility_tolerance=1e-7 on 19 of 6000, presolve off on 1 of
  2000, presolve off with 1e-7 on 0 of 2000 in two to three times the time of the default;
- relaxed by `SLACK` = 2e-6: none wrong, presolve on or off, tolerance 1e-6 or 1e-7 (6000 with presolve on, 2000 with it
  off). That takes up to twice the time on programs of a few milliseconds, and shows no difference on networks
  3-20x5-3 with 27 binaries.

Presolve has a fault of its own, which shows at no small number: a program of 72 variables with coefficients from 0.03
to 9 that has points is called infeasible with presolve on, whatever the tolerance (the fifth of the cases). An
"infeasible" is therefore asked for again with presolve off, and counts when both runs say so. 1.16 finds its points.

Hence: relaxed, presolve on, 1e-7. The final interface was wrong on none of 10000 further programs, half of them
infeasible by 0.01. The second run that confirms a point is not relaxed; its "infeasible" is never taken for an answer.
"""

from __future__ import annotations

import importlib.util
import os
import threading
import time
from typing import Any

import numpy as np

from venmas.errors import Reason
from venmas.solvers.base import BaseSolver, Features
from venmas.solvers.interrupts import run_interruptibly, takes_interrupts
from venmas.solvers.milp.program import Feasible, Infeasible, Kind, Outcome, Program

_FEASIBILITY = 1e-7
_SMALLEST = 1e-12  # smaller coefficients are dropped by HiGHS; this is the least value it takes


class Highs(BaseSolver):
    """Interface to HiGHS through highspy."""

    name = "highs"
    features = Features(indicators=False, size_limit=None, time_limit=True)

    def version(self) -> str:
        """Version of the installed HiGHS; empty when it is not installed."""
        if self.available() is not None:
            return ""
        return str(silent_highs().version())

    def available(self) -> str | None:
        """None when highspy is installed."""
        if importlib.util.find_spec("highspy") is None:
            return "HiGHS is not installed: run `pip install highspy`"
        return None

    def _run(self, program: Program, time_limit: float | None, threads: int) -> Outcome:
        begun = time.monotonic()
        outcome = self._once(program, time_limit, threads, "on")
        if not isinstance(outcome, Infeasible):
            return outcome
        left = None if time_limit is None else max(0.01, time_limit - (time.monotonic() - begun))
        return self._once(program, left, threads, "off")

    def _once(self, program: Program, time_limit: float | None, threads: int, presolve: str) -> Outcome:
        import highspy

        highs = silent_highs(threads)
        settings: dict[str, Any] = {"random_seed": 0, "mip_rel_gap": 1e-9, "mip_abs_gap": 1e-9}
        settings["presolve"] = presolve
        settings["small_matrix_value"] = _SMALLEST
        settings["mip_feasibility_tolerance"] = _FEASIBILITY
        settings["primal_feasibility_tolerance"] = _FEASIBILITY
        if time_limit is not None:
            settings["time_limit"] = time_limit
        if program.objective is None:
            settings["mip_max_improving_sols"] = 1
        for option, value in settings.items():
            if highs.setOptionValue(option, value) == highspy.HighsStatus.kError:
                raise RuntimeError(f"option {option} = {value} was refused")
        if highs.passModel(_to_lp(program)) == highspy.HighsStatus.kError:
            raise RuntimeError("the program was refused")
        highs.HandleUserInterrupt = takes_interrupts()
        run_interruptibly(lambda: run(highs), highs.cancelSolve)
        status, solution = highs.getModelStatus(), highs.getSolution()
        name = highs.modelStatusToString(status)
        states = highspy.HighsModelStatus
        if status == states.kInfeasible:
            return Infeasible()
        has_point = highs.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        if has_point and status in (states.kOptimal, states.kSolutionLimit, states.kTimeLimit, states.kInterrupt):
            return Feasible(np.array(solution.col_value, dtype=np.float64))
        reasons = {
            states.kTimeLimit: Reason.TIME,
            states.kMemoryLimit: Reason.MEMORY,
            states.kUnbounded: Reason.UNBOUNDED,
            states.kUnboundedOrInfeasible: Reason.UNBOUNDED,
            states.kInterrupt: Reason.INTERRUPTED,
        }
        return self._unknown(reasons.get(status, Reason.FAILURE), name)


_greeting = threading.Lock()
_greeted = False


def silent_highs(threads: int = 1) -> Any:
    """A HiGHS that writes nothing.

    HiGHS 1.16 greets on standard output when a process makes its first instance, before any option can be set; that of
    a verdict is read by programs. So the first one is made while standard output leads nowhere.
    """
    global _greeted
    import highspy

    with _greeting:
        highs = highspy.Highs() if _greeted else _made_apart(highspy.Highs)
        _greeted = True
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", threads)
    return highs


def _made_apart(make: Any) -> Any:
    try:
        kept = os.dup(1)
    except OSError:  # there is no standard output
        return make()
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        return make()
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def run(highs: Any) -> None:
    """Run HiGHS, whatever ran before on this thread.

    The scheduler of a thread keeps the number of threads of its first run (that of HiGHS itself is half of the
    processors or all, by version), and later runs with another number end at once as an error without a status.
    """
    import highspy

    failed = highs.run() == highspy.HighsStatus.kError
    if failed and highs.getModelStatus() == highspy.HighsModelStatus.kNotset:
        highs.resetGlobalScheduler(True)
        highs.run()


def _to_lp(program: Program) -> Any:
    """The program as a HighsLp, rows stored row-wise."""
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.variables, program.rows
    lp.col_lower_, lp.col_upper_ = program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.col_cost_ = np.zeros(program.variables) if program.objective is None else program.objective
    lp.sense_ = highspy.ObjSense.kMaximize
    if program.kinds.any():
        types = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [types[int(kind != Kind.CONTINUOUS)] for kind in program.kinds]
    matrix = lp.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_, matrix.index_, matrix.value_ = program.indptr, program.indices, program.data
    return lp


HIGHS = Highs()
