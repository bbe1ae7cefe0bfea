"""Functions beyond the piecewise linear: values in floats, and enclosures in integers at any precision.

One file a function; `registry` lists them. Numbers of enclosures are integers in units of 2^-bits, rounded outward, so
that whoever reads them needs no floats: balls, affine forms in integers, the checker.
"""
