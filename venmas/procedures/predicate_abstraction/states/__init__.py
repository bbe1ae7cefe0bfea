"""Abstract states over predicates, the task whose states they are, and exact questions about their integer points."""
