"""Linear temporal logic without a horizon: automata, ranking certificates, lassos."""
