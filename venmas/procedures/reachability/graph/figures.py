"""Figures of a reachability graph, for reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Regions:
    """Passes, nodes (regions), and pieces that nodes were cut into, of all passes together."""

    passes: int = 0
    nodes: int = 0
    pieces: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        counted = ((self.nodes, "node"), (self.pieces, "piece"), (self.passes, "pass"))
        ending = {"pass": "es"}
        words = (f"{n} {what}{'' if n == 1 else ending.get(what, 's')}" for n, what in counted)
        return [("abstract graph", ", ".join(words))]
