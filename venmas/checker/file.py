"""Certificate files: one JSON object a line, compressed. The first is the header: what is claimed, of which system.

Nothing of the file is believed: the caller says which system the claim must be about (docs/certificates.md).
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from venmas.blas import on_one_thread
from venmas.checker.check import Checked, CheckError, Line, check
from venmas.checker.inductive.check import check_inductive
from venmas.checker.inductive.header import read_invariant
from venmas.checker.phases import check_phases, read_phases
from venmas.errors import InputError, RefusedError, UsageError
from venmas.logic import Always, parse, parse_property
from venmas.memory import seldom_collected
from venmas.model.canonical import networks_of, system_from_json, system_to_json
from venmas.model.canonical_writer import canonical_text
from venmas.model.system import System
from venmas.nn.files import json_parts
from venmas.question import drawn_for

FORMAT = "venmas-certificate-1"
"""Proofs of bounded formulas."""
INDUCTIVE = "venmas-certificate-2"
"""Inductive sets, which prove AG p without a bound."""
PHASES = "venmas-certificate-3"
"""Two bounded proofs, which prove AG p without a bound together."""
MAX_LINE = 64 << 20
"""Longest line, in bytes."""

MAX_PARTS = 4_000_000
"""Most values in a line: some of them take a hundred times the room of their text."""

_HOW = "write one with `venmas verify ... --certificate FILE`"
_NEEDED = {"format", "venmas", "formula", "inside", "semantics", "system", "networks"}
_BESIDES: dict[object, set[str]] = {FORMAT: set(), INDUCTIVE: {"invariant"}, PHASES: {"phases"}}
"""What the header of each format has besides."""
_OPTIONAL = {"origin", "parameters"}


def read_certificate(path: str | Path) -> tuple[Mapping[str, Any], Iterator[tuple[int, Line]]]:
    """The header, its fields checked, and the numbered lines that follow, read as they are asked for.

    Raises `UsageError` for what is no certificate, `CheckError` for a header that breaks the format.
    """
    lines = numbered_lines(path)
    header = next(lines, (0, {}))[1]
    form = header.get("format")
    if not isinstance(form, str) or form not in _BESIDES:
        raise UsageError(f"{path} is no certificate of the form {FORMAT}, -2 or -3; {_HOW}")
    needed = _NEEDED | _BESIDES[form]
    odd = (header.keys() ^ needed) - _OPTIONAL
    if odd:
        raise CheckError(0, f"the header must have the fields {', '.join(sorted(needed))}: see {sorted(odd)[0][:40]!r}")
    if not isinstance(header["formula"], str) or type(header["inside"]) is not bool:
        raise CheckError(0, "the header gives no formula, or does not say what it claims of the box")
    if header["semantics"] not in ("real", "float32"):
        raise CheckError(0, "the header does not say what networks compute (real or float32)")
    return header, lines


@on_one_thread
def check_claim(
    header: Mapping[str, Any], lines: Iterator[tuple[int, Line]], system: System, tick: Callable[[int], None]
) -> Checked:
    """Check what `read_certificate` returned: that it is about `system`, and proves its claim. Raises `CheckError`."""
    try:
        return _check_claim(header, lines, system, tick)
    except RefusedError:
        raise
    except InputError as error:  # such as a formula about other variables
        raise CheckError(0, str(error)) from error


def _check_claim(
    header: Mapping[str, Any], lines: Iterator[tuple[int, Line]], system: System, tick: Callable[[int], None]
) -> Checked:
    vocabulary = system.vocabulary
    if system.disturbances:
        system = drawn_for(system, parse_property(header["formula"], vocabulary))
    theirs, ours = header["system"], system_to_json(system)
    if not isinstance(theirs, dict) or theirs.keys() != ours.keys():
        raise CheckError(0, f"the system is no object of the fields {', '.join(ours)}")
    different = [key for key in ours if _text(theirs[key]) != _text(ours[key])]
    if different:
        raise CheckError(
            0,
            f"it is about another system than the one given: {', '.join(different)} differ (another version, or other "
            "parameters); name the right scenario and parameters",
        )
    networks = networks_of(system)
    if header["networks"] != sorted(networks):
        raise CheckError(0, "the networks that the header lists are not those of its system")
    rebuilt = system_from_json(theirs, networks)
    if header["format"] != FORMAT:
        return _check_always(header, lines, rebuilt, tick)
    formula = parse(header["formula"], vocabulary)
    return check(rebuilt, formula, header["inside"], lines, tick, header["semantics"])


def _check_always(
    header: Mapping[str, Any], lines: Iterator[tuple[int, Line]], system: System, tick: Callable[[int], None]
) -> Checked:
    asked = parse_property(header["formula"], system.vocabulary)
    if not isinstance(asked, Always):
        raise CheckError(
            0, f"{header['format']} proves AG p without a bound, p being about one state, and nothing else"
        )
    if not header["inside"]:
        raise CheckError(
            0, f"{header['format']} shows that no run leaves the declared box: its header must say so (inside)"
        )
    if header["format"] == PHASES:
        phases, inside = read_phases(header["phases"], system.vocabulary)
        return check_phases(system, asked.invariant, phases, inside, lines, tick, header["semantics"])
    invariant = read_invariant(header["invariant"], len(system.variables))
    return check_inductive(system, asked.invariant, invariant, lines, tick, header["semantics"])


@seldom_collected
def check_certificate(path: str | Path, system: System, tick: Callable[[int], None] = lambda _: None) -> Checked:
    """Check that the file proves its claim, which is about `system`. Raises `InputError` (`CheckError` names a line).

    tick: called with the number of every line. What is claimed is in the header: see `read_certificate`.
    """
    header, lines = read_certificate(path)
    return check_claim(header, lines, system, tick)


def _text(form: object) -> str:
    try:
        return canonical_text(form)
    except (ValueError, RecursionError) as error:
        raise CheckError(0, f"the system is no canonical form ({type(error).__name__})") from error


def numbered_lines(path: str | Path) -> Iterator[tuple[int, Line]]:
    """The numbered objects of a certificate of any form, from 0. Raises `InputError`."""
    number = 0
    try:
        if not Path(path).is_file():
            raise UsageError(f"there is no file {str(path)[:200]!r}; {_HOW}")
        with Path(path).open("rb") as raw, closing(gzip.GzipFile(fileobj=raw)) as file:
            while text := file.readline(MAX_LINE + 1):
                if len(text) > MAX_LINE:
                    raise CheckError(number, f"longer than {MAX_LINE >> 20} MB")
                if json_parts(text) > MAX_PARTS:
                    raise CheckError(number, f"more than {MAX_PARTS} values")
                line = json.loads(text, object_pairs_hook=_once, parse_float=_no_float, parse_constant=_no_float)
                if not isinstance(line, dict):
                    raise CheckError(number, f"expected an object, got a {type(line).__name__}")
                yield number, line
                number += 1
    except InputError:
        raise
    except OSError as error:
        raise UsageError(
            f"cannot read {str(path)[:200]!r} as a certificate: {error.strerror or error}; {_HOW}"
        ) from error
    except (ValueError, EOFError, zlib.error, RecursionError) as error:
        raise CheckError(
            number, f"not what a certificate holds ({type(error).__name__}: {str(error)[:200]})"
        ) from error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field is given twice")
    return found


def _no_float(text: str) -> object:
    raise ValueError(f"a number with a point or an exponent, {text[:40]}")
