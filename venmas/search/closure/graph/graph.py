"""The graph of the states that a system of integers reaches, for ever: numbers of states, and its transitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from venmas.budget import room_mb
from venmas.model.system import System
from venmas.search.states.integers import Integers, NotExplicitError
from venmas.search.states.starts import initial_states
from venmas.search.states.vectorised import Columns

MAX_STATES = 2_000_000
MAX_BYTES = 1 << 30
"""Most memory for states and transitions; beyond either, a system is not closed."""

OUTSIDE = -1
"""A successor outside the declared box."""

Numbers = NDArray[np.int32]


class _Growing:
    """Rows that are added to; memory doubles."""

    def __init__(self, width: int, kind: np.dtype[np.generic]) -> None:
        self._room, self._used = np.empty((64, width), kind), 0

    @property
    def rows(self) -> NDArray[np.int64]:
        """(rows, width)."""
        return self._room[: self._used]

    def append(self, rows: Integers) -> None:
        """Add rows (B, width)."""
        end = self._used + len(rows)
        if end > len(self._room):
            room = np.empty((max(end, 2 * len(self._room)), self._room.shape[1]), self._room.dtype)
            room[: self._used] = self.rows
            self._room = room
        self._room[self._used : end], self._used = rows, end


class StateGraph:
    """States found breadth first, each once, with the step that found it; and the transitions, if they are kept.

    Raises `NotExplicitError` where the system is not one of integers, and for more states than can be kept.
    """

    def __init__(self, system: System, tick: Callable[[], None], transitions: bool, limit: int = MAX_STATES) -> None:
        self.system, self.tick, self.limit, self._keep = system, tick, limit, transitions
        self.columns = Columns(system)
        low, high = self.columns.ranges
        self._kind = np.result_type(*(np.min_scalar_type(int(v)) for v in (low.min(initial=-1), high.max(initial=0))))
        sizes = [int(h - lo) + 1 for lo, h in zip(low, high, strict=True)]
        self._weights: NDArray[np.int64] | None = None
        if prod(sizes) < 2**62:
            self._weights = np.array([prod(sizes[i + 1 :]) for i in range(len(sizes))], dtype=np.int64)
        self._index: dict[int | bytes, int] = {}
        self._states = _Growing(len(sizes), self._kind)
        self._parents = _Growing(2, np.dtype(np.int32))
        self._edges: list[tuple[Numbers, Numbers, Numbers]] = []
        self._kept = 0
        self.count = self.expanded = 0
        self.left: tuple[int, int] | None = None
        """A transition out of the box: a state, and the index of a branch."""
        self.deadlock: int | None = None
        self._start()
        self.initial = self.count

    def _start(self) -> None:
        waiting: list[Integers] = []
        for block in initial_states(self.system, self.columns.ranges, self.limit, self.tick):
            waiting.append(block)
            if sum(map(len, waiting)) >= self.columns.rows:
                self._number_initial(waiting)
        self._number_initial(waiting)

    def _number_initial(self, waiting: list[Integers]) -> None:
        if waiting:
            states = np.concatenate(waiting)
            waiting.clear()
            none = np.full(len(states), -1, np.int32)
            self._number(states, none, none)

    def _number(self, states: Integers, sources: Numbers, branches: Numbers) -> Numbers:
        """The numbers of states (B, variables), new ones where they are new: found from `sources` by `branches`."""
        index, count = self._index, self.count
        keys: Sequence[int | bytes]
        if self._weights is not None:
            keys = ((states - self.columns.ranges[0]) @ self._weights).tolist()
        else:
            size, whole = states.shape[1] * self._kind.itemsize, states.astype(self._kind).tobytes()
            keys = [whole[i : i + size] for i in range(0, len(whole), size)]
        numbers = np.fromiter((index.setdefault(key, n) for n, key in enumerate(keys, count)), np.int32, len(keys))
        # a key that is new has the number count + its row: rows in between are taken together
        rows = np.flatnonzero(numbers >= count)
        if rows.size:
            first = rows[numbers[rows] == count + rows]
            compact = np.zeros(len(states), np.int32)
            compact[first] = np.arange(count, count + len(first), dtype=np.int32)
            numbers[rows] = compact[numbers[rows] - count]
            index.update((keys[row], number) for number, row in enumerate(first.tolist(), count))
            self._states.append(states[first])
            self._parents.append(np.stack([sources[first], branches[first]], 1))
            self.count += len(first)
        if self.count > self.limit or self._bytes() > MAX_BYTES:
            raise NotExplicitError
        return numbers

    def _bytes(self) -> int:
        """Roughly: a state has its values, its parent, and an entry of a dictionary; a transition three numbers."""
        return self.count * (len(self.system.variables) * self._kind.itemsize + 160) + 12 * self._kept

    def expand(self) -> bool:
        """Step from some states that were not stepped from, the first ones found first; False when there are none."""
        self.tick()
        first, end = self.expanded, min(self.count, self.expanded + self.columns.rows)
        if first < end:
            self._expand(first, self.states(first, end))
            self.expanded = end
        return first < end

    def _expand(self, first: int, states: Integers) -> None:
        degree = np.zeros(len(states), np.int64)
        for b, rows, new, outside in self.columns.steps(states):
            degree[rows] += 1
            targets = np.full(len(rows), OUTSIDE, np.int32)
            sources = (first + rows).astype(np.int32)
            if outside.any():
                self.left = self.left or (int(sources[outside][0]), b)
            inside = np.flatnonzero(~outside)
            branch = np.full(len(rows), b, np.int32)
            targets[inside] = self._number(new[inside], sources[inside], branch[inside])
            if self._keep:
                self._kept += len(rows)
                self._edges.append((sources, branch, targets))
        if self.deadlock is None and (stuck := np.flatnonzero(degree == 0)).size:
            self.deadlock = first + int(stuck[0])

    # -- what was found ------------------------------------------------------------------------------------------------

    def states(self, start: int, end: int) -> Integers:
        """The states from `start` to `end`, (B, variables)."""
        return self._states.rows[start:end]

    def parent(self, number: int) -> tuple[int, int] | None:
        """The state and the branch that found a state first; None for an initial one."""
        source, branch = self._parents.rows[number].tolist()
        return None if source < 0 else (source, branch)

    def transitions(self) -> tuple[Numbers, Numbers, Numbers]:
        """Sources, branches and targets (transitions,), ordered by source.

        Raises `NotExplicitError` where the memory limit leaves no room for them.
        """
        if 32 * self._kept / 2**20 > room_mb():
            raise NotExplicitError
        self.tick()
        columns = [np.concatenate([e[i] for e in self._edges] or [np.zeros(0, np.int32)]) for i in range(3)]
        order = np.argsort(columns[0], kind="stable")
        sources, branches, targets = (column[order] for column in columns)
        return sources, branches, targets

    def state(self, number: int) -> dict[str, Fraction]:
        """A state by name."""
        return self.named(self.states(number, number + 1)[0])

    def named(self, values: Integers) -> dict[str, Fraction]:
        """The values (variables,) of a state by name."""
        return {name: Fraction(v) for name, v in zip(self.system.variables, values.tolist(), strict=True)}
