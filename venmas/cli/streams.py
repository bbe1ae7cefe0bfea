"""Standard output and error of a command: readers that leave early, full disks, characters that they do not have."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO


class NotShownError(Exception):
    """What a command had to say could not be written to standard output; its text is the reason."""


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Within, printing never changes what a command does.

    A reader of a pipe that has gone, such as ``head``, has seen enough: what is printed further is dropped. So is what
    goes to a closed stream, or to one that cannot be written. Characters that the encoding lacks, and bytes of file
    names that are no text, are printed as escapes. Where both streams end in one file, lines stand in it in the order
    in which they were printed. Raises `NotShownError`, in the end, where standard output could not be written.

    Streams that are not those of the process, as in tests, are left alone.
    """
    before = sys.stdout, sys.stderr
    sys.stdout = _guard(sys.stdout)
    sys.stderr = _guard(sys.stderr, after=sys.stdout)
    try:
        yield
        sys.stdout.flush()
        if isinstance(sink := getattr(sys.stdout.buffer, "raw", None), _Sink) and sink.problem:
            raise NotShownError(sink.problem)
    finally:
        sys.stdout, sys.stderr = before


def _guard(stream: TextIO | None, after: TextIO | None = None) -> TextIO:
    if stream is None:  # closed by the caller: whoever wants only the exit status gets it
        return open(os.devnull, "w")
    if type(stream) is not io.TextIOWrapper:
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Sink(stream.fileno(), after)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering or stream.write_through,
    )


class _Sink(io.FileIO):
    """A file handle of the process, which stays open; once it cannot be written, it is the null device.

    after: a stream whose text comes before what is written here.
    """

    def __init__(self, handle: int, after: TextIO | None) -> None:
        super().__init__(handle, "wb", closefd=False)
        self._after, self.problem = after, ""

    def write(self, data: Any) -> int:
        if self._after is not None:
            self._after.flush()
        try:
            return super().write(data)
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.problem = error.strerror or str(error)
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), self.fileno())
        return memoryview(data).nbytes
