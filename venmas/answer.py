"""The answer of a procedure to a question: a value, never a changed report (design section 2b)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from venmas.errors import Reason, VenmasError
from venmas.model.witness.tree import Witness

if TYPE_CHECKING:
    from venmas.checker.format.rule import Rule
    from venmas.model.system.variables import Box
    from venmas.model.witness.lasso import Run

Basis: TypeAlias = Literal["bounds", "exact", "solver"]
"""What a proof rests on: enclosures with their rounding errors, exact rationals, or the word of a solver."""
BASES: tuple[Basis, ...] = ("exact", "bounds", "solver")
"""The strongest first."""

Q_contra = TypeVar("Q_contra", contravariant=True)


class Proof(Protocol[Q_contra]):
    """What a certificate is written from. kind: of proof, as its header says."""

    @property
    def kind(self) -> str: ...  # noqa: D102

    def lines(self, question: Q_contra, tick: Callable[[], None]) -> Iterator[Rule]:
        """The lines about a question, the last one left out; tick: called between them, ends it by raising.

        Raises `IncompleteError` where it does not follow as the checker sees it.
        """
        ...


@dataclass(frozen=True)
class Written:
    """A proof whose lines are known. kind: see `Proof`."""

    kind: str
    rules: tuple[Rule, ...]

    def lines(self, question: object, tick: Callable[[], None]) -> Iterator[Rule]:
        """The lines."""
        return iter(self.rules)


class IncompleteError(VenmasError):
    """What floats refuted does not follow in rationals."""


@dataclass(frozen=True)
class Proved:
    """The property holds, as far as the side conditions do: no initial state meets the target, its negation.

    leaving: variables of which it is not excluded that they leave their declared ranges (the proof speaks of runs that
    do not); inside: it is proved besides that none does. may_deadlock: a state without
    successor may be reached; deadlock: it is, here. proof: writes the proof down, where one was asked for and found.
    """

    basis: Basis
    leaving: frozenset[str] = frozenset()
    may_deadlock: bool = False
    deadlock: Mapping[str, Fraction] | None = None
    inside: bool = False
    proof: Proof[Any] | None = None


@dataclass(frozen=True)
class Violated:
    """The property is violated in an initial state, as the witness shows, which the engine replays."""

    witness: Witness


@dataclass(frozen=True)
class Broken:
    """A property of LTL is violated: this run from an initial state, which was replayed, does not have it."""

    run: Run


@dataclass(frozen=True)
class Unknown:
    """Neither was found: why, and what the procedure was stuck at.

    leaving: as of `Proved`; a run that leaves its box is an error of the model, whatever else is open. final: nobody
    else can find more.
    """

    reason: Reason
    message: str
    leaving: frozenset[str] = frozenset()
    final: bool = False


@dataclass(frozen=True)
class Remaining:
    """Rest of the initial set that a procedure leaves: the property holds in all of it that is in none of these boxes.

    steps: nothing that is looked at in the first so many steps violates it anywhere; None where that is not known.
    leaving: as of `Proved`.
    """

    boxes: tuple[Box, ...]
    steps: int | None = None
    leaving: frozenset[str] = frozenset()


Answer: TypeAlias = Proved | Violated | Broken | Unknown
BranchingAnswer: TypeAlias = Proved | Violated | Unknown
LinearAnswer: TypeAlias = Proved | Broken | Unknown


class Figures(Protocol):
    """What a procedure counted, of its own kind."""

    def facts(self) -> list[tuple[str, str]]:
        """Names with values, for people."""
        ...
