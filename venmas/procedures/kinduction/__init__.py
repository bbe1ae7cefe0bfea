"""Proofs for ever in two phases, each of them bounded: into a set, and back into it."""
