"""LTL for ever of systems whose states are finitely many: the product with the automaton, state by state."""
