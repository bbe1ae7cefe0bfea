"""Certificates of ``AG p`` without a bound: from an inductive set, or from a set that runs come back to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from venmas.answer import IncompleteError, Refuted
from venmas.checker.file import INDUCTIVE, PHASES
from venmas.checker.format.rule import Rule
from venmas.checker.goals.rules import End
from venmas.checker.inductive.header import write_invariant
from venmas.checker.inductive.phases import write_phases
from venmas.engine.certificates.file import Certificate, CertificateFile, Unwritten, header
from venmas.errors import FormulaError
from venmas.logic import Always, Bounded, parse
from venmas.model.invariant import Invariant, Phases
from venmas.procedures.exact.session import RationalSession
from venmas.procedures.inductive.write import inductive
from venmas.question import Question


def certify_inductive(
    question: Question,
    invariant: Invariant,
    path: str | Path,
    about: Mapping[str, object],
    tick: Callable[[], None] = lambda: None,
) -> Certificate | Unwritten:
    """Write the certificate that ``AG p``, which is asked, follows from an inductive set. about: for the header.

    Raises `IncompleteError` where the set is not inductive or does not lie in p, or that does not follow by enclosures,
    and `FormulaError` where another kind of property is asked.
    """
    found = inductive(question.system, _always(question).invariant, invariant, tick, question.semantics)
    head = header(replace(question, inside=True), about)
    with CertificateFile(path) as file:
        file.add({**head, "format": INDUCTIVE, "invariant": write_invariant(found.invariant)})
        for line in found.lines:
            file.add(line)
        return file.keep()


def certify_phases(
    question: Question,
    phases: Phases,
    path: str | Path,
    about: Mapping[str, object],
    tick: Callable[[], None] = lambda: None,
) -> Certificate | Unwritten:
    """Write the certificate that ``AG p``, which is asked, follows in two phases. about: for the header.

    Raises `IncompleteError` where one of its bounded claims is not proved in rationals, and `FormulaError` where
    another kind of property is asked.
    """
    system, holds = question.system, _always(question).invariant
    phases = replace(phases, reached=parse(str(phases.reached), system.vocabulary))  # as it is read again
    parts = [
        _proved(Question(part, Bounded(formula), question.semantics, certified=True), tick)
        for part, formula in phases.parts(system, holds)
    ]
    head = header(replace(question, inside=True), about)
    with CertificateFile(path) as file:
        file.add({**head, "format": PHASES, "phases": write_phases(phases, (parts[0][1], parts[1][1]))})
        for lines, _ in parts:
            for line in lines:
                file.write(line)
            file.write(End(len(lines) + 1))
        return file.keep(ended=True)


def _proved(question: Question, tick: Callable[[], None]) -> tuple[list[Rule], bool]:
    """The lines of a bounded claim, and whether it says besides that runs stay in the box: by enclosures, or cut."""
    for asked in (question, question.boxed):
        for whole in (True, False):
            lines: list[Rule] = []
            answer = RationalSession(asked, lines.append, whole).advance(tick)
            if isinstance(answer, Refuted):
                break
        if not isinstance(answer, Refuted):
            raise IncompleteError(f"a phase is not proved: {asked.formula}"[:2000])
        if not answer.leaving:
            return lines, asked.inside
    raise AssertionError("the second round claims that no run leaves the box")


def _always(question: Question) -> Always:
    if not isinstance(question.asked, Always):
        raise FormulaError("a set that runs do not leave proves AG p without a bound, p being about one state")
    return question.asked
