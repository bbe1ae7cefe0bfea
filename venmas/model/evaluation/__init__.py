"""Smooth parts of systems: functions, flows of differential equations, and their values (docs/semantics.md)."""
