"""Readers of untrusted files: bounded, and never with a bare traceback."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO
from math import isfinite, nan
from pathlib import Path
from typing import Any

from venmas.errors import NetworkError

MAX_BYTES = 64 << 20
"""Largest network file that is read."""

MAX_JSON_PARTS = 300_000
"""Most values in a JSON configuration: two or three bytes of text become an object of about 64."""


def read_bytes(path: Path, *, offset: int = 0, length: int | None = None) -> bytes:
    """Return the whole content (at most `MAX_BYTES`), or up to `length` bytes from `offset`. Raises `NetworkError`."""
    try:
        if not path.exists():
            raise NetworkError(f"network file {path} does not exist: check the path and the working directory")
        if not path.is_file():
            raise NetworkError(f"{path} is not a regular file: give the path of one network file")
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(MAX_BYTES + 1 if length is None else length)
    except (OSError, ValueError, OverflowError) as error:
        raise NetworkError(f"network file {path} cannot be read: {error}") from error
    if len(data) > MAX_BYTES:
        raise NetworkError(f"{path} is larger than {MAX_BYTES >> 20} MB: too large for the networks VenMAS verifies")
    return data


def read_member(data: bytes, name: str, what: str) -> bytes:
    """The content of a file in a zip archive. Raises `NetworkError`. what: the archive, for the message."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive, archive.open(name) as member:
            content = member.read(MAX_BYTES + 1)
    except Exception as error:  # the errors of zipfile and of its decompressors have no common base
        raise NetworkError(f"not {what}, or damaged: {error}; save it again") from error
    if len(content) > MAX_BYTES:
        raise NetworkError(f"{name} is larger than {MAX_BYTES >> 20} MB: too large for the networks VenMAS verifies")
    return content


def read_number(word: str, path: Path, place: str, at: int) -> float:
    """The float64 nearest to a decimal. Raises `NetworkError` for what is none, naming the place by its number."""
    try:
        value = float(word) if "_" not in word else nan
    except ValueError:
        value = nan
    if not isfinite(value):
        raise NetworkError(f"{path}, {place} {at}: {word[:40]!r} is not a finite number")
    return value


def json_parts(text: str | bytes) -> int:
    """An upper bound on the number of values in a JSON text."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    return 1 + data.count(b"[") + data.count(b"{") + data.count(b",")


def parse_json(text: str | bytes, what: str) -> dict[str, Any]:
    """Parse a JSON object from a file of strangers. Raises `NetworkError`, also for bombs of nesting or of size."""
    if json_parts(text) > MAX_JSON_PARTS:
        raise NetworkError(f"{what} has more than {MAX_JSON_PARTS} values: too large for the networks VenMAS verifies")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NetworkError(f"{what} is not JSON that can be read: {type(error).__name__}: {error}") from error
    if not isinstance(value, dict):
        raise NetworkError(f"{what} is a JSON {type(value).__name__}: expected an object")
    return value
