"""Where the face writes to: terminals and pipes, log lines, and files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from venmas.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

STDOUT = "-"
_PIPE_WIDTH = 200
"""Columns of tables that go to a file or a pipe, where no window limits them."""


def console(*, stderr: bool = False) -> Console:
    """A console on stdout or stderr: colours on a terminal, plain text elsewhere; nothing in texts is markup."""
    from rich.console import Console

    made = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _PIPE_WIDTH
    return made


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


def check_writable(path: str | None, option: str) -> None:
    """Find out before the long work whether a file can be written. Raises `UsageError`."""
    if path is None or path == STDOUT:
        return
    problem = ""
    try:
        target = Path(path)
        target = target if target.exists() else target.resolve()  # what a link leads to is written
        if not path or target.is_dir() or path.endswith(os.sep):
            problem = "it is a folder; name a file in it" if path else "the name is empty; name a file"
        elif not target.parent.is_dir():
            problem = f"there is no folder {target.parent}; create it first, or name a file elsewhere"
        elif target.exists() and not os.access(target, os.W_OK):
            problem = "writing it is not permitted; name a file elsewhere"
        elif _replaceable(target):
            os.unlink(_temporary(target))
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links that lead to each other
        problem = f"{getattr(error, 'strerror', None) or error}; name a file elsewhere"
    if problem:
        raise UsageError(f"{option}: cannot write {path[:200]!r}: {problem}")


def write_json(path: str, data: dict[str, Any], option: str) -> None:
    """Write an object to a file, whole or not at all, or to stdout. Raises `UsageError` when the file cannot be."""
    text = json.dumps(data, indent=2, allow_nan=False) + "\n"
    if path == STDOUT:
        sys.stdout.write(text)
    else:
        write_file(path, text.encode(), option)


def write_file(path: str, data: bytes, option: str) -> None:
    """Write a file, whole or not at all. Raises `UsageError` when it cannot be."""
    target = Path(path)
    try:
        if not _replaceable(target):
            sys.stdout.flush()  # it may be the same device
            with open(target, "wb", opener=_unblocked) as file:
                file.write(data)
            return
        target = target.resolve()  # a link stays, what it leads to is replaced
        name = _temporary(target)
        try:
            Path(name).write_bytes(data)
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except (OSError, RuntimeError) as error:
        problem = getattr(error, "strerror", None) or error
        raise UsageError(f"{option}: cannot write {path!r}: {problem}; the result is not stored") from error


def read_input(path: str | Path, most: int) -> bytes:
    """Up to ``most + 1`` bytes of a file; a pipe that nobody writes to is empty rather than waited for.

    Raises `OSError`, and `ValueError` for what cannot be a path.
    """
    with open(path, "rb", opener=_unblocked) as file:
        return file.read(most + 1)


def _unblocked(path: str, flags: int) -> int:
    """Open without waiting for the other end of a pipe, then read and write as usual."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    os.set_blocking(handle, True)
    return handle


def _replaceable(target: Path) -> bool:
    """A device or a pipe is written to, everything else is replaced at once."""
    return target.is_file() or not target.exists()


def _temporary(target: Path) -> str:
    """An empty file beside the target, with the permissions of an ordinary new file."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    os.close(handle)
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(name, 0o666 & ~mask)
    return name
