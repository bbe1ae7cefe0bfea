"""Proofs of ``AG p`` by an inductive set: its claims, and the cuts of those that enclosures do not close at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from venmas.checker.format.rule import Rule
from venmas.checker.inductive.claims import Claims
from venmas.checker.inductive.rules import Safe, Set, Start, Step
from venmas.logic import Formula
from venmas.model.canonical.canonical import shared
from venmas.model.invariant import Invariant
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.procedures.inductive.merge import merged
from venmas.procedures.inductive.trees import Divider
from venmas.question import Question, always


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
        holds, found = always(question).invariant, merged(question.system, self.invariant)
        yield Set.of(found)
        yield from closed(question.system, holds, found, tick, question.semantics)


def closed(
    system: System, holds: Formula, invariant: Invariant, tick: Callable[[], None], semantics: Semantics = "real"
) -> Iterator[Rule]:
    """The trees of the claims that a set is inductive and inside `holds`, a formula about one state.

    Raises `IncompleteError`.
    """
    claims = Claims(shared(system), holds, invariant)  # as who checks it reads it: equal nodes are told once
    divider = Divider(claims, tick, semantics)
    for index, claim in enumerate(claims.starts):
        root = divider.start(claim)
        if root.cut is not None:
            yield Start(index, root.tokens())
    for word, root in divider.words(claims.unsafe).items():
        yield Safe(word, root.tokens())
    for branch, claim in enumerate(claims.steps):
        for word, root in divider.words(claim).items():
            yield Step(branch, word, root.tokens())
