"""Header of a certificate: claim, subject, and kind of proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

from venmas._version import __version__
from venmas.checker.format.fields import Count, Limit, MisfitError, entries, record
from venmas.checker.format.numbers import CheckError
from venmas.errors import UsageError
from venmas.nn.network import Semantics

FORMAT = "venmas-certificate-1"


@dataclass(frozen=True)
class Claim:
    """The formula holds in every initial state of the system, or on every run of the system or netlist that is meant.

    kind: of the property; `linear` is LTL. semantics: what networks compute. inside: besides, no run leaves the
    declared box. Of LTL: `fair` are conditions that runs that are meant meet again and again; `deadlock` is what runs
    do in a state without a successor; `initial` is a condition of the initial states of a netlist (none: the claim is
    about runs from every state); after `within` steps every run has shown it. chosen: the noise that may be chosen.
    """

    formula: Annotated[str, Limit(most=10_000_000)]
    kind: Literal["bounded", "always", "unbounded", "linear"]
    semantics: Semantics = "real"
    inside: bool = False
    fair: tuple[str, ...] = ()
    deadlock: Literal["error", "stutter"] = "error"
    initial: str | None = None
    within: Count | None = None
    chosen: tuple[str, ...] = ()

    def more_than(self, names: frozenset[str]) -> list[str]:
        """Claimed fields besides the formula that are none of these."""
        return [f.name for f in fields(self)[2:] if f.name not in names and getattr(self, f.name) != f.default]


@dataclass(frozen=True)
class Header:
    """proof: the kind of proof. subject: a system in canonical form with the hashes of its networks, or a netlist.

    venmas: version of the writer; origin, parameters: where the scenario is found. These have no influence, whatever
    they are.
    """

    format: Literal["venmas-certificate-1"]
    proof: str
    claim: Claim
    subject: Mapping[str, object]
    venmas: str
    origin: object = field(default_factory=dict)
    parameters: object = field(default_factory=dict)

    @property
    def netlist(self) -> str | None:
        """The netlist that the claim is about, None where it is about a system."""
        text = self.subject.get("netlist")
        return text if isinstance(text, str) and self.subject.keys() == {"netlist"} else None

    def to_json(self) -> dict[str, object]:
        """The line."""
        return entries(self)


_read = record(Header)


def written(proof: str, claim: Claim, subject: Mapping[str, object], about: Mapping[str, object]) -> Header:
    """The header of a new certificate. about: origin and parameters."""
    return Header(FORMAT, proof, claim, subject, __version__, **about)  # type: ignore[arg-type]


def read_header(data: Mapping[str, object]) -> Header:
    """Inverse of `Header.to_json`. Raises `UsageError` for no certificate, `CheckError` for a wrong header."""
    if data.get("format") != FORMAT:
        raise UsageError(f"it is no certificate of the form {FORMAT}")
    try:
        header: Header = _read(data)
    except MisfitError as error:
        raise CheckError(0, f"the header: {error}") from None
    if header.netlist is None and header.subject.keys() != {"system", "networks"}:
        raise CheckError(0, "the subject is a system with its networks, or the text of a netlist")
    return header
