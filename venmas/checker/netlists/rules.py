"""The lines of a proof that no run breaks a property of LTL: an automaton, ranks, and obligations.

What they mean is in docs/certificates.md. `Automaton` is the first line of the proofs about systems, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from venmas.checker.format.fields import Count
from venmas.checker.format.rule import Rule, rule


@rule("automaton")
@dataclass(frozen=True, slots=True)
class Automaton(Rule):
    """Accepts the runs without the property. edges: (source, care, value, target, marks), atoms and sets as bits."""

    atoms: tuple[str, ...]
    states: Count
    marks: Count
    edges: tuple[tuple[Count, Count, Count, Count, Count], ...]


@rule("invariant")
@dataclass(frozen=True, slots=True)
class Invariant(Rule):
    """An inductive invariant: a netlist over registers with a bit for each state of the automaton.

    Its states have as symbols the line numbers of the registers.
    """

    holds: str


@rule("rank")
@dataclass(frozen=True, slots=True)
class Rank(Rule):
    """A rank that rises on none of these edges, and falls on the strict ones.

    neurons: a netlist over registers, as of an invariant, an output for each neuron. weights: of each automaton state
    that the edges touch, in order, those of the neurons. width: bits of the sums.
    """

    edges: tuple[Count, ...]
    strict: tuple[Count, ...]
    neurons: str
    weights: tuple[tuple[int, ...], ...]
    width: Count


@dataclass(frozen=True, slots=True)
class Obligation(Rule):
    """the proof of an obligation

    taken: leaves that are 1 in a step that takes the edge; None: none is shown.
    """

    taken: tuple[Count, ...] | None


@rule("enumerate")
@dataclass(frozen=True, slots=True)
class Enumerated(Obligation):
    """All values of so many bits meet the obligation."""

    bits: Count


@rule("rup")
@dataclass(frozen=True, slots=True)
class Rup(Obligation):
    """Clauses, each of which follows from those before by unit propagation."""

    clauses: tuple[tuple[int, ...], ...]


@rule("solver")
@dataclass(frozen=True, slots=True)
class Solver(Obligation):
    """No proof: solvers that said so."""

    solvers: str
