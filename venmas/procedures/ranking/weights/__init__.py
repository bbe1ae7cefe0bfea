"""Weights of ranks: linear programs over counterexamples, in floats and in rationals."""
