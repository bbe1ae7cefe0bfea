"""Interfaces to MILP solvers; importing this package imports none of them."""

from venmas.solvers.base import Features, SizeLimit, Solver
from venmas.solvers.registry import SOLVERS, get_solver, solve_in_order, solver_order

__all__ = ["SOLVERS", "Features", "SizeLimit", "Solver", "get_solver", "solve_in_order", "solver_order"]
