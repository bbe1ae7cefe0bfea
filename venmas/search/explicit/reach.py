"""The states that a system of integers reaches, each found once and stored as a few bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from venmas.budget import room_mb
from venmas.logic import TRUE
from venmas.model.system import System
from venmas.search.states.initial import integer_points
from venmas.search.states.integers import Integers, NotExplicitError
from venmas.search.states.starts import points_of_condition
from venmas.search.states.vectorised import Columns

MAX_BYTES = 1 << 28
"""Most memory for the states, and for the truth of the atoms of a formula in them."""

ABSENT, OUTSIDE = -2, -1
"""Successors that are no state: the guard does not hold; the box is left, or the state was not expanded."""


class Packing:
    """States as bytes: a bit for each variable in {0, 1}, the smallest fitting integers for the others."""

    def __init__(self, ranges: NDArray[np.int64]) -> None:
        bits = (ranges[0] >= 0) & (ranges[1] <= 1)
        self.bits, self.rest = np.flatnonzero(bits), np.flatnonzero(~bits)
        self.bit_bytes = -(-len(self.bits) // 8)
        ends = ranges[:, self.rest]
        kinds = [np.min_scalar_type(int(v)) for v in (ends.min(initial=-1), -ends.max(initial=0) - 1)]
        self.kind = np.result_type(*kinds)
        self.size = self.bit_bytes + len(self.rest) * self.kind.itemsize
        self.width = ranges.shape[1]

    def keys(self, states: Integers) -> list[bytes]:
        """(B, variables) -> B texts."""
        bits = np.packbits((states if len(self.bits) == self.width else states[:, self.bits]).astype(bool), axis=1)
        rest = np.frombuffer(states[:, self.rest].astype(self.kind).tobytes(), np.uint8)
        whole = np.concatenate([bits, rest.reshape(len(states), self.size - self.bit_bytes)], axis=1).tobytes()
        return [whole[i : i + self.size] for i in range(0, len(whole), self.size)]

    def states(self, keys: Sequence[bytes]) -> NDArray[np.int64] | Integers:
        """B texts -> (B, variables)."""
        whole = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), self.size)
        found = np.empty((len(keys), self.width), self.kind)
        found[:, self.bits] = np.unpackbits(whole[:, : self.bit_bytes], axis=1, count=len(self.bits))
        rest = np.frombuffer(whole[:, self.bit_bytes :].tobytes(), self.kind)
        found[:, self.rest] = rest.reshape(len(keys), len(self.rest))
        return found


class StateGraph:
    """The states that are reached, and for each branch the numbers of the successors of those that were expanded."""

    def __init__(self, system: System, limit: int, tick: Callable[[], None]) -> None:
        self.system, self.tick = system, tick
        self.columns = Columns(system)
        self.packing = Packing(self.columns.ranges)
        self.limit = min(limit, MAX_BYTES // max(self.packing.size, 4 * len(system.branches)))
        self.index: dict[bytes, int] = {}
        self.keys: list[bytes] = []
        self.expanded = 0
        self.deadlock: int | None = None
        self.left: tuple[int, int] | None = None
        self._found: list[NDArray[np.int32]] = []
        for blocks in self._initial():
            waiting: list[Integers] = []
            for block in blocks:
                waiting.append(block)
                if sum(map(len, waiting)) >= self.columns.rows:
                    self._number(np.concatenate(waiting))
                    waiting = []
            if waiting:
                self._number(np.concatenate(waiting))
        self.initial = len(self.keys)

    def _initial(self) -> Iterator[Iterator[Integers]]:
        """The initial states, part by part, in blocks."""
        system, ranges = self.system, self.columns.ranges
        if system.initial_condition is not TRUE:
            yield points_of_condition(system, self.limit, self.tick)
            return
        for region in system.regions:
            yield integer_points(system, region, ranges, self.limit, self.tick)

    def state(self, number: int) -> dict[str, Fraction]:
        """A state by name."""
        values = self.packing.states([self.keys[number]])[0].tolist()
        return {name: Fraction(v) for name, v in zip(self.system.variables, values, strict=True)}

    def chunks(self, start: int, end: int) -> Iterator[tuple[int, Integers]]:
        """The states from `start` to `end`, some at a time, with the number of the first."""
        for first in range(start, end, self.columns.rows):
            self.tick()
            yield first, self.packing.states(self.keys[first : min(end, first + self.columns.rows)])

    def _number(self, states: Integers) -> list[int]:
        numbers = []
        for key in self.packing.keys(states):
            number = self.index.setdefault(key, len(self.keys))
            if number == len(self.keys):
                self.keys.append(key)
            numbers.append(number)
        if len(self.keys) > self.limit:
            raise NotExplicitError
        return numbers

    def reach(self, depth: int) -> None:
        """Expand the states that are reached in fewer than `depth` steps."""
        for _ in range(depth):
            start, self.expanded = self.expanded, len(self.keys)
            for first, states in self.chunks(start, self.expanded):
                self._found.append(self._expand(first, states))
            if start == self.expanded:
                break

    def _expand(self, first: int, states: Integers) -> NDArray[np.int32]:
        """(B, variables) -> (branches, B)."""
        columns = self.columns
        found = np.full((len(columns.guards), len(states)), ABSENT, np.int32)
        for b, rows, new, outside in columns.steps(states):
            if outside.any():
                found[b, rows[outside]] = OUTSIDE
                self.left = self.left or (first + int(rows[outside][0]), b)
                rows, new = rows[~outside], new[~outside]
            found[b, rows] = self._number(new)
        if self.deadlock is None and (stuck := np.flatnonzero((found == ABSENT).all(0))).size:
            self.deadlock = first + int(stuck[0])
        return found

    def successors(self) -> NDArray[np.int64]:
        """(branches, states); -1 and -2 address the places behind the last state.

        Raises `NotExplicitError` where the memory limit leaves no room for them.
        """
        if len(self.columns.guards) * len(self.keys) * 12 / 2**20 > room_mb():
            raise NotExplicitError
        unknown = np.full((len(self.columns.guards), len(self.keys) - self.expanded), OUTSIDE, np.int32)
        return np.concatenate([*self._found, unknown], axis=1).astype(np.intp)
