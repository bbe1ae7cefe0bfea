"""Certificates as results name them: the file that was written, or why none was."""

from __future__ import annotations

from dataclasses import dataclass


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
