"""Certificates of parts joined to one: lines are copied, and what they name by number is numbered anew."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from venmas.checker.format.header import read_header
from venmas.checker.format.lines import Lines
from venmas.checker.format.rule import End, Rule
from venmas.checker.goals.rules import (
    Case,
    Divide,
    Expand,
    Frame,
    Keep,
    Lemma,
    Listed,
    Program,
    Refute,
    Region,
    Same,
    Split,
    Table,
    Tree,
    Within,
)
from venmas.engine.parts.division import Cut
from venmas.question import Question


@dataclass(frozen=True)
class Joined:
    """The proof of the whole from those of its parts, each about the only initial set of its system.

    parts: certificates as they stand in their files, in the order of the initial sets that the cuts make.
    """

    cuts: Sequence[Cut]
    parts: Callable[[], Iterable[bytes]]
    kind: ClassVar[str] = "goals"

    def lines(self, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
        """How the initial sets are cut, and the proof of each part."""
        if self.cuts:
            yield Divide(tuple(self.cuts))
        before, frames = int(bool(self.cuts)), 0
        for number, part in enumerate(self.parts()):
            with gzip.open(io.BytesIO(part)) as texts:
                if not read_header(json.loads(next(texts))).claim.inside:
                    raise AssertionError("a part proves less than that no run leaves the box")
                lines, frames_here = Lines(map(json.loads, texts)), 0
                while not isinstance(rule := lines.next(Rule), End):
                    yield _moved(rule, before, frames, number)
                    frames_here += isinstance(rule, Frame)
            before, frames = before + lines.number - 1, frames + frames_here


def _moved(rule: Rule, lines: int, frames: int, number: int) -> Rule:
    """A line of a part as it stands in the whole: what it names by number stands later."""
    match rule:
        case Same(line):
            return Same(line + lines)
        case Within(lemma):
            return Within(lemma + lines)
        case Listed(table, row):
            return Listed(table + lines, row)
        case Table(frame=frame, to=to):
            return replace(rule, frame=frame + frames, to=tuple(line + lines for line in to))
        case Lemma(frame=frame):
            return replace(rule, frame=frame + frames)
        case Region() | Program():
            return replace(rule, index=number)
        case Frame() | Expand() | Split() | Refute() | Keep() | Case() | Tree():
            return rule
    raise AssertionError(f"no way is known to join certificates with the rule {rule.name}")
