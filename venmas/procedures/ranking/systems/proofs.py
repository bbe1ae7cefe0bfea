"""Questions about systems, asked of the search in exact rationals: a proof for a certificate, or a state against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial

from venmas.answer import Proved, Violated
from venmas.budget import ask
from venmas.checker.format.rule import Rule
from venmas.logic import Bounded
from venmas.logic.formula import Formula
from venmas.model.system.system import System
from venmas.procedures.exact.session import ExactSession
from venmas.question import Question

MOST_LINES = 20_000
"""Of one proof; what takes more is given up."""

State = Mapping[str, Fraction]
Proof = tuple[Rule, ...]


class _LongError(Exception):
    """A proof is given up."""


def asked_exactly(system: System, formula: Formula, inside: bool = False) -> Proof | State | None:
    """The proof of a question; else an initial state that meets its negation; None where neither is found.

    inside: the question is besides whether no run leaves the declared box.
    """
    for whole in (True, False):
        lines: list[Rule] = []
        session = ExactSession(Question(system, Bounded(formula), certified=True, inside=inside), lines.append, whole)
        try:
            answer = session.advance(partial(_room, lines))
        except _LongError:
            return None
        if isinstance(answer, Proved) and not answer.leaving:
            return tuple(lines)
        if isinstance(answer, Violated):
            return dict(answer.witness.initial)
    return None


def _room(lines: Sequence[Rule]) -> None:
    ask()
    if len(lines) > MOST_LINES:
        raise _LongError
