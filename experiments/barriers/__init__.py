"""Learnt certificates of closed loops: `python -m experiments.barriers`."""
