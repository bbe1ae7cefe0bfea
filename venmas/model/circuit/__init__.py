"""Circuits: transition systems over bit-vectors, as netlists of hardware have them.

One form (`Circuit`), read from BTOR2 (`btor2`) or built (`Builder`); its interpreters are batched simulation
(`simulate`), terms for an SMT solver (`terms`) and propositional gates (`gates`).
"""
