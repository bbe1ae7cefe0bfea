"""The portfolio of a mode over parts of the initial set, which the workers of a cluster decide."""
