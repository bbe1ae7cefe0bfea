"""Proofs by covers: the lines of grids, which the checker follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from venmas.answer import Proved, Unknown, Written
from venmas.budget import Budget
from venmas.checker.covers.grid import Grid
from venmas.checker.covers.parts import Part
from venmas.checker.file import KINDS
from venmas.checker.format.about import About
from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import End, Rule
from venmas.errors import Reason
from venmas.question import Question

_KIND = "covers"
_PATIENCE, _WRITING = 60.0, 4 / 5
"""Part of the time that is left for the check; seconds where there is no limit."""


def written(
    answer: Proved, question: Question, grids: Sequence[tuple[tuple[str, ...], Grid]], budget: Budget
) -> Proved | Unknown | int:
    """The answer with its proof, which the checker has followed; the grid in which it takes a set for open, if so.

    grids: with the variables of each, none of those that all are on.
    """
    claim = Claim(str(question.asked.formula), question.asked.kind, question.semantics, answer.inside)  # type: ignore[arg-type]
    about = About(claim, question.undrawn or question.system, {})
    lines: list[Rule] = []
    for names, grid in grids:
        lines += [Part(names), grid] if names else [grid]
    rows = [line.to_json() for line in (*lines, End(len(lines) + 1))]
    seconds = _PATIENCE if budget.left is None else _WRITING * budget.left
    try:
        checked = budget.spend(seconds, lambda part: KINDS[_KIND].check(about, Lines(rows, lambda _: part())))
    except CheckError as error:
        return (error.line - 1) // 2 if len(grids) > 1 else 0
    if checked is None:
        return Unknown(Reason.OPEN, "its proof was not written down in its part of the time")
    return replace(answer, proof=Written(_KIND, tuple(lines)))
