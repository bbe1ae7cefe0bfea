"""Proofs and their checking, in exact rationals; imports model, nn, logic and linear and nothing else."""
