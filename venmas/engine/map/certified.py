"""Certificates of a map's cells: is each decided box proved to be what the map says of it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

from venmas.checker.file import check_claim, read_certificate
from venmas.checker.format.header import Header
from venmas.engine.map.start import axes_of, question_digest, starting_in
from venmas.engine.map.tree import Cell, Sides, StateMap, Status, certificate_name, volume
from venmas.errors import RefusedError, UsageError
from venmas.logic import Formula, Linear, Not, parse_property
from venmas.model.system.system import System
from venmas.question import posed, read_property, read_system_property
from venmas.runtime.files import sha256_of


def check_map(
    shown: StateMap, system: System, folder: Path, tick: Callable[[int], None] = lambda _: None
) -> tuple[Mapping[str, int], int, Mapping[Status, Fraction]]:
    """Check every certificate of a map, which must be of this system.

    folder: where the certificates are. tick: called with the number of every line. Returns counts, the number of
    answers of solvers that proofs rest on, and the parts of the volume that are shown to be proved, and violated.

    Raises `RefusedError` for a map of another question, and for a certificate that is none of its box; `UsageError` for
    one that cannot be read, or for initial states that are no box.
    """
    asked = read_system_property(system, shown.formula)
    if isinstance(asked, Linear) or question_digest(system, asked.formula) != shown.question:
        raise RefusedError("the map is of another system, or of another formula, than the scenario describes now")
    axes = axes_of(system)
    if axes != shown.axes:
        raise RefusedError("the map has other intervals than the initial states")
    counts, said = Counter(boxes=0, certificates=0), 0
    shares: dict[Status, Fraction] = {"proved": Fraction(0), "violated": Fraction(0)}
    for cell, box, place in shown.walk():
        if cell.cut is not None or cell.status == "open":
            continue
        counts["boxes"] += 1
        if not cell.certificate:
            continue
        lines, solvers = _checked(cell, box, starting_in(system, axes, box), asked.formula, folder, place, tick)
        counts.update(lines)
        counts["certificates"] += 1
        said += solvers
        if not solvers:
            shares[cell.status] += volume(axes, box)
    return dict(counts), said, shares


def _checked(
    cell: Cell,
    box: Sides,
    part: System,
    formula: Formula,
    folder: Path,
    place: tuple[int, ...],
    tick: Callable[[int], None],
) -> tuple[Mapping[str, int], int]:
    """Check the certificate of a cell; part: the system that starts in it."""
    name = certificate_name(place)
    path = folder / name
    try:
        if path.is_file() and sha256_of(path) != cell.certificate:
            raise RefusedError(f"{name} is another certificate than that of the map: it was edited, or written anew")
    except OSError as error:
        raise UsageError(f"cannot read {str(path)[:200]!r}: {error.strerror or error}") from error
    header, lines = read_certificate(path, tick)
    said = formula if cell.status == "proved" else Not(formula)
    if header.claim.semantics != "real" or not _claims(header, part, said):
        where = ", ".join(f"{low} .. {high}" for low, high in box)
        raise RefusedError(f"{name} claims something else than that all of the box {where} is {cell.status}")
    try:
        done = check_claim(header, lines, part)
    except RefusedError as error:
        raise RefusedError(f"{name}: {error.problem}", error.line) from error
    return done.counts(), len(done.solvers())


def _claims(header: Header, part: System, formula: Formula) -> bool:
    if header.netlist is not None or header.claim.kind == "linear":
        return False
    claimed = parse_property(header.claim.formula, part.vocabulary).formula
    return bool(claimed == posed(part, read_property(part, formula)).formula)
