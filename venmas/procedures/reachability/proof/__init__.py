"""A refutation by the graph, written for the checker: tables of steps, and lemmas for what does not fit into them."""
