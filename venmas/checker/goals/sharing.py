"""Sharing of refuted goals: keys of goals, and containment between goals of one key."""

from __future__ import annotations

from collections.abc import Hashable

from venmas.checker.exact.cell import Cell
from venmas.checker.goals.goals import Goal
from venmas.checker.goals.paths import Holds
from venmas.logic import AX, EX, And, Or


class Closed:
    """Goals that were refuted, by the number of the line that took them apart."""

    def __init__(self) -> None:
        self._goals: dict[int, tuple[object, Cell]] = {}
        self._rows_within: dict[tuple[int, int], tuple[object, object]] = {}

    def add(self, line: int, key: object, cell: Cell) -> None:
        """The goal of a line, which has a key, is refuted."""
        self._goals[line] = key, cell

    def __contains__(self, line: int) -> bool:
        return line in self._goals

    def contains(self, line: int, goal: Goal) -> bool:
        """Is the goal one of which the goal of that line says the same, for a cell that covers its own?"""
        key, cell = self._goals[line]
        return key == lemma_key(goal) and covers(cell, goal.world.cell, self._rows_within)


def lemma_key(goal: Goal) -> Hashable | None:
    """Key of a goal with a single obligation, when its state is exact: formula, state as forms, facts."""
    if (
        goal.world.assumed
        or len(goal.todo) != 1
        or not isinstance(goal.todo[0], Holds)
        or not isinstance(goal.todo[0].formula, AX | EX | And | Or)
    ):
        return None
    forms = goal.world.key(goal.todo[0].path)
    # what was refuted together with facts is not refuted without them
    return None if forms is None else (goal.todo[0].formula, forms, goal.facts)


def covers(big: Cell, small: Cell, known: dict[tuple[int, int], tuple[object, object]] | None = None) -> bool:
    """Does the first cell contain the second? Told by the boxes and by the rows that both have.

    known: what earlier questions found out about rows (see `Map.within`).
    """
    if big.names != small.names or big.integral != small.integral:  # a lemma may name its reals like an integer
        return False
    inside = all(a <= c and d <= b for a, b, c, d in zip(big.low, big.high, small.low, small.high, strict=True))
    return inside and big.rows.within(small.rows, known)
