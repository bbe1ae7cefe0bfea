"""Certificate files: one JSON object a line, compressed. The first is the header: what is claimed, of which system.

Nothing of the file is believed: the caller says which system the claim must be about (docs/certificates.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from venmas.checker.format.about import About
from venmas.checker.format.header import Header, read_header
from venmas.checker.format.json_lines import HOW, json_lines
from venmas.checker.format.lines import Checked, Line, Lines, Tick
from venmas.checker.format.numbers import CheckError
from venmas.errors import UsageError
from venmas.logic import parse_property
from venmas.model.canonical.canonical import system_from_json, system_to_json
from venmas.model.canonical.writer import canonical_text
from venmas.model.system.disturbances import Noise
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System
from venmas.question import chosen_for
from venmas.runtime.blas import on_one_thread
from venmas.runtime.memory import seldom_collected


@dataclass(frozen=True)
class Kind:
    """A kind of proof. claims: the kinds of properties that it proves; about: fields that its claim may have.

    module: has the check, `proved`, and its rules; it is loaded where such a proof is checked.
    inside: must it claim that no run leaves the declared box? smooth: may systems be other than piecewise linear?
    noisy: does it draw noise itself, for each of its parts?
    """

    claims: tuple[str, ...]
    about: frozenset[str]
    module: str
    inside: bool = True
    smooth: bool = False
    noisy: bool = False

    def check(self, about: About, lines: Lines) -> Checked:
        """Check such a proof. Raises `CheckError`."""
        checked: Checked = import_module(self.module).proved(about, lines)
        return checked


_HERE = "venmas.checker"
_BOXED = frozenset({"semantics", "inside"})
_RUNS = frozenset({"inside", "fair", "deadlock", "within"})
KINDS: Mapping[str, Kind] = {
    "goals": Kind(("bounded",), _BOXED, f"{_HERE}.goals.check", inside=False, smooth=True),
    "inductive": Kind(("always",), _BOXED, f"{_HERE}.inductive.check"),
    "two-phase": Kind(("always",), _BOXED, f"{_HERE}.inductive.phases"),
    "flowpipes": Kind(("bounded",), _BOXED | {"chosen"}, f"{_HERE}.flowpipes.tree", smooth=True),
    "covers": Kind(("bounded", "always"), _BOXED, f"{_HERE}.covers.check", inside=False, smooth=True, noisy=True),
    "forever": Kind(
        ("bounded", "always", "unbounded"),
        _BOXED,
        f"{_HERE}.forever.check",
        inside=False,
        smooth=True,
        noisy=True,
    ),
    "labels": Kind(("bounded", "always", "unbounded"), frozenset({"inside"}), f"{_HERE}.levels.labels"),
    "forever-ltl": Kind(("linear",), _RUNS - {"within"}, f"{_HERE}.forever.runs", smooth=True, noisy=True),
    "levels": Kind(("linear",), _RUNS, f"{_HERE}.levels.check"),
    "ranks": Kind(("linear",), _RUNS, f"{_HERE}.levels.ranked"),
}
"""Kinds of proofs about systems, by the name in the header."""
NETLIST = "netlist"
"""The kind of proofs about a netlist, which is in the header."""
NETLISTS = f"{_HERE}.netlists.check"
"""The module that checks them."""
_OF_NETLIST = frozenset({"fair", "initial"})


def read_certificate(path: str | Path, tick: Tick = lambda _: None) -> tuple[Header, Lines]:
    """`opened` of a file. Raises `UsageError` for what is no certificate, `CheckError` for what breaks the format."""
    try:
        return opened(json_lines(path), tick)
    except UsageError as error:
        raise UsageError(str(error) if HOW in str(error) else f"{str(path)[:200]}: {error}; {HOW}") from None


def opened(rows: Iterable[Line], tick: Tick = lambda _: None) -> tuple[Header, Lines]:
    """The header, the first line, its fields checked, and the lines that follow, read as they are asked for.

    tick: called with the number of every line. Raises `UsageError`, `CheckError`.
    """
    rest = iter(rows)
    header = read_header(next(rest, {}))
    kind = KINDS.get(header.proof)
    about, claims = (kind.about, kind.claims) if kind else (_OF_NETLIST, ("linear",))
    if kind is None and header.proof != NETLIST:
        raise CheckError(0, f"its kind of proof is none of {', '.join([*KINDS, NETLIST])}: {header.proof[:40]!r}")
    if (header.netlist is None) is (kind is None):
        raise CheckError(0, f"a proof of the kind {header.proof} is about {'a system' if kind else 'a netlist'}")
    if header.claim.kind not in claims:
        told = " and ".join(claims)
        raise CheckError(0, f"a proof of the kind {header.proof} is of {told} properties, not {header.claim.kind} ones")
    if more := header.claim.more_than(about):
        raise CheckError(0, f"a proof of the kind {header.proof} shows nothing of {', '.join(more)}")
    if kind and kind.inside and not header.claim.inside:
        raise CheckError(
            0, f"a {header.proof} proof shows that no run leaves the declared box: its claim must say so (inside)"
        )
    return header, Lines(rest, tick)


@on_one_thread
def check_claim(header: Header, lines: Lines, system: System | None = None) -> Checked:
    """Check what `opened` returned: that it proves its claim, about this system, or about its netlist.

    Raises `CheckError`, also where it is about another system.
    """
    with lines.refusing():
        if header.netlist is not None:
            checked: Checked = import_module(NETLISTS).check_netlist(header.claim, header.netlist, lines)
            return checked
        if system is None:
            raise CheckError(0, "it is about a system, and none is given")
        kind = KINDS[header.proof]
        chosen: Noise = {}
        if system.disturbances and not kind.noisy and kind.claims != ("linear",):
            system, chosen = chosen_for(system, parse_property(header.claim.formula, system.vocabulary))
        rebuilt = _rebuilt(header, system)
        if rebuilt.smooth and not kind.smooth:
            raise CheckError(0, f"{header.proof} proofs are about piecewise linear systems, and {rebuilt.smooth}")
        if "chosen" in kind.about and header.claim.chosen != tuple(chosen):
            raise CheckError(0, f"the noise that may be chosen for such a formula is: {', '.join(chosen) or 'none'}")
        return kind.check(About(header.claim, rebuilt, chosen), lines)


@seldom_collected
def check_certificate(path: str | Path, system: System | None = None, tick: Tick = lambda _: None) -> Checked:
    """Check that the file proves its claim, which is about `system`, or (None) about the netlist that it has.

    Raises `InputError` (`CheckError` names a line). tick: called with the number of every line.
    """
    header, lines = read_certificate(path, tick)
    return check_claim(header, lines, system)


def _rebuilt(header: Header, system: System) -> System:
    """The system of the header, which must be the one that is given; that one itself where it has noise, as what draws
    noise is written down and not read."""
    theirs, ours = header.subject["system"], system_to_json(system)
    if not isinstance(theirs, dict) or theirs.keys() != ours.keys():
        raise CheckError(0, f"the system is no object of the fields {', '.join(ours)}")
    networks = networks_of(system)
    different = [key for key in ours if _text(theirs[key]) != _text(ours[key])]
    if different and _but_for(header.subject["networks"], theirs) == _but_for(list(networks), ours):
        raise CheckError(
            0,
            f"it is about other networks than those given, whose weights have the digests {', '.join(networks)}; "
            "`venmas recheck` proves it of these",
        )
    if different:
        raise CheckError(
            0,
            f"it is about another system than the one given: {', '.join(different)} differ (another version, or other "
            "parameters); name the right scenario and parameters",
        )
    if header.subject["networks"] != sorted(networks):
        raise CheckError(0, "the networks that the header lists are not those of its system")
    return system if system.disturbances else system_from_json(theirs, networks)


def _but_for(networks: object, form: Mapping[str, object]) -> str:
    """The text of a system without the digests of its networks."""
    text = _text(form)
    for digest in networks if isinstance(networks, list) else ():
        text = text.replace(str(digest), "")
    return text


def _text(form: object) -> str:
    try:
        return canonical_text(form)
    except (ValueError, RecursionError) as error:
        raise CheckError(0, f"the system is no canonical form ({type(error).__name__})") from error
