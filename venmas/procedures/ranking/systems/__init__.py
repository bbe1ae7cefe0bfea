"""LTL for ever of systems of integers: the product with the automaton, state by state, and ranks of all states."""
