"""Affine forms with symbols in integers of a fixed unit: how the leaves of a split tree are checked.

`scaled` turns a program into integers, `reference` defines the pass over one box in Python integers, `batch` computes
the same for many boxes at once, bit for bit, and `units` says what a rectified unit does in both directions.
"""
