"""Machines that solve programs, through Dask."""
