"""Certificates of parts joined to one: lines are copied, and what they name by number is numbered anew."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from venmas.answer import Write
from venmas.checker.format.rule import Line, Rule
from venmas.checker.goals.rule import Place
from venmas.checker.goals.rules import Divide
from venmas.engine.parts.division import Cut

_LINES = {"same": "as", "within": "lemma", "listed": "table", "table": "to"}
"""Entries that name lines of the certificate, by rule."""
_FRAMES = {"lemma": "frame", "table": "frame"}
_SETS = {"region": "index", "program": "index", "narrowed": "index"}
_PLAIN = {"frame", "expand", "split", "refute", "keep", "case", "tree"}
"""Rules whose lines mean the same wherever they stand; `join` knows all others by what they name."""


@dataclass(frozen=True, slots=True)
class _Copied(Rule):
    """A line of a part's certificate as it stands in the whole one."""

    misfit = "only written"
    line: Line

    def to_json(self) -> dict[str, object]:
        """The line."""
        return dict(self.line)

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """Never: the checker reads the rules that were copied."""
        raise NotImplementedError


def joined(cuts: Sequence[Cut], parts: Callable[[], Iterable[bytes]]) -> Write:
    """Writes the proof of the whole from those of its parts, each about the only initial set of its system.

    parts: certificates as they stand in their files, in the order of the initial sets that the cuts make.
    """

    def write(emit: Callable[[Rule], None]) -> int:
        written = 0
        if cuts:
            emit(Divide(tuple(cuts)))
            written = 1
        frames = 0
        for number, part in enumerate(parts()):
            before, frames_before = written, frames
            with gzip.open(io.BytesIO(part)) as lines:
                if not json.loads(next(lines))["inside"]:
                    raise AssertionError("a part proves less than that no run leaves the box")
                for text in lines:
                    line = json.loads(text)
                    if line["rule"] == "end":
                        break
                    emit(_Copied(_moved(line, before, frames_before, number)))
                    written += 1
                    frames += line["rule"] == "frame"
        return written

    return write


def _moved(line: dict[str, Any], lines: int, frames: int, number: int) -> dict[str, Any]:
    name = line["rule"]
    if name not in _PLAIN | _LINES.keys() | _FRAMES.keys() | _SETS.keys():
        raise AssertionError(f"no way is known to join certificates with the rule {name}")
    for entries, beyond in ((_LINES, lines), (_FRAMES, frames), (_SETS, number)):
        if (key := entries.get(name)) is not None:
            value = line[key]
            line[key] = [v + beyond for v in value] if isinstance(value, list) else value + beyond
    return line
