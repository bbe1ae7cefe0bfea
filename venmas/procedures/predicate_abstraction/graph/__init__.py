"""Abstract graphs: what follows an abstract state, the whole graph, and the search for an unsafe state in it."""
