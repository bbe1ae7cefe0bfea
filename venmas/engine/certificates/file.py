"""Certificates on disk: one JSON object a line, compressed (docs/certificates.md)."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from venmas.answer import Proof
from venmas.checker.format.header import Claim, Header, written
from venmas.checker.format.rule import End
from venmas.engine.certificates.kept import Certificate, Unwritten
from venmas.model.canonical.canonical import subject_of
from venmas.model.circuit.nodes import Circuit
from venmas.procedure import Asked, LinearQuestion
from venmas.runtime.files import NewFile

_AS_TEXT = json.JSONEncoder(separators=(",", ":")).encode


class _Hashed(io.RawIOBase):
    """A file that is written to its end, and the sha256 of what went there."""

    def __init__(self, raw: IO[bytes]) -> None:
        self.sha256, self._raw = hashlib.sha256(), raw

    def write(self, data: Any) -> int:
        """Write and hash."""
        self.sha256.update(data)
        return self._raw.write(data)

    def flush(self) -> None:
        """As the file does."""
        self._raw.flush()


class CertificateFile:
    """One JSON object a line, compressed; a file that can not be written is given up, and remembers why."""

    def __init__(self, path: str | Path) -> None:
        self.path, self._problem, self._lines = str(path), "", 0
        self._open = ExitStack()
        with self._tried():
            self._file = self._open.enter_context(NewFile(path))
            self._hashed = _Hashed(self._file.raw)
            self._packed = gzip.GzipFile(filename="", mode="wb", fileobj=self._hashed, mtime=0)
            self._open.callback(self._end)

    def add(self, line: Mapping[str, object]) -> None:
        """Add a line."""
        self._lines += 1
        if not self._problem:
            with self._tried():
                self._packed.write(_AS_TEXT(line).encode() + b"\n")

    def keep(self) -> Certificate | Unwritten:
        """Add the last line, and give the complete file its name."""
        self.add(End(self._lines).to_json())
        size = 0
        if not self._problem:
            with self._tried():
                self._packed.close()
                size = self._file.keep()
        if self._problem:
            return Unwritten(self.path, self._problem)
        return Certificate(self.path, self._lines, size, self._hashed.sha256.hexdigest())

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

    def __enter__(self) -> CertificateFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()


def write(
    path: str | Path,
    question: Asked,
    proof: Proof[Any],
    tick: Callable[[], None] = lambda: None,
    about: Mapping[str, object] | None = None,
) -> Certificate | Unwritten:
    """Write a proof to a file; nothing where it raises, as it does where it is none as the checker sees it.

    about: `origin` and `parameters` of the header.
    """
    with CertificateFile(path) as file:
        file.add(header(question, proof, about or {}).to_json())
        for rule in proof.lines(claimed(question, proof), tick):
            file.add(rule.to_json())
        return file.keep()


def claimed(question: Asked, proof: Proof[Any]) -> Any:
    """Subject of the lines of a proof: the question, of LTL the claim of its certificate."""
    if not isinstance(question, LinearQuestion):
        return question
    from venmas.procedures.linear.claim import NetlistClaim, SystemClaim

    made: Any = proof
    circuit = isinstance(question.subject, Circuit)
    return NetlistClaim(question, made.initial) if circuit else SystemClaim(question, made.within)


def header(question: Asked, proof: Proof[Any], about: Mapping[str, object]) -> Header:
    """The first line."""
    if isinstance(question, LinearQuestion):
        told = claimed(question, proof)
        return written(proof.kind, told.claim, told.subject, about)
    from venmas.checker.file import KINDS

    asked, kind = question.asked, KINDS.get(proof.kind)
    inside, chosen = question.inside or kind is None or kind.inside, tuple(question.chosen)
    claim = Claim(str(asked.formula), asked.kind, question.semantics, inside, chosen=chosen)  # type: ignore[arg-type]
    system = question.undrawn if kind is not None and kind.noisy and question.undrawn is not None else question.system
    return written(proof.kind, claim, subject_of(system), about)
