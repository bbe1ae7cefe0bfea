"""Certificate files: one JSON object a line, compressed. The first is the header: what is claimed, of which system.

Nothing of the file is believed: the caller says which system the claim must be about (docs/certificates.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from venmas.blas import on_one_thread
from venmas.checker.check import Checked, CheckError, Line, check
from venmas.checker.inductive.check import check_inductive
from venmas.checker.inductive.header import read_invariant
from venmas.checker.json_lines import HOW, DamagedError, numbered_lines
from venmas.checker.phases import check_phases, read_phases
from venmas.checker.runs.check import check_runs
from venmas.checker.runs.claim import FIELDS, read_claim
from venmas.checker.runs.claim import FORMAT as RUNS
from venmas.checker.smooth.tree import check_trees, read_bits
from venmas.errors import InputError, RefusedError, UsageError
from venmas.logic import Always, parse, parse_property
from venmas.memory import seldom_collected
from venmas.model.canonical import networks_of, system_from_json, system_to_json
from venmas.model.canonical_writer import canonical_text
from venmas.model.disturbances import Noise
from venmas.model.system import System
from venmas.question import chosen_for, goals

FORMAT = "venmas-certificate-1"
"""Proofs of bounded formulas."""
INDUCTIVE = "venmas-certificate-2"
"""Inductive sets, which prove AG p without a bound."""
PHASES = "venmas-certificate-3"
"""Two bounded proofs, which prove AG p without a bound together."""
TUBES = "venmas-certificate-4"
"""Bounded formulas about systems that are not piecewise linear: trees of boxes, and tubes of affine forms from them."""
_NEEDED = {"format", "venmas", "formula", "inside", "semantics", "system", "networks"}
_BESIDES: dict[object, Set[str]] = {
    FORMAT: set(),
    INDUCTIVE: {"invariant"},
    PHASES: {"phases"},
    TUBES: {"enclosures"},
    RUNS: FIELDS,
}
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
        raise UsageError(f"{path} is no certificate of the form {FORMAT}, -2, -3, -4, or of LTL; {HOW}")
    needed = _NEEDED | _BESIDES[form]
    odd = (header.keys() ^ needed) - _OPTIONAL - ({"chosen"} if form == TUBES else set())
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
    except (RefusedError, DamagedError):
        raise
    except InputError as error:  # such as a formula about other variables
        raise CheckError(0, str(error)) from error


def _check_claim(
    header: Mapping[str, Any], lines: Iterator[tuple[int, Line]], system: System, tick: Callable[[int], None]
) -> Checked:
    vocabulary, of_runs = system.vocabulary, header["format"] == RUNS
    chosen: Noise = {}
    if system.disturbances and not of_runs:
        system, chosen = chosen_for(system, parse_property(header["formula"], vocabulary))
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
    if header["format"] == TUBES:
        return _check_tubes(header, lines, rebuilt, chosen, tick)
    if rebuilt.smooth:
        raise CheckError(0, f"{header['format']} is about piecewise linear systems, and {rebuilt.smooth}")
    if of_runs:
        return check_runs(rebuilt, read_claim(header), lines, tick)
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


def _check_tubes(
    header: Mapping[str, Any],
    lines: Iterator[tuple[int, Line]],
    system: System,
    chosen: Noise,
    tick: Callable[[int], None],
) -> Checked:
    if header.get("chosen", []) != list(chosen):
        raise CheckError(0, f"the noise that may be chosen for such a formula is: {', '.join(chosen) or 'none'}")
    if not header["inside"] or header["semantics"] != "real":
        raise CheckError(
            0, f"{TUBES} is about real networks, and shows that no run leaves the declared box: its header must say so"
        )
    about = goals(system, parse(header["formula"], system.vocabulary), chosen)
    return check_trees(system, about, read_bits(header["enclosures"]), lines, tick)


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
