"""The lines of a certificate that no run breaks a property of LTL, as data: written and read, strictly.

Whoever writes a proof makes the objects; the checker reads them back. What they mean is in docs/certificates.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, TypeVar

from venmas.checker.format.numbers import CheckError

FORMAT = "venmas-certificate-ltl-1"
_MOST = 1 << 20  # bits of an integer


@dataclass(frozen=True, slots=True)
class Header:
    """What is claimed: every run of the netlist (from initial states, if `initial` is a text) has the formula.

    fair: conditions that hold again and again on the runs that are meant. initial: None for proofs from every state,
    else a condition of initial states, besides what the netlist says of them.
    """

    formula: str
    fair: tuple[str, ...]
    initial: str | None
    netlist: str


@dataclass(frozen=True, slots=True)
class Automaton:
    """Accepts the runs without the property. edges: (source, care, value, target, marks), atoms and sets as bits."""

    name: ClassVar[str] = "automaton"
    atoms: tuple[str, ...]
    states: int
    marks: int
    edges: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Invariant:
    """What holds in each state of the automaton: a netlist over registers with an output of one bit for each.

    Its states have as symbols the line numbers of the registers.
    """

    name: ClassVar[str] = "invariant"
    holds: str


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank that rises on none of these edges, and falls on the strict ones.

    neurons: a netlist over registers, as of an invariant, an output for each neuron. weights: of each automaton state
    that the edges touch, in order, those of the neurons. width: bits of the sums.
    """

    name: ClassVar[str] = "rank"
    edges: tuple[int, ...]
    strict: tuple[int, ...]
    neurons: str
    weights: tuple[tuple[int, ...], ...]
    width: int


@dataclass(frozen=True, slots=True)
class Enumerated:
    """The proof: all values of so many bits were looked at."""

    name: ClassVar[str] = "enumerate"
    bits: int


@dataclass(frozen=True, slots=True)
class Rup:
    """The proof: clauses, each of which follows from those before by unit propagation."""

    name: ClassVar[str] = "rup"
    clauses: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Solver:
    """No proof: solvers that said so."""

    name: ClassVar[str] = "solver"
    said: str


Proof = Enumerated | Rup | Solver


@dataclass(frozen=True, slots=True)
class Obligation:
    """The proof of the next obligation. taken: leaves that are 1 in a step that takes the edge; None: none is shown."""

    name: ClassVar[str] = "obligation"
    proof: Proof
    taken: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class End:
    """The last line: its own number."""

    name: ClassVar[str] = "end"
    lines: int


Statement = Automaton | Invariant | Rank | Obligation | End
_KINDS: dict[str, type[Any]] = {kind.name: kind for kind in (Automaton, Invariant, Rank, Obligation, End)}
_T = TypeVar("_T")


def header_json(header: Header) -> dict[str, object]:
    """The first line, without what only people read."""
    return {"format": FORMAT, **asdict(header)}


def to_json(line: Statement) -> dict[str, object]:
    """A line."""
    data = {"rule": line.name, **asdict(line)}
    if isinstance(line, Obligation):
        (data["proof"],) = ({line.proof.name: value} for value in asdict(line.proof).values())
    return data


def read_header(data: Mapping[str, Any], besides: set[str]) -> Header:
    """The claim of a first line, which may have other fields `besides`. Raises `CheckError`."""
    names = {one.name for one in fields(Header)}
    if data.keys() - besides != names | {"format"} or data["format"] != FORMAT:
        raise CheckError(0, f"the header must have the fields format, {', '.join(sorted(names))}")
    at = _At(0, "the header")
    initial = None if data["initial"] is None else at.text(data["initial"])
    return Header(at.text(data["formula"]), at.several(data["fair"], at.text), initial, at.text(data["netlist"]))


def read_line(number: int, data: Mapping[str, Any]) -> Statement:
    """A line after the first. Raises `CheckError` for what `to_json` would not write."""
    name = data.get("rule")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None or data.keys() != {"rule", *(one.name for one in fields(kind))}:
        raise CheckError(number, f"no line that is known, or other entries: {str(data)[:60]}")
    at = _At(number, str(name))
    if kind is Automaton:
        edges = at.several(data["edges"], at.numbers)
        return Automaton(at.several(data["atoms"], at.text), at.number(data["states"]), at.number(data["marks"]), edges)
    if kind is Invariant:
        return Invariant(at.text(data["holds"]))
    if kind is Rank:
        weights = at.several(data["weights"], at.numbers)
        edges_, strict = at.numbers(data["edges"]), at.numbers(data["strict"])
        return Rank(edges_, strict, at.text(data["neurons"]), weights, at.number(data["width"]))
    if kind is End:
        return End(at.number(data["lines"]))
    taken = None if data["taken"] is None else at.numbers(data["taken"])
    return Obligation(_proof(at, data["proof"]), taken)


def _proof(at: _At, data: object) -> Proof:
    if not isinstance(data, dict) or len(data) != 1:
        raise at.refused("a proof has one entry")
    ((name, value),) = data.items()
    if name == "enumerate":
        return Enumerated(at.number(value))
    if name == "rup":
        return Rup(at.several(value, at.numbers))
    if name == "solver":
        return Solver(at.text(value))
    raise at.refused("its proof is none that is known")


@dataclass(frozen=True)
class _At:
    line: int
    what: str

    def refused(self, problem: str) -> CheckError:
        return CheckError(self.line, f"{self.what}: {problem}")

    def text(self, value: object) -> str:
        if not isinstance(value, str):
            raise self.refused(f"a text is wanted, not {str(value)[:40]!r}")
        return value

    def number(self, value: object) -> int:
        if type(value) is not int or value.bit_length() > _MOST:
            raise self.refused(f"a whole number is wanted, not {str(value)[:40]!r}")
        return value

    def several(self, value: object, each: Callable[[object], _T]) -> tuple[_T, ...]:
        if not isinstance(value, list):
            raise self.refused(f"a list is wanted, not {str(value)[:40]!r}")
        return tuple(each(one) for one in value)

    def numbers(self, value: object) -> tuple[int, ...]:
        return self.several(value, self.number)
