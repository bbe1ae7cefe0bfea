"""Reading files of strangers: bounded, and never with a bare traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from venmas.errors import NetworkError

MAX_BYTES = 64 << 20
"""Largest network file that is read."""


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


def parse_json(text: str | bytes, what: str) -> dict[str, Any]:
    """Parse a JSON object from a file of strangers. Raises `NetworkError`, also for nesting bombs."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NetworkError(f"{what} is not JSON that can be read: {type(error).__name__}: {error}") from error
    if not isinstance(value, dict):
        raise NetworkError(f"{what} is a JSON {type(value).__name__}: expected an object")
    return value
