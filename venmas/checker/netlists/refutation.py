"""Refutations of gates, and their proofs: by enumeration of all values, or by unit propagation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from venmas.budget import ask
from venmas.checker.netlists.gates import TRUE, Blaster
from venmas.checker.netlists.rup import refutes

MOST_BITS = 24
"""Most leaves whose values are all looked at."""
_AT_ONCE = 16  # bits of the values that are looked at together
_WORDS = [((1 << 64) - 1) // ((1 << (1 << at)) + 1) << (1 << at) for at in range(6)]
"""Of a word of 64 indices, bit by bit, their bit i."""


@dataclass(frozen=True)
class Question:
    """Conditions that must not be met together; the first `guards` of them say that an edge is taken at all."""

    gates: Blaster
    conditions: tuple[int, ...]
    guards: int

    def cone(self) -> tuple[list[int], list[tuple[int, int, int, int]]]:
        """The leaves under the conditions, and the gates, operands first: (variable, 1 for and, operand, operand)."""
        made = {out: key for key, out in self.gates.defined.items()}
        seen, stack = {TRUE}, [abs(one) for one in self.conditions]
        while stack:
            ask()
            variable = stack.pop()
            if variable not in seen:
                seen.add(variable)
                stack += [abs(one) for one in made.get(variable, ())[-2:]]
        seen.discard(TRUE)
        leaves, used = [], []
        for variable in sorted(seen):
            key = made.get(variable)
            if key is None:
                leaves.append(variable)
            else:
                used.append((variable, int(len(key) == 2), key[-2], key[-1]))
        return leaves, used

    def clauses(self) -> list[tuple[int, ...]]:
        """The gates under the conditions, and that these hold."""
        written: list[tuple[int, ...]] = [(TRUE,)]
        for out, joint, a, b in self.cone()[1]:
            if joint:
                written += [(-out, a), (-out, b), (out, -a, -b)]
            else:
                written += [(-out, a, b), (-out, -a, -b), (out, -a, b), (out, a, -b)]
        return written + [(one,) for one in self.conditions]

    def refuted_by(self, steps: Sequence[Sequence[int]]) -> bool:
        """Does unit propagation repeat the proof? Raises `ValueError` for literals that are none."""
        return refutes(self.gates.variables, self.clauses(), steps)

    def shown(self, ones: Sequence[int]) -> bool:
        """Do the guards hold where these leaves are 1 and the others 0?"""
        leaves, used = self.cone()
        given = set(ones)
        value = {TRUE: True, **{leaf: leaf in given for leaf in leaves}}
        for out, joint, a, b in used:
            x, y = value[abs(a)] is (a > 0), value[abs(b)] is (b > 0)
            value[out] = (x and y) if joint else x is not y
        return all(value[abs(one)] is (one > 0) for one in self.conditions[: self.guards])

    def enumerated(self) -> tuple[bool, bool]:
        """Looked at all values of the leaves: are the conditions never met together, and are the guards ever?

        64 values in a word, 2^16 at a time.
        """
        leaves, used = self.cone()
        inner, outer = leaves[:_AT_ONCE], leaves[_AT_ONCE:]
        size = 1 << max(0, len(inner) - 6)
        index = np.arange(size, dtype=np.uint64)
        every = np.full(size, ~np.uint64(0))
        known: dict[int, np.ndarray[tuple[int], np.dtype[np.uint64]]] = {TRUE: every}
        for at, leaf in enumerate(inner):
            bit = np.uint64(max(0, at - 6))
            known[leaf] = np.full(size, np.uint64(_WORDS[at])) if at < 6 else (index >> bit & np.uint64(1)) * every[0]
        taken = False
        for case in range(1 << len(outer)):
            ask()
            for at, leaf in enumerate(outer):
                known[leaf] = every if case >> at & 1 else ~every
            for out, joint, a, b in used:
                x = known[a] if a > 0 else ~known[-a]
                y = known[b] if b > 0 else ~known[-b]
                known[out] = x & y if joint else x ^ y
            satisfying = every
            for number, one in enumerate(self.conditions):
                if number == self.guards:
                    taken = taken or bool(satisfying.any())
                satisfying = satisfying & (known[one] if one > 0 else ~known[-one])
            if satisfying.any():
                return False, True
        return True, taken

    def guarded(self) -> Question:
        """The guards alone."""
        return Question(self.gates, self.conditions[: self.guards], self.guards)
