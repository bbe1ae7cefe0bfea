"""Proofs by covers: the line of a grid, which the checker follows."""

from __future__ import annotations

from dataclasses import replace

from venmas.answer import Proved, Unknown, Written
from venmas.budget import Budget
from venmas.checker.covers.grid import Grid
from venmas.checker.file import KINDS
from venmas.checker.format.about import About
from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import End
from venmas.errors import Reason
from venmas.question import Question

_KIND = "covers"
_PATIENCE, _WRITING = 60.0, 1 / 2
"""Part of the time that is left for the check; seconds where there is no limit."""


def written(answer: Proved, question: Question, grid: Grid, budget: Budget) -> Proved | Unknown | None:
    """The answer with its proof, which the checker has followed; None where it takes a set for open."""
    claim = Claim(str(question.asked.formula), question.asked.kind, question.semantics, answer.inside)  # type: ignore[arg-type]
    about = About(claim, question.undrawn or question.system, {})
    rows = [grid.to_json(), End(2).to_json()]
    seconds = _PATIENCE if budget.left is None else _WRITING * budget.left
    try:
        checked = budget.spend(seconds, lambda part: KINDS[_KIND].check(about, Lines(rows, lambda _: part())))
    except CheckError:
        return None
    if checked is None:
        return Unknown(Reason.OPEN, "its proof was not written down in its part of the time", unwritten=answer)
    return replace(answer, proof=Written(_KIND, (grid,)))
