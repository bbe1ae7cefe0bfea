"""Rules about goals, which are most of those in `venmas.checker.goals.rules`, and the place where a line stands."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from venmas.checker.format.numbers import CheckError, read_index
from venmas.checker.format.rule import Rule
from venmas.checker.goals.goals import Goal
from venmas.checker.goals.lemmas import Book


@dataclass(slots=True)
class Place:
    """Context of a line: its number, the objects that lines name by number, and sizes of its goal, if it is about one.

    free: free variables of the goal's cell; todo: its obligations.
    """

    line: int
    book: Book
    free: int = 0
    todo: int = 0

    def index(self, value: int, count: int) -> int:
        """A place in a list of `count`, from 0. Raises `CheckError`."""
        return read_index(self.line, value, count)

    def refused(self, problem: str) -> CheckError:
        """The refusal of the line."""
        return CheckError(self.line, problem)


class Step(Rule):
    """a step of a proof of a goal"""

    __slots__ = ()
    about_obligation: ClassVar[bool] = False
    """Does it speak of an obligation of the goal? Then there must be one."""
    nameable: ClassVar[bool] = False
    """May `same` name its goal later?"""

    def taken(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """`apply`, refused where an obligation is missing. Raises `CheckError`."""
        if self.about_obligation and not at.todo:
            raise at.refused(f"{self.name}: the goal has no obligation")
        return self.apply(goal, at)

    @abstractmethod
    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """Goals that are left to be refuted: whatever state meets the goal meets one of these. Raises `CheckError`."""
