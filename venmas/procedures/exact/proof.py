"""Findings of a search in exact rationals, for reports and for sessions that have not begun to search."""

from __future__ import annotations

from dataclasses import dataclass, field

from venmas.model.witness.tree import Witness


@dataclass
class Proof:
    """What a search produced: the lines of a proof, or a witness, or why neither."""

    lines: int = 0
    splits: int = 0
    leaves: int = 0
    shared: int = 0
    witness: Witness | None = None
    gaps: list[str] = field(default_factory=list)
    left_box: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """True when the claim is proved."""
        return self.witness is None and not self.gaps

    def facts(self) -> list[tuple[str, str]]:
        """Lines of the proof so far, cells that were split, ends that were refuted, goals that were shared."""
        ends = f"{self.splits} splits, {self.leaves} ends, {self.shared} shared"
        return [("proof", f"{self.lines} lines, {ends}")]
