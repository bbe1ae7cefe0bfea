"""Readers of other formats: VNN-LIB queries, JANI models and policies."""
