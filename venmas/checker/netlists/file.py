"""Certificate files of LTL: the same gzip and JSON lines as bounded ones, with a header of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from venmas.checker.format.json_lines import numbered_lines
from venmas.checker.netlists.check import Checked, check_liveness
from venmas.checker.netlists.lines import FORMAT, Header, read_header

Lines = Iterator[tuple[int, Mapping[str, Any]]]
_BESIDES = {"venmas", "origin"}


def read_liveness(path: str | Path) -> tuple[Header, Lines] | None:
    """The claim and the lines that follow; None for certificates of another format. Raises `InputError`."""
    lines = numbered_lines(path)
    _, first = next(lines, (0, {}))
    return (read_header(first, _BESIDES), lines) if first.get("format") == FORMAT else None


def check_liveness_file(
    path: str | Path, tick: Callable[[int], None] = lambda _: None
) -> tuple[Header, Checked] | None:
    """Check that the file proves its claim; None for certificates of another format. Raises `InputError`."""
    found = read_liveness(path)
    return None if found is None else (found[0], check_liveness(*found, tick))
