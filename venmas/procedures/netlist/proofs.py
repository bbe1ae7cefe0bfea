"""Exact proofs of obligations: no word of an SMT solver is taken for them.

Conditions are written as gates by the checker's own bit-blaster (`checker.netlists.gates`), a SAT solver refutes them
with a proof, and the checker's own propagator repeats it (`checker.netlists.rup`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from venmas.budget import Budget, limited
from venmas.checker.netlists.gates import Gates
from venmas.checker.netlists.rup import refutes
from venmas.errors import SolverUnavailableError, install
from venmas.model.circuit.nodes import Nodes

_SOLVER, _CONFLICTS = "glucose4", 5000
"""It writes proofs and gives its turn back: conflicts between two looks at the clock."""


def proof_of(source: Nodes, conditions: Sequence[int], budget: Budget) -> list[list[int]] | None:
    """Clauses that refute that the conditions hold together; None where they can.

    Raises `BudgetError`, and `SolverUnavailableError` where python-sat is not installed.
    """
    gates, goals = written(source, conditions)
    return refutation([*gates.clauses, *goals], budget)


def refutation(clauses: Sequence[Sequence[int]], budget: Budget) -> list[list[int]] | None:
    """Clauses that refute these together; None where they can be met. Raises as `proof_of`."""
    with sat_solver(clauses, with_proof=True) as solver:
        found = None
        while found is None:
            budget()
            solver.conf_budget(_CONFLICTS)
            found = solver.solve_limited()
        if found:
            return None
        steps = solver.get_proof()
    return [[int(word) for word in step.split()[:-1]] for step in steps if not step.startswith("d")]


def solution(clauses: Sequence[Sequence[int]]) -> list[int] | None:
    """Literals that make these clauses true; None where there are none. Raises `SolverUnavailableError`."""
    with sat_solver(clauses) as solver:
        found: list[int] | None = solver.get_model() if solver.solve() else None
    return found


def sat_solver(clauses: Sequence[Sequence[int]], with_proof: bool = False) -> Any:
    """A SAT solver that knows these clauses. Raises `SolverUnavailableError` where python-sat is not installed."""
    try:
        from pysat.solvers import Solver
    except ImportError as error:
        raise SolverUnavailableError(
            f"exact proofs and invariants need python-sat, which is not installed: {install('hardware')}"
        ) from error
    return Solver(name=_SOLVER, bootstrap_with=list(map(list, clauses)), with_proof=with_proof)


def checks(source: Nodes, conditions: Sequence[int], proof: Sequence[Sequence[int]], budget: Budget) -> bool:
    """Does the proof refute the conditions? Raises `BudgetError`."""
    gates, goals = written(source, conditions)
    with limited(budget):
        return refutes(gates.variables, [*gates.clauses, *goals], proof)


def written(source: Nodes, conditions: Sequence[int]) -> tuple[Gates, list[tuple[int, ...]]]:
    """The gates of one-bit nodes, and the clauses that say that all of these are true."""
    gates = Gates(source)
    return gates, [(gates.write(condition)[0],) for condition in conditions]
