"""Progress of a question that stays open: steps, share of the initial set, and the closest run."""
