"""Proofs of ``AG p`` by an inductive set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from venmas.checker.format.rule import Rule
from venmas.model.invariant import Invariant
from venmas.question import Question


@dataclass(frozen=True)
class Inductive:
    """A set that holds the initial states, lies in p, and is not left.

    Its lines raise `IncompleteError` where that is not so, or does not follow by enclosures on parts of the cells, and
    `FormulaError` where another kind of property is asked.
    """

    invariant: Invariant
    kind: ClassVar[str] = "inductive"

    def lines(self, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
        """The set, and the trees of its claims."""
        from venmas.procedures.inductive.trees import lines  # the checker is loaded where there is a proof

        return lines(self.invariant, question, tick)
