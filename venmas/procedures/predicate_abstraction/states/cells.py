"""Abstract states: an interval of each variable, cut at the thresholds of unary predicates, and bits of the others.

A state is a row of small integers: the index of the interval of each of n variables, then the truth of each of m
predicates over several variables. What unary predicates entail of each other is thereby implied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Bools, Ints
from venmas.procedures.predicate_abstraction.states.predicates import Predicate, open_over

States = NDArray[np.int32]


class Cells:
    """The abstract states of some predicates over the box low..high (n,).

    predicates: those whose truth the box does not decide, as given, each once. Every value of a variable in `exact`
    is a cell of its own.
    """

    def __init__(self, low: Ints, high: Ints, predicates: Iterable[Predicate], exact: Sequence[int] = ()) -> None:
        self.low, self.high = low, high
        self.predicates = tuple(open_over(predicates, low.tolist(), high.tolist()))
        cuts: list[set[int]] = [set() for _ in low]
        for v in exact:
            cuts[v].update(range(int(low[v]) + 1, int(high[v]) + 1))
        for p in self.predicates:
            if p.unary:
                cuts[p.terms[0][0]].add(p.bound)
        self.cuts = [np.array(sorted(c), dtype=np.int64) for c in cuts]
        """Thresholds of each variable, strictly above its least value."""
        self.begin = [np.concatenate([[a], c]).astype(np.int64) for a, c in zip(low, self.cuts, strict=True)]
        self.end = [np.concatenate([c - 1, [b]]).astype(np.int64) for b, c in zip(high, self.cuts, strict=True)]
        """Least and greatest value of each interval, for each variable."""
        self.cut = np.flatnonzero([len(c) for c in self.cuts])
        """Variables that have a threshold."""
        self.relational = tuple(p for p in self.predicates if not p.unary)
        n = len(low)
        self.rows = np.zeros((len(self.relational), n), np.int64)
        self.bounds = np.array([p.bound for p in self.relational], np.int64)
        for i, p in enumerate(self.relational):
            for v, c in p.terms:
                self.rows[i, v] = c
        self.width = n

    def intervals(self, values: Ints) -> States:
        """The intervals of values (B, n)."""
        found = np.zeros(values.shape, np.int32)
        for v in self.cut.tolist():
            found[:, v] = np.searchsorted(self.cuts[v], values[:, v], side="right")
        return found

    def of(self, points: Ints) -> States:
        """The abstract states of states (B, n)."""
        bits = points @ self.rows.T >= self.bounds
        return np.concatenate([self.intervals(points), bits.astype(np.int32)], axis=1)

    def box(self, states: States) -> tuple[Ints, Ints]:
        """Least and greatest values (B, n) of abstract states."""
        low, high = np.repeat(self.low[None], len(states), 0), np.repeat(self.high[None], len(states), 0)
        for v in self.cut.tolist():
            low[:, v], high[:, v] = self.begin[v][states[:, v]], self.end[v][states[:, v]]
        return low, high

    def text(self, state: States, names: Sequence[str]) -> str:
        """A state (n + m,) for people: the interval of each variable that is cut, and the bits."""
        low, high = self.box(state[None])
        parts = []
        for v in self.cut.tolist():
            a, b = int(low[0, v]), int(high[0, v])
            parts.append(f"{names[v]} = {a}" if a == b else f"{names[v]} in {a}..{b}")
        for p, bit in zip(self.relational, state[self.width :].tolist(), strict=True):
            parts.append(p.text(names) if bit else f"not {p.text(names)}")
        return ", ".join(parts) or "any state"

    def literals(self, states: States) -> tuple[Ints, Ints]:
        """What the bits say: rows (B, m, n) and constants (B, m), at least 0."""
        sign = np.where(states[:, self.width :] == 1, 1, -1).astype(np.int64)
        rows: Ints = sign[:, :, None] * self.rows
        return rows, np.where(sign == 1, -self.bounds, self.bounds - 1)

    def truths(self, low: Ints, high: Ints) -> States:
        """Truth of the relational predicates over boxes (B, n): 1, 0, or -1 where both are possible."""
        up, down = np.maximum(self.rows, 0), np.minimum(self.rows, 0)
        least, most = low @ up.T + high @ down.T, high @ up.T + low @ down.T
        return np.where(least >= self.bounds, 1, np.where(most < self.bounds, 0, -1)).astype(np.int32)

    def words(self, states: States) -> Bools:
        """Truth of `predicates` in abstract states: (B, P)."""
        found = np.zeros((len(states), len(self.predicates)), dtype=bool)
        bit = 0
        for i, p in enumerate(self.predicates):
            if p.unary:
                v = p.terms[0][0]
                found[:, i] = self.begin[v][states[:, v]] >= p.bound
            else:
                found[:, i] = states[:, self.width + bit] == 1
                bit += 1
        return found


def keys(states: States) -> list[bytes]:
    """A text for each state, equal where states are."""
    if not len(states):
        return []
    whole, size = np.ascontiguousarray(states).tobytes(), states.shape[1] * states.itemsize
    return [whole[i : i + size] for i in range(0, len(whole), size)]
