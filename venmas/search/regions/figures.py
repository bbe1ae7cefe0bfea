"""What a region graph comes to."""

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
        return [("region graph", f"{self.nodes} nodes, {self.pieces} pieces, {self.passes} passes")]
