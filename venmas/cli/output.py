"""Where the face writes to: terminals and pipes, log lines, and files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from venmas.errors import UsageError
from venmas.runtime.files import NewFile, unblocked, why_not_writable

if TYPE_CHECKING:
    from rich.console import Console

STDOUT = "-"
PICTURES = ("svg", "png", "pdf")
log = logging.getLogger(__name__)
_PIPE_WIDTH = 200
"""Columns of tables that go to a file or a pipe, where no window limits them."""


def console(*, stderr: bool = False) -> Console:
    """A console on stdout or stderr: colours on a terminal, plain text elsewhere; nothing in texts is markup."""
    from rich.console import Console

    made = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _PIPE_WIDTH
    return made


def picture_kind(path: str, option: str) -> str:
    """The format of a picture by the name of its file. Raises `UsageError`."""
    kind = Path(path).suffix[1:].lower()
    if kind not in PICTURES:
        raise UsageError(f"{option} {path!r}: name a file that ends in .{', .'.join(PICTURES)}")
    return kind


def printable(text: str) -> str:
    """A text that may come from strangers: nothing in it steers a terminal."""
    return "".join(c if c == "\n" or c.isprintable() else repr(c)[1:-1] for c in text)


class _Handler(logging.Handler):
    """Log lines on stderr; the stream is looked up each time, because a progress line may stand in its place."""

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"{record.levelname.lower()}: {self.format(record)}\n")
            sys.stderr.flush()


def set_up_logging(verbose: bool) -> None:
    """Show warnings of VenMAS, with `verbose` also what it chose and why."""
    logger = logging.getLogger("venmas")
    logger.handlers = [_Handler()]
    logger.propagate = False
    logger.setLevel(logging.INFO if verbose else logging.WARNING)


def is_verbose() -> bool:
    """True after `set_up_logging(True)`."""
    return logging.getLogger("venmas").level == logging.INFO


_KINDS = {
    "--json": (".json",),
    "--csv": (".csv",),
    "--latex": (".tex",),
    "--junit": (".xml",),
    "--html": (".html", ".htm"),
    "--dot": (".dot", ".gv"),
    "--network": (".onnx",),
    "--witness": (".json", ".vcd"),
    "--certificate": (".gz", ".json"),
    "archive": (".zip", ".gz"),
}
"""Endings of the files that options write."""
_KNOWN = {ending for endings in _KINDS.values() for ending in endings} | {".pdf", ".png", ".svg"}


def check_writable(path: str | None, option: str, kind: str = "") -> None:
    """Find out before the long work whether a file can be written, and whether its name says what it will hold.

    kind: the option whose files have the endings of this one. Raises `UsageError`.
    """
    if path is None or path == STDOUT:
        return
    endings = _KINDS.get(kind or option, ())
    if endings and Path(path).suffix.lower() in _KNOWN.difference(endings):
        raise UsageError(f"{option} {path[:200]!r}: no such file is written; name one that ends in {endings[0]}")
    if problem := why_not_writable(path):
        raise UsageError(f"{option}: cannot write {path[:200]!r}: {problem}")


def nothing_to_write(path: str | None, option: str, what: str) -> list[str]:
    """Say that there is nothing for a file; where it exists, the problem that another run's is there in its place."""
    if path is None:
        return []
    if os.path.isfile(path) and os.path.getsize(path):
        return [f"{option}: there is no {what} to write, and {path!r} is of another run: remove it, or name a new file"]
    log.warning("there is no %s to write", what)
    return []


def write_json(path: str, data: Mapping[str, Any], option: str) -> None:
    """Write an object as `write_file` does."""
    write_file(path, (json.dumps(data, indent=2, allow_nan=False) + "\n").encode(), option)


def store_json(path: str | None, data: Mapping[str, Any], option: str) -> UsageError | None:
    """Write an object before anything is printed; where it cannot be, the error, to be raised after what is printed.

    So neither a reader of the output that leaves early nor a full disk takes more from the user than it has to.
    """
    if path is not None:
        try:
            write_json(path, data, option)
        except UsageError as error:
            return error
    return None


def store_text(path: str | None, make: Callable[[], str], option: str) -> UsageError | None:
    """Write a text, a page say, in the same way."""
    if path is not None:
        try:
            write_file(path, make().encode("utf-8", "replace"), option)
        except UsageError as error:
            return error
    return None


def write_file(path: str, data: bytes, option: str) -> None:
    """Write a file, whole or not at all, or to stdout, whose encoding is not asked. Raises `UsageError`."""
    sys.stdout.flush()  # the file may be the same device
    if path == STDOUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        with NewFile(path) as file:
            file.raw.write(data)
            file.keep()
    except OSError as error:
        raise UsageError(f"{option}: cannot write {path!r}: {error.strerror or error}; it is not stored") from error


def read_input(path: str | Path, most: int) -> bytes:
    """Up to ``most + 1`` bytes of a file; a pipe that nobody writes to is empty rather than waited for.

    Raises `OSError`, and `ValueError` for what cannot be a path.
    """
    with open(path, "rb", opener=unblocked) as file:
        return file.read(most + 1)
