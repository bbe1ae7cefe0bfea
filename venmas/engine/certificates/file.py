"""Certificates on disk: one JSON object a line, compressed (docs/certificates.md)."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from venmas._version import __version__
from venmas.model.canonical.canonical import networks_of, system_to_json
from venmas.question import Question
from venmas.runtime.files import NewFile

if TYPE_CHECKING:
    from venmas.checker.format.rule import Rule

_AS_TEXT = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True)
class Certificate:
    """A certificate on disk: its name, how large it is, and its sha256 (empty in results of earlier versions)."""

    path: str
    lines: int
    size: int
    sha256: str = ""


@dataclass(frozen=True)
class Unwritten:
    """A certificate that could not be written, such as where the disk is full, and why. Its proof is none the worse."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"cannot write {self.path!r}: {self.problem}; the proof is not stored"


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

    def write(self, rule: Rule) -> None:
        """Add a line of the proof."""
        self.add(rule.to_json())

    def add(self, line: Mapping[str, object]) -> None:
        """Add a line."""
        self._lines += 1
        if not self._problem:
            with self._tried():
                self._packed.write(_AS_TEXT(line).encode() + b"\n")

    def keep(self, ended: bool = False) -> Certificate | Unwritten:
        """Give the complete file its name. ended: it has its last line already."""
        from venmas.checker.goals.rules import End

        if not ended:
            self.write(End(self._lines))
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


def header(question: Question, about: Mapping[str, object]) -> dict[str, object]:
    """The fields of the first line; about: what it says besides."""
    from venmas.checker.file import FORMAT

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
