"""Obligations of ranks, and questions to the SMT solver about them."""
