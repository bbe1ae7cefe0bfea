"""What `venmas check` found, as the object of docs/check.schema.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from venmas._version import __version__

if TYPE_CHECKING:
    from venmas.errors import RefusedError

FORMAT = "venmas-check-1"


@dataclass
class Found:
    """What is known so far of a certificate; filled in while it is checked.

    file: as it was given, with its sha256. claim: formula, semantics, and what else the header claims. subject: what
    the claim was checked of (a system or a netlist), with the sha256 of each file. checked: counts.
    """

    file: str
    sha256: str = ""
    archive: Mapping[str, object] | None = None
    claim: Mapping[str, object] | None = None
    subject: Mapping[str, object] | None = None
    checked: Mapping[str, int] = field(default_factory=dict)
    answer: str = ""
    reason: str = ""
    message: str = ""
    line: int | None = None
    about: str = ""
    """What is proved, where it is less than a formula in every initial state."""

    def proved(self, checked: Mapping[str, int], said: int = 0) -> None:
        """Note the counts of a proof. said: answers of a solver that it rests on."""
        self.answer, self.checked = "proved", checked
        if said:
            self.answer, self.reason = "unknown", "solver"
            self.message = f"proved up to {said} solver answers"

    def refused(self, error: RefusedError) -> None:
        """Note why it proves nothing."""
        self.answer, self.message, self.line = "refused", error.problem, error.line

    def unknown(self, reason: str, message: str) -> None:
        """Note the limit that was met."""
        self.answer, self.reason, self.message = "unknown", reason, message

    def shown(self) -> str:
        """The first line on the terminal."""
        limit = f"unknown ({self.reason}): {self.message}"
        return limit if self.reason in ("time", "memory") else self.message or self.answer + self.about

    def to_json(self, seconds: float) -> dict[str, Any]:
        """The object."""
        return {
            "format": FORMAT,
            "answer": self.answer,
            "reason": self.reason,
            "message": self.message,
            "line": self.line,
            "certificate": {"file": Path(self.file).name, "sha256": self.sha256},
            "archive": self.archive,
            "claim": self.claim,
            "subject": self.subject,
            "checked": dict(self.checked),
            "seconds": round(seconds, 6),
            "versions": {"venmas": __version__},
        }
