"""Interfaces to MILP solvers; importing this package imports none of them."""

from venmas.solvers.registry import SOLVERS, get_solver, solve_in_order, solver_names, solver_order

__all__ = ["SOLVERS", "get_solver", "solve_in_order", "solver_names", "solver_order"]
