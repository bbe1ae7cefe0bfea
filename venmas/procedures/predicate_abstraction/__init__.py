"""Predicate abstraction of neural policies: abstract graphs, refinement, and proofs for ever."""
