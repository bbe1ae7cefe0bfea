"""Check of a map: the certificates of its boxes, one by one."""

from __future__ import annotations

from pathlib import Path

from venmas.cli.apart import check_kept
from venmas.cli.check_result import Found
from venmas.cli.checking import Tick, Told, loaded_for, subject_of
from venmas.cli.output import read_input
from venmas.errors import UsageError

CERTIFICATES = ".proofs"
"""Ending of the folder beside a map that has its certificates."""


def folder_of(path: str | Path) -> Path:
    """The folder with the certificates of a map, by the file of the map."""
    return Path(f"{path}{CERTIFICATES}")


def is_map(path: str) -> bool:
    """Does a file begin as JSON does? Certificates and archives are compressed."""
    try:
        return Path(path).is_file() and read_input(path, 0) == b"{"
    except OSError:
        return False


def checked_map(path: str, told: Told, result: Found, tick: Tick) -> list[str]:
    """Check it, and note in `result` what is known; the lines that say what was proved. Raises `InputError`."""
    from venmas.cli.table import refuse
    from venmas.engine.map.certified import check_map
    from venmas.engine.map.stored import MAX_BYTES, read_map
    from venmas.report.map import percent
    from venmas.runtime.files import sha256_of

    refuse("netlist", f"{path} is a map of a system")
    try:
        data = read_input(path, MAX_BYTES)
        result.sha256 = sha256_of(path)
    except OSError as error:
        raise UsageError(f"cannot read {path[:200]!r}: {error.strerror or error}") from error
    shown = read_map(data, path)
    result.claim = {"proof": "map", "formula": shown.formula}
    origin = {"scenario": shown.scenario}
    loaded = loaded_for(path, origin, shown.parameters, told.scenario, told.settings, told.networks)
    check_kept({"--json": told.json}, loaded.files)
    result.subject, digest = subject_of(loaded)
    counts, said, shares = check_map(shown, loaded.system, folder_of(path), tick)
    result.claim = {**result.claim, "shares": {status: str(share) for status, share in shares.items()}}
    parts = [f"satisfied in {percent(shares['proved'])}", f"violated in {percent(shares['violated'])}"]
    parts = [f"{', '.join(parts)} of the volume of initial states"]
    result.proved(counts, said)
    decided, proofs, _ = shown.certified()
    if not said and not proofs:
        result.unknown("open", "no box has a certificate")
    elif not said and proofs < decided:
        result.unknown("open", f"{decided - proofs} of {decided} decided boxes have no certificate")
    elif not said:
        result.about = f": {parts[0]}"
    where = f"in boxes of initial states of {told.scenario or loaded.name}, system {digest[:16]}"
    return [shown.formula, where, *parts, f"{proofs} of {decided} decided boxes"]
