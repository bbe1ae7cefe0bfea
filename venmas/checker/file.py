"""Certificate files: one JSON object a line, compressed. The first is the header: what is claimed, of which system.

Nothing of the file is believed: the caller says which system the claim must be about (docs/certificates.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from venmas.checker.flowpipes.tree import check_trees
from venmas.checker.forever.check import check_core, check_derivation
from venmas.checker.forever.linear import demanded
from venmas.checker.format.header import Claim, Header, read_header
from venmas.checker.format.json_lines import HOW, json_lines
from venmas.checker.format.lines import Checked, Line, Lines, Tick
from venmas.checker.format.numbers import CheckError
from venmas.checker.goals.check import check
from venmas.checker.inductive.check import check_inductive
from venmas.checker.inductive.phases import check_phases
from venmas.checker.inductive.rules import Set
from venmas.checker.levels.check import check_levels
from venmas.checker.levels.claim import read_formula
from venmas.checker.levels.labels import check_labels
from venmas.checker.levels.ranked import check_ranks
from venmas.checker.netlists.check import check_netlist
from venmas.errors import UsageError
from venmas.logic import FALSE, Always, Formula, fixpoints, parse, parse_property
from venmas.model.canonical.canonical import networks_of, system_from_json, system_to_json
from venmas.model.canonical.writer import canonical_text
from venmas.model.system.disturbances import Noise
from venmas.model.system.system import System
from venmas.question import chosen_for, goals
from venmas.runtime.blas import on_one_thread
from venmas.runtime.memory import seldom_collected


@dataclass(frozen=True)
class About:
    """A claim about a system, as the header has both, and the noise that may be chosen."""

    claim: Claim
    system: System
    chosen: Noise

    @property
    def bounded(self) -> Formula:
        """The formula of a bounded property. Raises `FormulaError`."""
        return parse(self.claim.formula, self.system.vocabulary)

    @property
    def branching(self) -> Formula:
        """The formula of a property of CTL, of the kind that is claimed. Raises `CheckError`, `FormulaError`."""
        asked = parse_property(self.claim.formula, self.system.vocabulary)
        if asked.kind != self.claim.kind:
            raise CheckError(0, f"the formula is {asked.kind}, and is claimed to be {self.claim.kind}")
        return asked.formula

    @property
    def invariant(self) -> Formula:
        """What holds in every state, of a property that says so. Raises `CheckError`."""
        asked = parse_property(self.claim.formula, self.system.vocabulary)
        if not isinstance(asked, Always):
            raise CheckError(0, "an always property is AG p without a bound, p being about one state")
        return asked.invariant


@dataclass(frozen=True)
class Kind:
    """A kind of proof. claims: the kinds of properties that it proves; about: fields that its claim may have.

    inside: must it claim that no run leaves the declared box? smooth: may systems be other than piecewise linear?
    noisy: does it draw noise itself, for each of its parts?
    """

    claims: tuple[str, ...]
    about: frozenset[str]
    check: Callable[[About, Lines], Checked]
    inside: bool = True
    smooth: bool = False
    noisy: bool = False


def _goals(about: About, lines: Lines) -> Checked:
    claim = about.claim
    return check(about.system, about.bounded, claim.inside, lines, claim.semantics)


def _inductive(about: About, lines: Lines) -> Checked:
    invariant = lines.next(Set).read_at(lines, len(about.system.variables))
    return check_inductive(about.system, about.invariant, invariant, lines, about.claim.semantics)


def _phases(about: About, lines: Lines) -> Checked:
    return check_phases(about.system, about.invariant, lines, about.claim.semantics)


def _flowpipes(about: About, lines: Lines) -> Checked:
    claimed = goals(about.system, about.bounded, about.chosen)
    return check_trees(about.system, claimed, lines, about.claim.semantics)


def _derivation(about: About, lines: Lines) -> Checked:
    return check_derivation(about.system, about.branching, lines, about.claim.semantics)


def _labels(about: About, lines: Lines) -> Checked:
    return check_labels(about.system, about.branching, lines)


def _forever_ltl(about: About, lines: Lines) -> Checked:
    """Of all runs, so also of those that are meant: nothing is said of branches or of fairness."""
    claim, system = about.claim, about.system
    if system.quantities:
        raise CheckError(0, "the system has quantities, which its first step measures")
    formula, *_ = (read_formula(system, text) for text in (claim.formula, *claim.fair))
    system, shown = demanded(system, formula, claim.deadlock)
    if shown is FALSE:
        raise CheckError(0, "no form of branching time shows the formula, or noise decides about successors")
    return check_core(system, fixpoints(shown), lines, claim.semantics)


def _levels(about: About, lines: Lines) -> Checked:
    return check_levels(about.system, about.claim, lines)


def _ranks(about: About, lines: Lines) -> Checked:
    return check_ranks(about.system, about.claim, lines)


_RUNS = frozenset({"inside", "fair", "deadlock", "within"})
KINDS: Mapping[str, Kind] = {
    "goals": Kind(("bounded",), frozenset({"semantics", "inside"}), _goals, inside=False),
    "inductive": Kind(("always",), frozenset({"semantics", "inside"}), _inductive),
    "two-phase": Kind(("always",), frozenset({"semantics", "inside"}), _phases),
    "flowpipes": Kind(("bounded",), frozenset({"semantics", "inside", "chosen"}), _flowpipes, smooth=True),
    "forever": Kind(
        ("always", "unbounded"), frozenset({"semantics"}), _derivation, inside=False, smooth=True, noisy=True
    ),
    "labels": Kind(("always", "unbounded"), frozenset({"inside"}), _labels),
    "forever-ltl": Kind(("linear",), _RUNS - {"within"}, _forever_ltl, smooth=True, noisy=True),
    "levels": Kind(("linear",), _RUNS, _levels),
    "ranks": Kind(("linear",), _RUNS, _ranks),
}
"""Kinds of proofs about systems, by the name in the header."""
NETLIST = "netlist"
"""The kind of proofs about a netlist, which is in the header."""
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
            return check_netlist(header.claim, header.netlist, lines)
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
