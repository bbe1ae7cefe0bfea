"""Sets of a cover in batches, in numpy integers."""
