"""Choosing solvers, falling through to the next one, and what importing and interrupting them does."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from solver_kit import many_rows, small

from venmas.errors import Reason, SolverUnavailableError, UsageError
from venmas.solvers import SOLVERS, get_solver, solve_in_order, solver_order
from venmas.solvers.base import BaseSolver, Features, SizeLimit
from venmas.solvers.milp.program import Feasible, Infeasible, Outcome, Unknown


class Fake(BaseSolver):
    """Says what it is told to say."""

    def __init__(self, name: str, says: Outcome | Exception, limit: SizeLimit | None = None) -> None:
        self.name, self.says, self.calls = name, says, 0
        self._features = Features(indicators=True, size_limit=limit, time_limit=True)

    features = property(lambda self: self._features)

    def version(self) -> str:
        return "1"

    def available(self) -> str | None:
        return None

    def _run(self, program, time_limit, threads):
        self.calls += 1
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


PROGRAM = small([(0, 1), (0, 1)], [([0, 1], [1, 1], 1, 2)])
POINT = Feasible(np.array([0.5, 0.5]))
GOOD = [POINT, Infeasible(), *(Unknown(r, "") for r in (Reason.TIME, Reason.UNBOUNDED))]
BAD = [
    RuntimeError("broken"),
    MemoryError(),
    Feasible(np.array([0.0, 0.0])),
    Feasible(np.array([np.nan, 0.0])),
    *(Unknown(r, "") for r in (Reason.FAILURE, Reason.LICENCE, Reason.MEMORY, Reason.TOLERANCE)),
]


@pytest.mark.parametrize("answer", GOOD, ids=str)
def test_an_answer_ends_the_search(answer):
    first, second = Fake("first", answer), Fake("second", POINT)
    outcome, name = solve_in_order(PROGRAM, [first, second])
    assert type(outcome) is type(answer)
    assert (name, second.calls) == ("first", 0)


@pytest.mark.parametrize("answer", BAD, ids=str)
def test_failures_lead_on(answer):
    first, second = Fake("first", answer), Fake("second", Infeasible())
    assert solve_in_order(PROGRAM, [first, second]) == (Infeasible(), "second")


@pytest.mark.parametrize("answer", BAD, ids=str)
def test_a_failure_is_unknown(answer):
    outcome, name = solve_in_order(PROGRAM, [Fake("only", answer)])
    assert isinstance(outcome, Unknown)
    assert name == "only"


def test_the_violation_of_a_point_is_reported():
    outcome = Fake("only", Feasible(np.array([0.0, 0.0]))).solve(PROGRAM)
    assert outcome.reason is Reason.TOLERANCE
    assert "by 1" in outcome.message


def test_too_large_leads_on():
    limited = Fake("limited", POINT, SizeLimit(variables=1, constraints=9))
    other = Fake("other", Infeasible())
    assert solve_in_order(PROGRAM, [limited, other]) == (Infeasible(), "other")
    outcome, name = solve_in_order(PROGRAM, [limited])
    assert (outcome.reason, name, limited.calls) == (Reason.LICENCE, "limited", 0)
    assert "2 variables, 1 are allowed" in outcome.message


def test_sides_count_for_the_licence():
    assert Fake("limited", POINT, SizeLimit(variables=2, constraints=2)).fits(PROGRAM) is None
    assert "2 constraints, 1" in Fake("limited", POINT, SizeLimit(variables=2, constraints=1)).fits(PROGRAM)


def test_real_solvers_in_order():
    outcome, name = solve_in_order(many_rows(2500), solver_order())
    assert isinstance(outcome, Feasible)
    assert name in SOLVERS
    assert get_solver(name).fits(many_rows(2500)) is None


def test_no_solver():
    outcome, name = solve_in_order(PROGRAM, [])
    assert (outcome.reason, name) == (Reason.FAILURE, "")


def test_names():
    assert [name for name in SOLVERS if name in ("gurobi", "highs", "scip")] == ["gurobi", "highs", "scip"]
    with pytest.raises(UsageError, match=r"'cplex'.*highs"):
        get_solver("cplex")
    with pytest.raises(UsageError):
        solver_order("cplex")


def test_order():
    assert [s.name for s in solver_order("highs")] == ["highs"]
    usable = [name for name in SOLVERS if get_solver(name).available() is None]
    assert [s.name for s in solver_order("auto")] == usable


@pytest.mark.parametrize("name", SOLVERS)
def test_a_missing_solver_is_named_with_its_remedy(name, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda module: None)
    with pytest.raises(SolverUnavailableError, match="pip install"):
        solver_order(name)
    with pytest.raises(SolverUnavailableError, match="no solver is usable"):
        solver_order("auto")
    assert get_solver(name).version() == ""


@pytest.mark.parametrize("name", SOLVERS)
def test_versions(name):
    solver = get_solver(name)
    assert bool(solver.version()) == (solver.available() is None)


def test_importing_imports_no_vendor():
    code = (
        "import sys, venmas.solvers as s; s.get_solver('highs').features; "
        "print([m for m in ('highspy', 'gurobipy', 'pyscipopt', 'scipy') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("name", SOLVERS)
def test_interrupt(name):
    """Ctrl-C reaches the caller soon, from inside the vendor's code, and standard output stays the program's."""
    if get_solver(name).available() is not None:
        pytest.skip(get_solver(name).available())
    code = (
        "import signal; signal.alarm(60)\n"  # ends it whatever it waits for
        "from solver_kit import hard; from venmas.solvers import get_solver\n"
        f"solver, program = get_solver('{name}'), hard()\n"
        "solver.solve(program, time_limit=0.01)\n"
        "print('ready', flush=True)\n"
        "try: solver.solve(program, time_limit=30)\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=30)
    if name == "gurobi":  # its library says so by itself, before or after
        rest = rest.replace("\nInterrupt request received\n", "")
    assert rest == "interrupted\n"
    assert process.returncode == 0
    assert time.monotonic() - begin < 5
