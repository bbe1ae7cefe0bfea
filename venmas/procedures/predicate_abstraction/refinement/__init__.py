"""Refinement: paths to unsafe states run in the system, and the predicates that those lack which do not run."""
