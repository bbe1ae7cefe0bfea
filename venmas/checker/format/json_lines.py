"""Certificate files as JSON objects, one a line, compressed."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from venmas.checker.format.lines import DamagedError, Line
from venmas.checker.format.numbers import CheckError
from venmas.errors import InputError, UsageError
from venmas.nn.files import json_parts

MAX_LINE = 64 << 20
"""Longest line, in bytes."""

MAX_PARTS = 4_000_000
"""Most values in a line: some of them take a hundred times the room of their text."""

HOW = "write one with `venmas verify ... --certificate FILE`"


def json_lines(path: str | Path) -> Iterator[Line]:
    """The objects of a certificate. Raises `InputError`."""
    number = 0
    try:
        if not Path(path).is_file():
            raise UsageError(f"there is no file {str(path)[:200]!r}; {HOW}")
        with Path(path).open("rb") as raw, closing(gzip.GzipFile(fileobj=raw)) as file:
            while text := file.readline(MAX_LINE + 1):
                if len(text) > MAX_LINE:
                    raise CheckError(number, f"longer than {MAX_LINE >> 20} MB")
                if json_parts(text) > MAX_PARTS:
                    raise CheckError(number, f"more than {MAX_PARTS} values")
                line = json.loads(text, object_pairs_hook=_once, parse_float=_no_float, parse_constant=_no_float)
                if not isinstance(line, dict):
                    raise CheckError(number, f"expected an object, got a {type(line).__name__}")
                yield line
                number += 1
    except InputError:
        raise
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:  # which says nothing of the proof
        if str(error).startswith("Not a gzipped file"):
            raise UsageError(f"{str(path)[:200]} is no certificate, which is a file of gzip; {HOW}") from error
        raise DamagedError(
            f"the certificate {str(path)[:200]!r} is cut off or damaged after {number} lines: copy it again, or {HOW}"
        ) from error
    except OSError as error:
        raise UsageError(
            f"cannot read {str(path)[:200]!r} as a certificate: {error.strerror or error}; {HOW}"
        ) from error
    except (ValueError, RecursionError) as error:
        if number == 0 and isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            raise UsageError(f"{str(path)[:200]} is no certificate: its first line is no JSON; {HOW}") from error
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise CheckError(number, f"not what a certificate holds: {why}") from error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a field is given twice")
    return entries


def _no_float(text: str) -> object:
    raise ValueError(f"a number with a point or an exponent, {text[:40]}")
