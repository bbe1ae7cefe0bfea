"""k-induction with a strengthening: two bounded proofs, into a set, and back into it."""
