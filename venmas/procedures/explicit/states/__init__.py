"""States of integers as rows of columns: initial ones, their successors, and the truth of atoms, all exact."""
