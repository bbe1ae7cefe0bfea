"""Levels of all states that are reached, as a proof of LTL of a system and the lines of its certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from venmas.answer import IncompleteError
from venmas.checker.format.rule import Rule
from venmas.checker.levels.listing import Places, States
from venmas.model.system.system import System

if TYPE_CHECKING:
    from venmas.logic.automata.automaton import Automaton
    from venmas.procedures.linear.claim import SystemClaim

_TOGETHER = 20_000
"""Numbers in a line."""


@dataclass(frozen=True)
class Levels:
    """All states that are reached (B, variables), and a level for each with each automaton state; -1: not a pair.

    Along a step levels do not rise; they fall where `Product.levels` says (B, automaton states).
    """

    states: NDArray[np.integer]
    table: NDArray[np.int32]


@dataclass(frozen=True)
class LevelsProof:
    """pairs: of a state and an automaton state, all of which were looked at. within: steps after which every run has
    shown the property, where there is such a number. levels: kept where they are to be written and no limit was met.

    sound: False for what the checker is to refuse.
    """

    pairs: int
    within: int | None
    levels: Levels | None
    sound: bool = True
    kind: ClassVar[str] = "levels"

    def lines(self, claim: SystemClaim, tick: Callable[[], None]) -> Iterator[Rule]:
        """The automaton, and states in the order of their places in the box. Raises `IncompleteError`."""
        if self.levels is None:
            raise IncompleteError("a limit was met before the levels of its states were known")
        yield claim.stated(self.sound)
        yield from listed(claim.system, self.levels.states, self.levels.table.T, tick)

    def facts(self, automaton: Automaton) -> dict[str, Any]:
        """Sentence of a report."""
        return {"by": "enumeration", "from": "initial", "states": self.pairs, "within": self.within, "texts": []}


def listed(
    system: System, states: NDArray[np.integer], levels: NDArray[np.int32], tick: Callable[[], None]
) -> Iterator[Rule]:
    """States (B, variables) of a system of integers in the order of their places, with rows of levels (rows, B)."""
    ranges = np.array([[int(end) for end in ends] for ends in zip(*system.box.values(), strict=True)], np.int64)
    numbers = Places(ranges).of(states.astype(np.int64))
    order = np.argsort(numbers, kind="stable")
    steps = np.diff(numbers[order], prepend=-1).tolist()
    table = np.ascontiguousarray(levels[:, order])
    turn = max(1, _TOGETHER // (1 + len(table)))
    for at in range(0, len(steps), turn):
        tick()
        here = slice(at, at + turn)
        yield States(tuple(steps[here]), tuple(row[here] for row in table))
