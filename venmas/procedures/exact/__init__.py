"""A proof search in exact rationals."""
