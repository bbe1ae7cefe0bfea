"""Answers of queries, kept over refinements: most parts of sources stay as they were."""

from __future__ import annotations

import numpy as np

from venmas.bounds.rounding import Bools, Ints
from venmas.procedures.predicate_abstraction.states.queries import FREE, Queries, QueryEngine

_POOL = 64
"""Points of each label that are tried on new queries."""


class Memory:
    """Asks an engine what it does not remember. on: remember at all."""

    def __init__(self, engine: QueryEngine, on: bool = True) -> None:
        self.engine, self.on = engine, on
        read = engine.policy.read if engine.policy is not None else np.zeros(0, np.int64)
        self._read: Ints = read
        self._known: dict[bytes, Ints | None] = {}
        self._pool: dict[int, list[Ints]] = {}
        self.hits = self.pooled = 0

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
                self.hits += 1
                self._answer(i, known, plain[i], found, points)
        if self.on:
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
        return found, points

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
                        self.pooled += 1
                        self._known[key] = point
                        for i in waiting.pop(key):
                            found[i] = True
                            points[i, read] = point[read]
                        break


_ABSENT = np.zeros(0, np.int64)
