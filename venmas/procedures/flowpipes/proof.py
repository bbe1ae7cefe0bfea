"""Proofs by flowpipes: the tree of the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from venmas.answer import IncompleteError, Proved, Unknown, Written
from venmas.budget import Budget
from venmas.checker.format.rule import Rule
from venmas.errors import Reason
from venmas.model.evaluation.cuts import Tree
from venmas.question import Question

BITS = 60
"""Values of certificates are in units of 2^-60."""
_PATIENCE, _WRITING = 60.0, 0.5
"""Part of the time that is left for writing down a proof; seconds where there is no limit."""
_CUTS = 40
"""Cuts above a leaf that are added here, at most."""


@dataclass(frozen=True)
class Flowpipes:
    """Cuts of initial sets, and how finely each part is enclosed. What they prove is of runs inside the box, too.

    trees: of each initial set, None for one of which nothing is known; again for each further goal. Its lines raise
    `IncompleteError` where a leaf does not pass however finely it is enclosed and cut.
    """

    trees: tuple[Tree | None, ...]
    kind: ClassVar[str] = "flowpipes"

    def lines(self, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
        """The unit of values, and the trees."""
        from venmas.procedures.flowpipes.lines import asked, lines  # the checker is loaded where there is a proof

        return lines(self.trees, asked(question), tick)


def written(answer: Proved, asked: Question, budget: Budget) -> Proved | Unknown:
    """An answer with the lines of its proof: of what others take, too, one that has no certificate decides nothing."""
    assert answer.proof is not None
    proof = answer.proof
    try:
        rules = budget.spend(
            _PATIENCE if budget.left is None else _WRITING * budget.left, lambda part: tuple(proof.lines(asked, part))
        )
    except IncompleteError as error:
        return Unknown(Reason.OPEN, f"its proof has no certificate: {error}")
    if rules is None:
        return Unknown(Reason.OPEN, "it was not able to write its proof down in its part of the time")
    return replace(answer, proof=Written(Flowpipes.kind, rules))
