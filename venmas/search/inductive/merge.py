"""The same set in fewer words: those that differ in one interval, or in one predicate over several variables, are one.

A word whose predicates over one variable each are thresholds is a box of integers and truths of the other predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import ceil, floor
from typing import Any, TypeAlias

from venmas.budget import ask
from venmas.model.invariant import Invariant
from venmas.model.system import System

Part: TypeAlias = tuple[Any, ...]
"""An interval of integers for each variable, then the truth (1, 0 or -) of each predicate over several variables."""

_ROUNDS = 20


def merged(system: System, invariant: Invariant) -> Invariant:
    """The same set of states; where a variable is real, words that are given twice and unused predicates go."""
    if all(decl.integral for decl in system.variables.values()):
        return _Merging(system, invariant).run()
    words = tuple(dict.fromkeys(invariant.words))
    used = [i for i in range(len(invariant.predicates)) if any(word[i] != "-" for word in words)]
    return Invariant(
        tuple(invariant.predicates[i] for i in used), tuple("".join(word[i] for i in used) for word in words)
    )


class _Merging:
    def __init__(self, system: System, invariant: Invariant) -> None:
        self._invariant = invariant
        self._ranges = [(ceil(d.lower), floor(d.upper)) for d in system.variables.values()]
        self._single: dict[int, tuple[int, Fraction, Fraction]] = {}
        self._several: list[int] = []
        for i, row in enumerate(invariant.predicates):
            places = [j for j, c in enumerate(row[1:]) if c]
            if len(places) == 1:
                self._single[i] = places[0], row[1 + places[0]], row[0]
            else:
                self._several.append(i)

    def run(self) -> Invariant:
        """The set in fewer words."""
        parts = dict.fromkeys(part for word in self._invariant.words if (part := self._part(word)) is not None)
        for _ in range(_ROUNDS):
            before = len(parts)
            for at in range(len(self._ranges)):
                parts = _joined(parts, at, _unions)
            for at in range(len(self._ranges), len(self._ranges) + len(self._several)):
                parts = _joined(parts, at, _truths)
            if len(parts) == before:
                break
        return self._written(list(parts))

    def _part(self, word: str) -> Part | None:
        ends = list(self._ranges)
        for i, (at, factor, constant) in self._single.items():
            if word[i] == "-":
                continue
            low, high = ends[at]
            root = -constant / factor
            if (factor > 0) == (word[i] == "1"):  # from the root on, itself included if the predicate holds there
                low = max(low, ceil(root) if word[i] == "1" else floor(root) + 1)
            else:
                high = min(high, floor(root) if word[i] == "1" else ceil(root) - 1)
            if low > high:
                return None
            ends[at] = low, high
        return (*ends, *(word[i] for i in self._several))

    def _written(self, parts: list[Part]) -> Invariant:
        size, count = len(self._ranges), len(self._several)
        thresholds = sorted({(at, end) for part in parts for at, end, _ in self._ends(part)})
        number = {threshold: i for i, threshold in enumerate(thresholds)}
        kept = [j for j in range(count) if any(part[size + j] != "-" for part in parts)]
        rows = [
            (Fraction(-end), *(Fraction(int(i == at)) for i in range(size)))  # the variable is at least its end
            for at, end in thresholds
        ]
        rows += [self._invariant.predicates[self._several[j]] for j in kept]
        words = []
        for part in parts:
            word = ["-"] * len(thresholds)
            for at, end, truth in self._ends(part):
                word[number[at, end]] = truth
            words.append("".join((*word, *(str(part[size + j]) for j in kept))))
        return Invariant(tuple(rows), tuple(words))

    def _ends(self, part: Part) -> Iterable[tuple[int, int, str]]:
        for at, (least, most) in enumerate(self._ranges):
            low, high = part[at]
            if low > least:
                yield at, low, "1"
            if high < most:
                yield at, high + 1, "0"


def _joined(parts: Iterable[Part], at: int, join: Callable[[set[Any]], list[Any]]) -> dict[Part, None]:
    """Parts that are equal but for one place, joined there."""
    groups: dict[Part, set[Any]] = {}
    for part in parts:
        ask()
        groups.setdefault((*part[:at], *part[at + 1 :]), set()).add(part[at])
    return {(*rest[:at], one, *rest[at:]): None for rest, ones in groups.items() for one in join(ones)}


def _unions(intervals: set[Any]) -> list[Any]:
    found: list[tuple[int, int]] = []
    for low, high in sorted(intervals):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return found


def _truths(truths: set[Any]) -> list[Any]:
    return ["-"] if "-" in truths or len(truths) == 2 else list(truths)
