"""The files that a command writes: none takes the place of another, or of one that the command reads."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from venmas.cli.output import STDOUT
from venmas.errors import UsageError


def check_apart(files: Mapping[str, str | None], streams: Collection[str] = ("--json",)) -> None:
    """Each option has a file of its own, lest one takes the place of another at the end. Raises `UsageError`.

    streams: options that may write to standard output.
    """
    named: dict[str, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        if path == STDOUT and option not in streams:
            raise UsageError(
                f"{option} takes a file; `--json -` writes the result, witness included, to standard output"
            )
        if (other := named.setdefault(os.path.realpath(path), option)) != option:
            more = "; the JSON result holds the witness already" if option == "--witness" else ": name two files"
            raise UsageError(f"{other} and {option} both name {path!r}{more}")


def check_kept(written: Mapping[str, str | None], read: Iterable[tuple[str, str | Path]]) -> None:
    """What is read stays as it is, whatever other name it is written by. Raises `UsageError`.

    written: by option. read: what each file is, and its path.
    """
    outputs = [(option, path) for option, path in written.items() if path is not None and path != STDOUT]
    for what, source in read:
        for option, path in outputs:
            if _same(path, source):
                raise UsageError(f"{option} {path!r} would take the place of {what}, which is read: name another file")


def _same(one: str | Path, other: str | Path) -> bool:
    """Two names of one ordinary file, by links or as the file system sees it."""
    with suppress(OSError, ValueError):
        return os.path.isfile(other) and os.path.samefile(one, other)
    return False
