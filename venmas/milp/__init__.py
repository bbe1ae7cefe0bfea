"""Solver-neutral programs and what may be said about them."""
