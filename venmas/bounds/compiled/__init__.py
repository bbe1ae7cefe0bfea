"""Enclosures compiled by numba (``venmas[fast]``), each beside its reference in `venmas.bounds`."""
