"""Proofs of ``AG p`` without a bound in two phases: two bounded proofs in exact rationals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import ClassVar

from venmas.answer import IncompleteError, Proved
from venmas.checker.format.rule import End, Rule
from venmas.checker.inductive.phases import Stated
from venmas.logic import Bounded, parse
from venmas.model.invariant import Phases
from venmas.procedures.branch_and_bound.certificate import SplitTrees
from venmas.procedures.exact.session import ExactSession
from venmas.question import Question, always

_QUICK = 0.5
"""Seconds for a search in rationals, before the program is unrolled and cut."""


@dataclass(frozen=True)
class PhaseProof:
    """Runs are in a set after some steps, and from it again after some, and p holds on the way.

    Its lines raise `IncompleteError` where a bounded claim is not proved in rationals, and `FormulaError` where another
    kind of property is asked.
    """

    phases: Phases
    kind: ClassVar[str] = "two-phase"

    def lines(self, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
        """What is claimed, and both proofs."""
        system, holds = question.system, always(question).invariant
        phases = replace(self.phases, reached=parse(str(self.phases.reached), system.vocabulary))  # as it is read again
        parts = [
            proved_part(Question(part, Bounded(formula), question.semantics, certified=True), tick)
            for part, formula in phases.parts(system, holds)
        ]
        yield Stated.of(phases, (parts[0][1], parts[1][1]))
        for lines, _ in parts:
            yield from lines
            yield End(len(lines) + 1)


def proved_part(question: Question, tick: Callable[[], None]) -> tuple[list[Rule], bool]:
    """The lines of a bounded claim by goals, and whether it says besides that runs stay in the box.

    By enclosures in rationals; by a search in them, while that is quick; by cuts of the unrolled program; else by the
    search. Raises `IncompleteError`.
    """
    ways = (question,) if question.inside else (question, question.boxed)
    for whole, seconds in ((True, inf), (False, _QUICK), (False, inf)):
        if seconds == inf and not whole:
            with suppress(IncompleteError):
                return list(SplitTrees({}).lines(question.boxed, tick)), True
        for way in ways:
            lines = _in_rationals(way, tick, whole, monotonic() + seconds)
            if lines is not None:
                return lines, way.inside
    raise IncompleteError(f"a bounded claim is not proved: {question.formula}"[:2000])


def _in_rationals(question: Question, tick: Callable[[], None], whole: bool, until: float) -> list[Rule] | None:
    """The lines of a proof in rationals, None where there is none until then. whole: by enclosures alone."""
    lines: list[Rule] = []
    session = ExactSession(question, lines.append, whole)
    for _ in session.steps(tick):
        if monotonic() > until:
            return None
    return lines if isinstance(session.answer, Proved) and not session.answer.leaving else None
