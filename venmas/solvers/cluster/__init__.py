"""Dask clusters, whose workers solve programs and decide parts of the initial set."""
