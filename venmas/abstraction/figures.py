"""What refinement comes to, for people and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from venmas.abstraction.states.predicates import Predicate


@dataclass(frozen=True)
class Iteration:
    """What an iteration came to: predicates and states it had, the length of its path, what was spurious and added."""

    predicates: int
    states: int
    length: int
    kind: str
    added: tuple[Predicate, ...]


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
