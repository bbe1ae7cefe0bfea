"""The pairs of a certificate: states of a system, and for each state of the automaton their levels.

A state is written by its place in the declared box, all states of which are counted with the last variable first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.checker.format.numbers import CheckError
from venmas.checker.inductive.constraints import Ends

MAX_STATES = 5_000_000
MAX_PAIRS = 50_000_000
"""Most states, and most states times states of the automaton."""
MAX_LEVEL = 2**31
ABSENT = -1
"""The level of a pair that is not there."""


class Places:
    """States of a box as whole numbers. ranges: least and greatest values (2, variables)."""

    def __init__(self, ranges: Ends) -> None:
        low, high = ranges.tolist()
        sizes = [b - a + 1 for a, b in zip(low, high, strict=True)]
        self.size = prod(sizes)
        self._sizes, self._low = sizes, low
        self._weights = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
        self.kind = np.dtype(np.int64 if self.size < 2**62 else object)

    def of(self, states: Ends) -> NDArray[Any]:
        """The numbers (B,) of states (B, variables)."""
        found = np.zeros(len(states), self.kind)
        for i, (low, weight) in enumerate(zip(self._low, self._weights, strict=True)):
            found += (states[:, i] - low).astype(self.kind) * weight
        return found

    def states(self, numbers: NDArray[Any]) -> Ends:
        """The states (B, variables) of numbers (B,)."""
        columns = zip(self._weights, self._sizes, self._low, strict=True)
        found = [((numbers // weight) % size).astype(np.int64) + low for weight, size, low in columns]
        return np.stack(found, axis=1) if found else np.zeros((len(numbers), 0), np.int64)


class Listing:
    """States, ascending, and the levels of their pairs (automaton states, states). Raises `CheckError`."""

    def __init__(self, places: Places, automaton: int, lines: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        self.places, before, count = places, -1, 0
        numbers: list[NDArray[Any]] = [np.zeros(0, places.kind)]
        levels = [np.zeros((automaton, 0), np.int32)]
        for at, line in lines:
            steps, rows = _whole(at, line["steps"], 1), line["levels"]
            if not isinstance(rows, list) or len(rows) != automaton:
                raise CheckError(at, f"levels are of {automaton} states of the automaton")
            count += len(steps)
            if count > MAX_STATES or count * automaton > MAX_PAIRS:
                raise CheckError(at, f"more than {MAX_STATES} states, or {MAX_PAIRS} pairs")
            table = [_whole(at, row, ABSENT) for row in rows]
            if not steps or any(len(row) != len(steps) or max(row) >= MAX_LEVEL for row in table):
                raise CheckError(at, f"a level below {MAX_LEVEL} is wanted for each of one state or more")
            places_of = []
            for step in steps:
                before += step
                places_of.append(before)
            if before >= places.size:
                raise CheckError(at, "a state is outside the declared box")
            numbers.append(np.array(places_of, places.kind))
            levels.append(np.array(table, np.int32).reshape(automaton, len(steps)))
        self.numbers, self.levels = np.concatenate(numbers), np.concatenate(levels, axis=1)

    def rows(self, states: Ends) -> NDArray[np.intp]:
        """The places (B,) in this list of states (B, variables); -1 for others."""
        wanted = self.places.of(states)
        if not len(self.numbers):
            return np.full(len(wanted), -1, np.intp)
        found = np.searchsorted(self.numbers, wanted)
        found = np.minimum(found, len(self.numbers) - 1)
        return np.where((self.numbers[found] == wanted).astype(bool), found, -1)


def _whole(line: int, data: object, least: int) -> list[int]:
    if not isinstance(data, list) or any(type(one) is not int for one in data) or min(data, default=least) < least:
        raise CheckError(line, f"expected a list of whole numbers, none below {least}: {str(data)[:60]}")
    return data
