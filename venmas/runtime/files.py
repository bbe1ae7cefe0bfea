"""Atomic writing of files: they appear whole or not at all, whatever ends the program that writes them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO


class NewFile:
    """A file in the making: what goes to `raw` is seen under its name when `keep` was called, or never.

    Until then it is in a temporary file of an unpredictable name beside it, so that no other file is touched. A link
    stays, and what it leads to is replaced. A device or a pipe gets everything at `keep`; that a reader of the pipe
    has gone, as it has seen enough, is no error.

    A context manager. Raises `OSError` from every method, at the start also for links that lead to each other.
    """

    def __init__(self, path: str | Path) -> None:
        self._target, self._name = Path(path), ""
        self.raw: IO[bytes]
        if _replaceable(self._target):
            try:
                self._target = self._target.resolve()
            except RuntimeError as error:  # links that lead to each other
                raise OSError(str(error)) from error
            self._name = _temporary(self._target)
            self.raw = open(self._name, "wb")  # noqa: SIM115
        else:
            self.raw = tempfile.TemporaryFile()  # noqa: SIM115

    def keep(self) -> int:
        """Give the content its name; its size in bytes."""
        self.raw.flush()
        size = self.raw.tell()
        if self._name:
            self.raw.close()
            os.replace(self._name, self._target)
            self._name = ""
            return size
        self.raw.seek(0)
        with contextlib.suppress(BrokenPipeError), open(self._target, "wb", opener=unblocked) as file:
            shutil.copyfileobj(self.raw, file)
        return size

    def __enter__(self) -> NewFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self.raw.close()
        if self._name:
            with contextlib.suppress(OSError):
                os.unlink(self._name)


def sha256_of(path: str | Path) -> str:
    """The sha256 of a file, hexadecimal. Raises `OSError`."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def why_not_writable(path: str) -> str:
    """Why a file can not be written, and what to do about it; empty where it can be, as far as can be known before."""
    try:
        target = Path(path)
        target = target if target.exists() else target.resolve()  # what a link leads to is written
        if not path or target.is_dir() or path.endswith(os.sep):
            return "it is a folder; name a file in it" if path else "the name is empty; name a file"
        if not target.parent.is_dir():
            return f"there is no folder {target.parent}; create it first, or name a file elsewhere"
        if target.exists() and not os.access(target, os.W_OK):
            return "writing it is not permitted; name a file elsewhere"
        if _replaceable(target):
            os.unlink(_temporary(target))
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links that lead to each other
        return f"{getattr(error, 'strerror', None) or error}; name a file elsewhere"
    return ""


def unblocked(path: str, flags: int) -> int:
    """Open without waiting for the other end of a pipe, then read and write as usual; an opener for `open`."""
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
