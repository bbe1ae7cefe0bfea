"""How far an open question came: steps, share of the initial set, and the closest run."""
