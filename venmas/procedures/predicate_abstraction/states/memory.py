"""Answers of queries, kept over refinements (Vinzent, Sharma, Hoffmann, AAAI 2023, Proposition 6).

    the same query, or one in a refuted box of the label: no                                (1.)
    a state that answered another query is in the box: yes                                  (2.)
    else ask

The proposition speaks of transitions between abstract states, with the same operator. Here it holds for every query
about the label, whichever operator and target it comes from.
"""

from __future__ import annotations

import numpy as np

from venmas.bounds.rounding import Bools, Ints
from venmas.procedures.predicate_abstraction.states.queries import FREE, Queries, QueryEngine

_POOL = 256
"""Points of each label that are tried on new queries."""
_REFUTED = 2048
"""Refuted boxes of each label in which new queries are looked for: the first ones, which are the largest."""
_CHUNK = 1 << 22


class Memory:
    """Asks an engine what it does not remember. on: remember at all."""

    def __init__(self, engine: QueryEngine, on: bool = True) -> None:
        self.engine, self.on = engine, on
        read = engine.policy.read if engine.policy is not None else np.zeros(0, np.int64)
        self._read: Ints = read
        self._known: dict[bytes, Ints | None] = {}
        self._pool: dict[int, list[Ints]] = {}
        self._refuted: dict[int, tuple[Ints, Ints]] = {}
        self.same = self.within = self.pooled = 0
        """Queries that were known: the same, those within a refuted box, those with a known witness."""

    @property
    def hits(self) -> int:
        """Queries that were not asked."""
        return self.same + self.within + self.pooled

    def to_json(self) -> dict[str, float]:
        """Outcomes of queries, with those that were not asked."""
        known = {"same": self.same, "refuted": self.within, "witnessed": self.pooled}
        return {**self.engine.counts.to_json(), "remembered": self.hits, **{f"known_{k}": n for k, n in known.items()}}

    def ask(self, queries: Queries) -> tuple[Bools, Ints]:
        """As `QueryEngine.ask`."""
        count = len(queries)
        found, points = np.zeros(count, bool), queries.low.copy()
        plain = ~(queries.rows != 0).any((1, 2))
        free = plain & (queries.label == FREE)
        found[free] = True
        waiting: dict[bytes, list[int]] = {}
        keys = self._keys(queries, plain)
        for i in np.flatnonzero(~free).tolist():
            known = self._known.get(keys[i], _ABSENT) if self.on else _ABSENT
            if known is _ABSENT:
                waiting.setdefault(keys[i], []).append(i)
            else:
                self.same += 1
                self._answer(i, known, plain[i], found, points)
        if self.on:
            self._exclude(queries, waiting)
            self._try(queries, waiting, found, points)
        order = list(waiting)
        if order:
            met, tried = self.engine.ask(queries.take(np.array([waiting[key][0] for key in order])))
            for key, yes, point in zip(order, met.tolist(), tried, strict=True):
                for i in waiting[key]:
                    self._answer(i, point if yes else None, plain[i], found, points)
                first = waiting[key][0]
                if self.on:
                    self._known[key] = points[first].copy() if yes else None
                    if yes:
                        pool = self._pool.setdefault(int(queries.label[first]), [])
                        pool.append(points[first].copy())
                        del pool[:-_POOL]
            if self.on:
                firsts = np.array([waiting[key][0] for key in order])
                self._refute(queries, firsts[~met & plain[firsts]])
        return found, points

    def _refute(self, queries: Queries, at: Ints) -> None:
        """Keep boxes without rows that have no state of their label, but those within others."""
        for label in np.unique(queries.label[at]).tolist():
            mine = at[queries.label[at] == label]
            low, high = self._refuted.get(label, (np.zeros((0, len(self._read)), np.int64),) * 2)
            a, b = queries.low[mine][:, self._read], queries.high[mine][:, self._read]
            room = max(0, _REFUTED - len(low))
            self._refuted[label] = np.concatenate([low, a[:room]]), np.concatenate([high, b[:room]])

    def _exclude(self, queries: Queries, waiting: dict[bytes, list[int]]) -> None:
        """Answer what is within a refuted box of its label: rows only take states away."""
        by_label: dict[int, list[bytes]] = {}
        for key, places in waiting.items():
            by_label.setdefault(int(queries.label[places[0]]), []).append(key)
        for label, keys in by_label.items():
            if label not in self._refuted:
                continue
            low, high = self._refuted[label]
            wide = max(1, _CHUNK // max(1, low.size))
            for start in range(0, len(keys), wide):
                part = keys[start : start + wide]
                at = np.array([waiting[key][0] for key in part])
                a, b = queries.low[at][:, None, self._read], queries.high[at][:, None, self._read]
                inside = ((low <= a) & (b <= high)).all(2).any(1)
                for key in (key for key, yes in zip(part, inside.tolist(), strict=True) if yes):
                    self._known[key] = None
                    self.within += len(waiting.pop(key))

    def _answer(self, i: int, known: Ints | None, plain: bool, found: Bools, points: Ints) -> None:
        """A point serves every query that says the same of what the policy reads."""
        if known is None:
            return
        found[i] = True
        if plain:
            points[i, self._read] = known[self._read]
        else:
            points[i] = known

    def _keys(self, queries: Queries, plain: Bools) -> list[bytes]:
        low, high = queries.low, queries.high
        short = np.ascontiguousarray(
            np.concatenate([queries.label[:, None], low[:, self._read], high[:, self._read]], axis=1)
        )
        size, text = short.shape[1] * short.itemsize, short.tobytes()
        keys = [text[i : i + size] for i in range(0, len(text), size)]
        for i in np.flatnonzero(~plain).tolist():
            kept = (queries.rows[i] != 0).any(1)
            rows = np.column_stack([queries.rows[i][kept], queries.constants[i][kept]])
            keys[i] += low[i].tobytes() + high[i].tobytes() + rows.tobytes()
        return keys

    def _try(self, queries: Queries, waiting: dict[bytes, list[int]], found: Bools, points: Ints) -> None:
        """Points that answered other queries."""
        by_label: dict[int, list[bytes]] = {}
        for key, places in waiting.items():
            by_label.setdefault(int(queries.label[places[0]]), []).append(key)
        for label, keys in by_label.items():
            pool = np.array(self._pool.get(label, ()), np.int64)
            if not len(pool) or label == FREE:
                continue
            at = np.array([waiting[key][0] for key in keys])
            read = self._read
            inside = (
                (queries.low[at][:, None, read] <= pool[:, read]) & (pool[:, read] <= queries.high[at][:, None, read])
            ).all(2)
            for row, key in enumerate(keys):
                first = waiting[key][0]
                for choice in np.flatnonzero(inside[row])[:4].tolist():
                    point = queries.low[first].copy()
                    point[read] = pool[choice][read]
                    if (queries.rows[first] @ point + queries.constants[first] >= 0).all():
                        self._known[key] = point
                        self.pooled += len(waiting[key])
                        for i in waiting.pop(key):
                            found[i] = True
                            points[i, read] = point[read]
                        break


_ABSENT = np.zeros(0, np.int64)
