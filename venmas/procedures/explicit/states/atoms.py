"""Truth of atoms in states of integers, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from math import lcm

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Bools
from venmas.budget import ask
from venmas.logic import Atom
from venmas.logic.linear import Relation
from venmas.procedures.explicit.states.integers import LARGEST, Integers, NotExplicitError

_TERMS = 1 << 18
"""Terms that are multiplied at a time, which takes some milliseconds and 4 MB."""


class AtomRows:
    """Atoms over named variables, whose ranges (2, variables) are given: rows of integer factors.

    Raises `NotExplicitError` where numbers are too large.
    """

    def __init__(self, atoms: Sequence[Atom], names: Sequence[str], ranges: NDArray[np.int64]) -> None:
        number = {name: i for i, name in enumerate(names)}
        sizes = np.abs(ranges).max(0).tolist()
        rows: list[tuple[list[int], list[int], int]] = []
        for atom in atoms:
            expr = atom.comparison.expr
            by = lcm(expr.constant.denominator, *(c.denominator for _, c in expr.terms))
            index, factors = [number[n] for n, _ in expr.terms], [int(c * by) for _, c in expr.terms]
            largest = sum(abs(f) * sizes[i] for i, f in zip(index, factors, strict=True))
            if largest + abs(expr.constant * by) > LARGEST:
                raise NotExplicitError
            rows.append((index or [0], factors or [0], int(expr.constant * by)))
        self._starts = np.cumsum([0, *(len(index) for index, _, _ in rows)])[:-1]
        self._columns = np.array(list(chain(*(index for index, _, _ in rows))), dtype=np.intp)
        self._factors = np.array(list(chain(*(factors for _, factors, _ in rows))), dtype=np.int64)
        self._constants = np.array([constant for _, _, constant in rows], dtype=np.int64)
        self._kinds = {r: [i for i, a in enumerate(atoms) if a.comparison.relation is r] for r in Relation}

    def truth(self, states: Integers, tick: Callable[[], None] = ask) -> Bools:
        """(B, variables) -> (atoms, B); tick: asked before each block of states."""
        found = np.empty((len(self._constants), len(states)), bool)
        turn = max(1, _TERMS // max(1, len(self._columns)))
        for first in range(0, len(states) if len(self._constants) else 0, turn):
            tick()
            few = states[first : first + turn]
            values = np.add.reduceat(few[:, self._columns] * self._factors, self._starts, axis=1) + self._constants
            for relation, which in self._kinds.items():
                found[which, first : first + turn] = relation.truth(values[:, which]).T
        return found
