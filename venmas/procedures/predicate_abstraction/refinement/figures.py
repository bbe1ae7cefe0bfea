"""What refinement comes to, for people and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from venmas.procedures.predicate_abstraction.refinement.drawing import Drawn
    from venmas.procedures.predicate_abstraction.states.predicates import Predicate


@dataclass(frozen=True)
class Iteration:
    """What an iteration came to: predicates and states it had, the length of its path, what was spurious and added."""

    predicates: int
    states: int
    length: int
    kind: str
    added: tuple[Predicate, ...]


@dataclass
class StartCounts:
    """Abstract starts: how many there are, conditions of those that are unsafe, and whether the others are safe."""

    total: int
    unsafe: list[str] = field(default_factory=list)
    closed: bool = False

    @property
    def left(self) -> int:
        """Those that are not known to be unsafe."""
        return self.total - len(self.unsafe)

    def text(self) -> str:
        """For people."""
        safe = f"{self.left} of {self.total} proved safe" if self.closed else f"{self.left} of {self.total} open"
        return f"{safe}, {len(self.unsafe)} with a state from which an unsafe one is reached"

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        safe = self.left if self.closed else 0
        return {"abstract": self.total, "safe": safe, "open": self.left - safe, "unsafe": self.unsafe}


@dataclass
class Refined:
    """What refinement came to: of the last iteration its states, and queries of all of them."""

    variables: tuple[int, int] = (0, 0)
    iterations: int = 0
    predicates: int = 0
    by_policy: int = 0
    starts: int = 0
    states: int = 0
    transitions: int = 0
    expanded: int = 0
    words: int = 0
    queries: dict[str, float] = field(default_factory=dict)
    history: list[Iteration] = field(default_factory=list)
    names: tuple[str, ...] = ()
    split: StartCounts | None = None
    """Where the verdict is split by abstract start."""
    drawn: Callable[[], Drawn] | None = None
    """The last abstract graph, where it is small."""

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        kinds = self.refinements
        spurious = ", ".join(f"{count} by {kind}" for kind, count in kinds.items() if count)
        found = [
            ("iterations", f"{self.iterations}" + (f" ({spurious})" if spurious else "")),
            ("predicates", f"{self.predicates}, {self.by_policy} of them by the policy"),
            ("abstract states", f"{self.states}, {self.starts} of them initial, {self.expanded} stepped from"),
            ("queries", f"{self.queries.get('count', 0)} in {self.queries.get('seconds', 0)} s"),
        ]
        if self.split is not None:
            found.append(("starts", self.split.text()))
        kept, whole = self.variables
        return found + ([("slice", f"{kept} of {whole} variables")] if kept < whole else [])

    @property
    def refinements(self) -> dict[str, int]:
        """How many there were of each kind."""
        kinds = ("guard", "target", "policy", "cell")
        return {kind: sum(i.kind == kind for i in self.history) for kind in kinds}

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "iterations": self.iterations,
            "refinements": self.refinements,
            "predicates": self.predicates,
            "predicates_by_policy": self.by_policy,
            "abstract": {
                "starts": self.starts,
                "states": self.states,
                "transitions": self.transitions,
                "expanded": self.expanded,
            },
            "words": self.words,
            "queries": self.queries,
            "starts": None if self.split is None else self.split.to_json(),
            "graph": None if self.drawn is None else self.drawn().to_json(),
            "history": [
                {
                    "predicates": i.predicates,
                    "states": i.states,
                    "path": i.length,
                    "spurious": i.kind,
                    "added": [p.text(self.names) for p in i.added],
                }
                for i in self.history
            ],
        }
