"""Rules about goals, which are most of those in `venmas.checker.goals.rules`, and the place where a line stands."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from venmas.checker.format.rule import Line, Rule
from venmas.checker.goals.goals import Goal
from venmas.checker.goals.lemmas import Book


@dataclass(slots=True)
class Place:
    """Where a line stands: its number, what lines name by number, and sizes of its goal, if it is about one.

    free: free variables of the goal's cell; todo: its obligations.
    """

    line: int
    book: Book
    free: int = 0
    todo: int = 0


class Step(Rule):
    """A rule that is about a goal."""

    __slots__ = ()
    misfit = "no rule for this goal"
    about_obligation: ClassVar[bool] = False
    """Does it speak of an obligation of the goal? Then there must be one."""
    nameable: ClassVar[bool] = False
    """May `same` name its goal later?"""

    @abstractmethod
    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """What is left to be refuted: whatever state meets the goal meets one of these. Raises `CheckError`."""

    @classmethod
    def entries(cls, data: Line, at: Place) -> list[Any]:
        """The same; refused where an obligation is missing, too."""
        if cls.about_obligation and not at.todo:
            raise cls.refused(data, at)
        return super().entries(data, at)
