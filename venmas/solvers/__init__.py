"""Interfaces to MILP solvers; importing this package imports none of them."""

from venmas.solvers.registry import AUTO, SOLVERS, get_solver, solve_in_order, solver_names, solver_order

__all__ = ["AUTO", "SOLVERS", "get_solver", "solve_in_order", "solver_names", "solver_order"]
