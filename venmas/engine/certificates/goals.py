"""Proofs in exact rationals, searched for while they are written to certificates (docs/certificates.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from venmas.answer import IncompleteError, Proved
from venmas.checker.format.rule import Rule
from venmas.engine.certificates.file import write
from venmas.engine.certificates.kept import Certificate, Unwritten
from venmas.logic import Bounded, Formula
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.procedures.exact.proof import Proof
from venmas.procedures.exact.session import ExactSession
from venmas.question import Question


class Search:
    """The proof that a search finds. whole: by enclosures alone. session: the search, once it has begun."""

    kind: ClassVar[str] = "goals"

    def __init__(self, whole: bool = False) -> None:
        self.whole = whole
        self.session: ExactSession | None = None

    def lines(self, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
        """Each as soon as it is found. Raises `IncompleteError` where the claim is not shown."""
        made: list[Rule] = []
        self.session = ExactSession(question, made.append, self.whole)
        for _ in self.session.steps(tick):
            yield from made
            made.clear()
        if not isinstance(self.session.answer, Proved) or self.session.answer.leaving:
            raise IncompleteError("the search found no proof")


def prove(
    system: System, formula: Formula, tick: Callable[[], None] = lambda: None, semantics: Semantics = "real"
) -> Proof:
    """Search for a proof in exact rationals that every initial state satisfies `formula`, or for a witness."""
    return searched(Question(system, Bounded(formula), semantics), tick).figures


def searched(question: Question, tick: Callable[[], None], whole: bool = False) -> ExactSession:
    """The search for a proof or a witness, at its end. whole: see `certify`."""
    for asked in (question, question.boxed):
        session = ExactSession(asked, whole=whole)
        answer = session.advance(tick)
        if not (isinstance(answer, Proved) and answer.leaving):
            break
    return session


def certify(
    system: System,
    formula: Formula,
    path: str | Path,
    about: Mapping[str, object],
    tick: Callable[[], None] = lambda: None,
    semantics: Semantics = "real",
    whole: bool = False,
    inside: bool = False,
) -> tuple[Proof, Certificate | Unwritten | None]:
    """The same, and write the certificate to `path` when the proof is complete. about: what the header says besides.

    whole: by enclosures alone, which is quick where bounds are known to refute the negation. inside: prove in any case
    that no state leaves the declared box.
    """
    question = Question(system, Bounded(formula), semantics, certified=True)
    for asked in (question, question.boxed)[inside:]:
        search, stored = Search(whole), None
        try:
            stored = write(path, asked, search, tick, about)
        except IncompleteError:
            assert search.session is not None
            if isinstance(answer := search.session.answer, Proved) and answer.leaving:
                continue  # prove with it that no state leaves the declared box
        assert search.session is not None
        return search.session.figures, stored
    raise AssertionError("the second round ends")
