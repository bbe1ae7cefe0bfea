"""Proof transfer: the cuts, weights and sets of an earlier proof, tried on a system with other networks."""
