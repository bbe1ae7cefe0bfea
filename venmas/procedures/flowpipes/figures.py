"""Counts of a search by flowpipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from venmas.bounds.rounding import Bools, Floats, Index, float_beside
from venmas.model.system.system import System
from venmas.model.system.variables import Box


@dataclass
class Followed:
    """Boxes that were followed, parts that were refuted, and candidates that were replayed.

    reach: after each step, the box of every variable over all parts that were refuted. astray: of a system whose
    property is refuted everywhere, the parts from which enclosures of runs leave declared ranges.
    """

    boxes: int = 0
    parts: int = 0
    candidates: int = 0
    reach: list[dict[str, tuple[float, float]]] = field(default_factory=list)
    astray: tuple[System, list[Box]] | None = None

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("boxes", f"{self.boxes} followed, {self.parts} refuted"), ("candidates", f"{self.candidates}")]

    def note(
        self,
        system: System,
        moved: frozenset[str],
        leaving: set[str],
        seen: Sequence[tuple[Index, Mapping[str, tuple[Floats, Floats]]]],
        refuted: Bools,
    ) -> Bools:
        """Note what boxes that were refuted reach, and in `leaving` which of the variables that are moved may leave
        their declared ranges; from which of the boxes, (B,)."""
        astray = np.zeros(len(refuted), dtype=bool)
        for step, (rows, ends) in enumerate(seen):
            mask = refuted[rows]
            if not mask.any():
                continue
            hull = {name: (float(lo[mask].min()), float(hi[mask].max())) for name, (lo, hi) in ends.items()}
            if step == len(self.reach):
                self.reach.append(hull)
            else:
                known = self.reach[step]
                self.reach[step] = {n: (min(a, known[n][0]), max(b, known[n][1])) for n, (a, b) in hull.items()}
            for name, (low, high) in hull.items() if step else ():
                decl = system.variables[name]
                if not (decl.lower <= low and high <= decl.upper) and name in moved:
                    leaving.add(name)
                    least, most = float_beside(decl.lower, 1), float_beside(decl.upper, -1)
                    astray[rows[mask & ~((ends[name][0] >= least) & (ends[name][1] <= most))]] = True
        return astray
