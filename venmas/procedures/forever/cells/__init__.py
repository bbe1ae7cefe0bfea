"""Cells: fixpoints on a graph of small sets, three-valued, and derivations by the rule of cells."""
