"""Files that may be compressed with gzip, as those of VNN-COMP are: read up to a limit, whatever they unpack to."""

from __future__ import annotations

import gzip
import zlib
from os import PathLike
from pathlib import Path

from venmas.errors import UsageError


def is_packed(path: str | PathLike[str]) -> bool:
    """Whether a file is compressed, by its extension."""
    return Path(path).suffix.lower() == ".gz"


def read_packed(path: str | PathLike[str], most: int, what: str) -> bytes:
    """The content of a file, unpacked if its name ends in .gz. what: it is, for messages. Raises `UsageError`."""
    try:
        with Path(path).open("rb") as file:
            data = gzip.GzipFile(fileobj=file).read(most + 1) if is_packed(path) else file.read(most + 1)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise UsageError(
            f"{str(path)[:200]} cannot be unpacked ({str(error).rstrip('.')}): copy or unpack {what} again"
        ) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {what} {str(path)[:200]!r}: {reason}; check the path") from error
    if len(data) > most:
        raise UsageError(f"{path} is larger than {most >> 20} MB: too large for {what} that VenMAS verifies")
    return data
