"""LTL of systems with reals, noise or smooth parts: derivations of branching time, exact runs, and stays."""
