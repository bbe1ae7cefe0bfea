"""Reader of untrusted JSON: without recursion, numbers as the exact decimals that they are written as.

Conditions of generated models are nested hundreds deep, and a hostile file any number of times; neither the parser nor
what reads its result recurses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any, NoReturn

from venmas.errors import ScenarioError
from venmas.nn.files import json_parts

MAX_BYTES = 64 << 20
"""Largest file that is read."""

MAX_PARTS = 300_000
"""Most values in a file: the largest public ones have some 30,000."""

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"[A-Za-z]+")
_MAX_DIGITS, _MAX_EXPONENT = 400, 400


@dataclass(frozen=True)
class Place:
    """Position in a file: its name, and a path such as ``automata[0].edges[3].guard``."""

    file: Path
    trail: str = ""

    def __getitem__(self, key: str | int) -> Place:
        dot = "." if self.trail and isinstance(key, str) else ""
        return Place(self.file, f"{self.trail}[{key}]" if isinstance(key, int) else f"{self.trail}{dot}{key}")

    def __iter__(self) -> Iterator[Place]:
        raise TypeError("a place has no parts")  # not __getitem__ with 0, 1, 2, ...

    def __str__(self) -> str:
        return f"{self.file}, {self.trail}" if self.trail else str(self.file)

    def refuse(self, problem: str) -> NoReturn:
        """Raise `ScenarioError` with this place."""
        raise ScenarioError(f"{self}: {problem}")


def shown(value: object) -> str:
    """A value of a file, cut for a message."""
    match value:
        case dict():
            return f"an object with {', '.join(map(repr, list(value)[:4])) or 'no key'}"[:120]
        case list():
            return f"a list of {len(value)}"
        case str():
            return repr(value if len(value) <= 60 else value[:60] + "...")
        case bool() | None:
            return str(value).lower() if value is not None else "null"
    text = str(value)
    return text if len(text) <= 60 else text[:60] + "..."


def read_json(path: Path) -> Any:
    """The value in a file: dict, list, str, bool, None, int, Fraction. Raises `ScenarioError` naming line and column.

    A key that an object has twice is refused.
    """
    place = Place(path)
    try:
        if not path.is_file():
            place.refuse("there is no such file; check the path")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        place.refuse(f"the file cannot be read: {error}")
    if len(data) > MAX_BYTES:
        place.refuse(f"the file is larger than {MAX_BYTES >> 20} MB; describe a smaller model")
    if json_parts(data) > MAX_PARTS:
        place.refuse(f"the file has more than {MAX_PARTS} values; describe a smaller model")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place.refuse(f"this is no UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8")
    return parse_json(text, place)


def parse_json(text: str, place: Place) -> Any:
    """The value of a text. Raises `ScenarioError`, with the line and column of what is no JSON."""
    return _Parser(text, place).value()


class _Parser:
    def __init__(self, text: str, place: Place) -> None:
        self._text, self._place, self._at = text, place, 0

    def value(self) -> Any:
        open_: list[tuple[dict[str, Any] | list[Any], str]] = []  # what is being filled, and the key of what comes
        while True:
            self._skip()
            char = self._text[self._at : self._at + 1]
            made: Any
            if char and char in "{[":
                self._at += 1
                made = {} if char == "{" else []
                if not self._closed(char):
                    open_.append((made, self._key(made) if isinstance(made, dict) else ""))
                    continue
            else:
                made = self._scalar(char)
            while open_:
                holder, key = open_[-1]
                if isinstance(holder, list):
                    holder.append(made)
                else:
                    holder[key] = made
                if self._more(holder):
                    if isinstance(holder, dict):
                        open_[-1] = (holder, self._key(holder))
                    break
                open_.pop()
                made = holder
            else:
                self._skip()
                if self._at < len(self._text):
                    self._fail("there is more text after the end of the value")
                return made

    def _skip(self) -> None:
        self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]

    def _closed(self, opened: str) -> bool:
        self._skip()
        if self._text[self._at : self._at + 1] == ("}" if opened == "{" else "]"):
            self._at += 1
            return True
        return False

    def _key(self, holder: dict[str, Any]) -> str:
        self._skip()
        if self._text[self._at : self._at + 1] != '"':
            self._fail("expected a key in double quotes")
        key = self._string()
        if key in holder:
            self._fail(f"the key {shown(key)} stands twice in one object; leave one out")
        self._skip()
        if self._text[self._at : self._at + 1] != ":":
            self._fail("expected a colon")
        self._at += 1
        return key

    def _more(self, holder: dict[str, Any] | list[Any]) -> bool:
        self._skip()
        char = self._text[self._at : self._at + 1]
        end = "}" if isinstance(holder, dict) else "]"
        if char != "," and char != end:
            self._fail(f"expected a comma or {end!r}")
        self._at += 1
        return char == ","

    def _string(self) -> str:
        try:
            text, self._at = scanstring(self._text, self._at + 1, True)
        except JSONDecodeError as error:
            self._at = error.pos
            self._fail(error.msg)
        return str(text)

    def _scalar(self, char: str) -> Any:
        if char == '"':
            return self._string()
        number = _NUMBER.match(self._text, self._at)
        if number:
            return self._number(number)
        word = _WORD.match(self._text, self._at)
        if not word or word.group() not in _WORDS:
            self._fail("expected a value" if char else "the text ends too early")
        self._at = word.end()
        return _WORDS[word.group()]

    def _number(self, found: re.Match[str]) -> int | Fraction:
        whole, decimals, exponent = found.groups()
        size = len(whole) + len(decimals or "")
        if size > _MAX_DIGITS or (exponent and (len(exponent) > 6 or abs(int(exponent[1:])) > _MAX_EXPONENT)):
            self._fail("a number of more than 400 digits; round it")
        self._at = found.end()
        return Fraction(found.group()) if decimals or exponent else int(whole)

    def _fail(self, problem: str) -> NoReturn:
        line = self._text.count("\n", 0, self._at) + 1
        column = self._at - (self._text.rfind("\n", 0, self._at) + 1) + 1
        raise ScenarioError(f"{self._place}: line {line}, column {column}: {problem}")
