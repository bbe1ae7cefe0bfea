"""Proofs and their checking, in exact rationals, tables of regions in integers.

The checker does not depend on the search: it imports question, model, nn, logic and linear only. The search in
rationals and the certificates of regions use the checker's evaluation (`values`, `networks`, `goals`; `tabling`,
`fixed`), so a fault there would mislead both. The independent tests are mutants of certificates (tests/checker) and the
corpus (tests/corpus).
"""
