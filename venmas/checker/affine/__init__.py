"""Affine forms with symbols in integers of a fixed unit: how the leaves of a split tree are checked.

`scaled` turns a program into integers, `definition` defines the pass over one box, `batch` computes
the same for many boxes at once, bit for bit, and `units` says what a rectified unit does in both directions.
"""
