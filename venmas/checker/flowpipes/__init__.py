"""Certificates of systems that are not piecewise linear: affine forms in integers of a fixed unit, rounded outward.

The checker repeats the proof: it encloses the states of every leaf of a split tree, step by step, and looks at the
formula there. What it shares with the search are the system (`venmas.model`), with the Taylor recurrences that its
flows mean, and the functions (`venmas.model.evaluation.elementary`).
"""
