"""VNN-LIB properties, as used by VNN-COMP: conditions on inputs and outputs that make a counterexample.

All assertions of a file hold together at a counterexample. Numbers are the decimals that are written, exactly.
https://www.vnnlib.org, standards 1.0 and 2.0.
"""

from __future__ import annotations

from os import PathLike

from venmas.errors import UsageError
from venmas.formats.packed import read_packed
from venmas.formats.vnnlib.first import parse_first
from venmas.formats.vnnlib.query import Query
from venmas.formats.vnnlib.second import parse_second, version_of

MAX_BYTES = 32 << 20
"""Largest file that is read."""


def read_vnnlib(path: str | PathLike[str]) -> Query:
    """Read a file, .gz or not. Raises `UsageError` where it cannot be read, `FormulaError` for what it says."""
    data = read_packed(path, MAX_BYTES, "a property")
    try:
        return parse_vnnlib(data.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no UTF-8 text ({error.reason} at byte {error.start})") from error


def parse_vnnlib(text: str, name: str = "property") -> Query:
    """Read a text; `name` is what messages call it. Raises `FormulaError` with line and column.

    VNN-LIB 2.0 is read where the package vnnlib is installed (`venmas.formats.vnnlib.second`); raises `UsageError` for
    it.
    """
    return parse_first(text, name) if version_of(text) is None else parse_second(text, name)
