"""Proofs and their checking, in exact rationals, tables of regions in integers.

It imports question, model, nn, logic, linear, and nothing of a search. The checker does not depend on the search. The
prover and the certificates of regions build on the checker and use its evaluation (`values`, `networks`, `goals`;
`tabling`, `fixed`), so that a fault there would fool both: the mutants of certificates (tests/checker) and the corpus
(tests/corpus) are the independent checks.
"""
