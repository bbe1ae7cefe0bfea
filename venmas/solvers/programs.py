"""Statistics of solving programs: counts, sizes, seconds."""

from __future__ import annotations

from dataclasses import dataclass, field

BY_BOUNDS = "bounds"
"""Who has refuted a program for which no solver was asked."""


@dataclass
class Counts:
    """Subproblems: `created`, refuted by bounds before, answered by a solver, given up on stop, and skipped.

    Those `skipped` are among the `created`, but not built again: a journal knew that a solver found them infeasible.
    """

    created: int = 0
    discarded: int = 0
    solved: int = 0
    cancelled: int = 0
    skipped: int = 0


@dataclass
class Largest:
    """Sizes of the largest program, each the greatest seen; indicators count as constraints."""

    variables: int = 0
    binaries: int = 0
    constraints: int = 0


@dataclass
class Programs:
    """Subproblems and programs of one verification.

    depth: steps from the initial states. solvers: names of those that answered. encode, solve, confirm: seconds making
    programs, in solvers (all workers together), and confirming points. workers: that solved. peak_mb: memory of all
    processes, MB.
    """

    subproblems: Counts = field(default_factory=Counts)
    largest: Largest = field(default_factory=Largest)
    depth: int = 0
    solvers: list[str] = field(default_factory=list)
    encode: float = 0.0
    solve: float = 0.0
    confirm: float = 0.0
    workers: int = 1
    peak_mb: float = 0.0
    notes: list[str] = field(default_factory=list)

    def answered(self, solver: str) -> None:
        """Note that a solver gave an answer."""
        if solver not in self.solvers:
            self.solvers.append(solver)

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        counts, largest = self.subproblems, self.largest
        workers = f" by {self.workers} workers" if self.workers > 1 else ""
        skipped = f"{counts.skipped} known from the journal, " if counts.skipped else ""
        rows = [
            (
                "subproblems",
                f"{counts.created} created, {counts.discarded} discarded by bounds, {counts.solved} solved{workers}, "
                f"{skipped}{counts.cancelled} cancelled; depth {self.depth}",
            )
        ]
        if largest.variables:  # none was made where a journal knew them all
            sizes = f"{_count(largest.variables, 'variable')} ({largest.binaries} binary)"
            rows.append(("largest program", f"{sizes}, {_count(largest.constraints, 'constraint')}"))
        return rows


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
