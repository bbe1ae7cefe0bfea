"""Inductive invariants of the product of a circuit and an automaton: what holds of registers in each of its states."""
