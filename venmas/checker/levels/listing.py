"""The pairs of a certificate: states of a system, and for each state of the automaton their levels.

A state is written by its place in the declared box, all states of which are counted with the last variable first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from venmas.checker.format.fields import Ints, Limit
from venmas.checker.format.lines import Lines
from venmas.checker.format.rule import Rule, rule
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
        places = np.zeros(len(states), self.kind)
        for i, (low, weight) in enumerate(zip(self._low, self._weights, strict=True)):
            places += (states[:, i] - low).astype(self.kind) * weight
        return places

    def states(self, numbers: NDArray[Any]) -> Ends:
        """The states (B, variables) of numbers (B,)."""
        columns = zip(self._weights, self._sizes, self._low, strict=True)
        values = [((numbers // weight) % size).astype(np.int64) + low for weight, size, low in columns]
        return np.stack(values, axis=1) if values else np.zeros((len(numbers), 0), np.int64)


@rule("states")
@dataclass(frozen=True, slots=True, eq=False)
class States(Rule):
    """States by their places, each less that of the state before it, and rows of levels: for each automaton state, or
    part of a formula of CTL.

    -1: the pair is not there.
    """

    steps: tuple[Annotated[int, Limit(least=1)], ...]
    levels: tuple[Annotated[Ints, Limit(ABSENT, MAX_LEVEL - 1)], ...]


class Listing:
    """States, ascending, and the levels of their pairs (automaton states, states). Raises `CheckError`."""

    def __init__(self, places: Places, automaton: int, lines: Lines) -> None:
        self.places, before, count = places, -1, 0
        numbers: list[NDArray[Any]] = [np.zeros(0, places.kind)]
        levels = [np.zeros((automaton, 0), np.int32)]
        for line in _to_the_end(lines):
            size = len(line.steps)
            count += size
            if len(line.levels) != automaton or any(len(row) != size for row in line.levels) or not size:
                raise lines.refused(f"levels are of {automaton} states of the automaton, for each of one state or more")
            if count > MAX_STATES or count * automaton > MAX_PAIRS:
                raise lines.refused(f"more than {MAX_STATES} states, or {MAX_PAIRS} pairs")
            places_of = []
            for step in line.steps:
                before += step
                places_of.append(before)
            if before >= places.size:
                raise lines.refused("a state is outside the declared box")
            numbers.append(np.array(places_of, places.kind))
            levels.append(np.array(line.levels, np.int32).reshape(automaton, size))
        self.numbers, self.levels = np.concatenate(numbers), np.concatenate(levels, axis=1)

    def rows(self, states: Ends) -> NDArray[np.intp]:
        """The places (B,) in this list of states (B, variables); -1 for others."""
        numbers = self.places.of(states)
        if not len(self.numbers):
            return np.full(len(numbers), -1, np.intp)
        index = np.searchsorted(self.numbers, numbers)
        index = np.minimum(index, len(self.numbers) - 1)
        return np.where((self.numbers[index] == numbers).astype(bool), index, -1)


def _to_the_end(lines: Lines) -> Iterator[States]:
    while (line := lines.take(States)) is not None:
        yield line
    lines.end()
