"""Queries over the reals: an abstraction with steps that no integer state takes, but a point between them may.

The continuous relaxation of Vinzent, Steinmetz, Hoffmann (ICAPS 2022, sections 6.2 and 8, variant Mar). What bounds do
not exclude within some cuts counts as a step, so that the graph has every step of the exact one.
"""

from __future__ import annotations

import numpy as np

from venmas.bounds.rounding import Bools, Floats, Ints
from venmas.budget import ask
from venmas.procedures.predicate_abstraction.states.queries import FREE, Queries, QueryEngine

_MOST = 400
"""Boxes of a query that are bounded."""


class RelaxedEngine(QueryEngine):
    """Answers no only where no real point of the box is an answer; a point without an integer answer is none."""

    def ask(self, queries: Queries) -> tuple[Bools, Ints]:
        """As `QueryEngine.ask`."""
        found, points = super().ask(queries)
        for q in np.flatnonzero(~found & (queries.low <= queries.high).all(1)).tolist():
            ask()
            found[q] = self._real(queries, q)
        return found, points

    def _real(self, queries: Queries, q: int) -> bool:
        """May a real point of a query's box meet it?"""
        label, rows, constants = int(queries.label[q]), queries.rows[q], queries.constants[q]
        low, high = queries.low[q : q + 1].astype(np.float64), queries.high[q : q + 1].astype(np.float64)
        scale, looked = np.maximum(high[0] - low[0], 1.0), 0
        while len(low) and looked < _MOST:
            looked += len(low)
            most = np.maximum(rows, 0) @ high.T + np.minimum(rows, 0) @ low.T + constants[:, None]
            size = np.abs(rows) @ np.maximum(np.abs(low), np.abs(high)).T + np.abs(constants)[:, None]
            keep = (most >= -1e-9 * size).all(0)  # floats err by less: no box with a point is dropped
            low, high = low[keep], high[keep]
            weight = np.abs(rows).sum(0) * (high - low)
            if label != FREE and len(low):
                low, high, weight = self._bounded(label, low, high, weight)
            middle = 0.5 * low + 0.5 * high
            if len(middle) and self._met(label, rows, constants, middle).any():
                return True
            axis = np.where(high > low, weight / scale + 1e-9 * (high - low), -1.0).argmax(1)
            at = np.arange(len(low))
            left, right = high.copy(), low.copy()
            left[at, axis] = right[at, axis] = middle[at, axis]
            low, high = np.concatenate([low, right]), np.concatenate([left, high])
        return bool(len(low))

    def _bounded(self, label: int, low: Floats, high: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
        """The boxes in which bounds do not exclude the label, and what matters in them."""
        policy = self.policy
        assert policy is not None
        swept = self._bounded_by(self._plan(label), low, high)
        left = np.flatnonzero(~swept.closed)
        weight = weight[left]
        for column, name in enumerate(policy.columns.tolist()):
            if name >= 0:
                weight[:, name] += swept.influence[left, column]
        return low[left], high[left], weight

    def _met(self, label: int, rows: Ints, constants: Ints, points: Floats) -> Bools:
        """Points that meet the rows, and where the label has a greatest score."""
        met: Bools = np.asarray((points @ rows.T + constants >= 0).all(1))
        if label != FREE and self.policy is not None:
            values = self.policy.network.evaluate(self.policy.gather(points))
            met &= values[:, label] >= values.max(1)
        return met
