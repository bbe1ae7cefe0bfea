"""Proofs in exact rationals, and the files they are written to (docs/certificates.md)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from venmas._version import __version__
from venmas.answer import Refuted, Write
from venmas.checker.file import FORMAT, INDUCTIVE
from venmas.checker.inductive.header import write_invariant
from venmas.checker.rule import Rule
from venmas.checker.rules import End
from venmas.errors import FormulaError
from venmas.files import NewFile
from venmas.logic import Always, Bounded, Formula
from venmas.model.canonical import networks_of, system_to_json
from venmas.model.invariant import Invariant
from venmas.model.system import System
from venmas.nn.network import Semantics
from venmas.question import Question
from venmas.search.inductive.write import inductive
from venmas.search.rational.search import Proof
from venmas.search.rational.session import RationalSession

_AS_TEXT = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True)
class Certificate:
    """A certificate on disk: its name, and how large it is."""

    path: str
    lines: int
    size: int


@dataclass(frozen=True)
class Unwritten:
    """A certificate that could not be written, such as where the disk is full, and why. Its proof is none the worse."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"cannot write {self.path!r}: {self.problem}; the proof is not stored"


class _File:
    """One JSON object a line, compressed; a file that can not be written is given up, and remembers why."""

    def __init__(self, path: str | Path) -> None:
        self.path, self._problem, self._lines = str(path), "", 0
        self._open = ExitStack()
        with self._tried():
            self._file = self._open.enter_context(NewFile(path))
            self._packed = gzip.GzipFile(filename="", mode="wb", fileobj=self._file.raw, mtime=0)
            self._open.callback(self._end)

    def write(self, rule: Rule) -> None:
        """Add a line of the proof."""
        self.add(rule.to_json())

    def add(self, line: Mapping[str, object]) -> None:
        """Add a line."""
        self._lines += 1
        if not self._problem:
            with self._tried():
                self._packed.write(_AS_TEXT(line).encode() + b"\n")

    def keep(self) -> Certificate | Unwritten:
        """Give the complete file its name."""
        self.write(End(self._lines))
        size = 0
        if not self._problem:
            with self._tried():
                self._packed.close()
                size = self._file.keep()
        return Unwritten(self.path, self._problem) if self._problem else Certificate(self.path, self._lines, size)

    def _end(self) -> None:
        with suppress(OSError):
            self._packed.close()

    @contextmanager
    def _tried(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._problem = error.strerror or str(error)
            self._open.close()

    def __enter__(self) -> _File:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()


def write_certificate(
    path: str | Path, question: Question, about: Mapping[str, object], proof: Write
) -> Certificate | Unwritten:
    """Write a proof to a file, nothing where it raises `IncompleteError`. about: what the header says besides."""
    with _File(path) as file:
        file.add(_header(question, about))
        proof(file.write)
        return file.keep()


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
    asked = question.asked
    if not isinstance(asked, Always):
        raise FormulaError("an inductive set proves AG p without a bound, p being about one state, and nothing else")
    found = inductive(question.system, asked.invariant, invariant, tick, question.semantics)
    head = _header(replace(question, inside=True), about)
    with _File(path) as file:
        file.add({**head, "format": INDUCTIVE, "invariant": write_invariant(found.invariant)})
        for line in found.lines:
            file.add(line)
        return file.keep()


def prove(
    system: System, formula: Formula, tick: Callable[[], None] = lambda: None, semantics: Semantics = "real"
) -> Proof:
    """Search for a proof in exact rationals that every initial state satisfies `formula`, or for a witness."""
    question = Question(system, Bounded(formula), semantics)
    for asked in (question, question.boxed):
        session = RationalSession(asked)
        answer = session.advance(tick)
        if not (isinstance(answer, Refuted) and answer.leaving):
            break
    return session.figures.proof


def certify(
    system: System,
    formula: Formula,
    path: str | Path,
    about: Mapping[str, object],
    tick: Callable[[], None] = lambda: None,
    semantics: Semantics = "real",
    whole: bool = False,
) -> tuple[Proof, Certificate | Unwritten | None]:
    """The same, and write the certificate to `path` when the proof is complete. about: what the header says besides.

    whole: by enclosures alone, which is quick where bounds are known to refute the negation.
    """
    question = Question(system, Bounded(formula), semantics, certified=True)
    for asked in (question, question.boxed):
        with _File(path) as file:
            file.add(_header(asked, about))
            session = RationalSession(asked, file.write, whole)
            answer, proof = session.advance(tick), session.figures.proof
            if isinstance(answer, Refuted) and answer.leaving:
                continue  # prove with it that no state leaves the declared box
            if not isinstance(answer, Refuted):
                return proof, None
            return proof, file.keep()
    raise AssertionError("the second round ends")


def _header(question: Question, about: Mapping[str, object]) -> dict[str, object]:
    system = question.system
    return {
        "format": FORMAT,
        "venmas": __version__,
        "formula": str(question.asked.formula),
        "inside": question.inside,
        "semantics": question.semantics,
        "system": system_to_json(system),
        "networks": sorted(networks_of(system)),
        **about,
    }
