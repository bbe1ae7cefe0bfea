"""Explicit states: systems of integers, state by state."""
