"""Everything that a system of integers reaches, for ever: explicit closure after slicing."""
