"""Branch and bound on the inputs of an unrolled loop: formulas along one path of branches."""
