"""Branch and bound on the inputs of one network: one-step questions."""
