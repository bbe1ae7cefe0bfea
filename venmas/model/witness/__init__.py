"""Witnesses of violations: their tree, how it is built, decided and replayed (design S8)."""
