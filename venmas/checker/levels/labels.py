"""Checking that the initial states of a system satisfy a formula of CTL, by its truth in all states that are listed.

each initial state is listed, and each step from a listed state leads to a listed one
every part of the core formula that looks ahead has a level in some states, those in which it is said to hold, where
    AX h, EX h          all (some) successors satisfy h
    least Z             r, or l and QX of states of a lower level of Z           Z = r | (l & QX Z)
    greatest Z          r, and l or QX of states that have a level of Z          Z = r & (l | QX Z)

Atoms are true where they are, and conjunctions and disjunctions by their parts. Levels are natural numbers, so that
what is said of least fixpoints follows by induction; of greatest ones by coinduction. Nothing is said where there is no
level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from venmas.checker.format.about import About
from venmas.checker.format.lines import Checked, Lines
from venmas.checker.inductive.batch import CHUNK
from venmas.checker.inductive.constraints import Ends
from venmas.checker.levels.listing import Listing, Places
from venmas.checker.levels.points import Points
from venmas.logic import AX, EX, And, Atom, Fixpoint, Formula, Or, Quantifier, Top, fixpoints, subformulas
from venmas.logic.core import Endless
from venmas.model.system.system import System

Truth = NDArray[np.bool_]


@dataclass
class CheckedLabels(Checked):
    """Counts of a check: states of the system, and parts of the formula that look ahead."""

    states: int = 0
    parts: int = 0

    def __str__(self) -> str:
        return f"{self.lines} lines, {self.states} states, {self.parts} parts of the formula"


def ahead(core: Formula) -> list[Formula]:
    """The parts of a core formula that look ahead, in the order of their levels: parts of parts come first."""
    return [node for node in subformulas(core) if isinstance(node, AX | EX | Endless)]


def check_labels(system: System, formula: Formula, lines: Lines) -> CheckedLabels:
    """Check that every initial state of the valid `system` satisfies `formula`, and no run leaves the declared box.

    Raises `CheckError`.
    """
    with lines.refusing():
        core = fixpoints(formula)
        points, parts = Points(system), ahead(core)
        listing = Listing(Places(points.ranges), len(parts), lines)
        _Proof(points, core, parts, listing, lines).run()
        return CheckedLabels(lines.number, states=len(listing.numbers), parts=len(parts))


class _Proof:
    def __init__(self, points: Points, core: Formula, parts: list[Formula], listing: Listing, lines: Lines) -> None:
        self.points, self.core, self.parts, self.listing, self.lines = points, core, parts, listing, lines
        self.level = dict(zip(parts, listing.levels, strict=True))
        self.truth: dict[Formula, Truth] = {}
        for node in subformulas(core):
            self.truth[node] = self._truth(node)

    def run(self) -> None:
        self._begins()
        for rows, states in self._chunks():
            stepped = [(taken, self._targets(states, taken, new)) for _, taken, new in self.points.steps(states)]
            for part in self.parts:
                wrong = (self.level[part][rows] >= 0) & ~self._follows(part, rows, stepped)
                if wrong.any():
                    raise self._refused(states[np.argmax(wrong)], f"does not satisfy what it is said to: {part!r}")

    def _chunks(self) -> Iterator[tuple[NDArray[np.intp], Ends]]:
        for first in range(0, len(self.listing.numbers), CHUNK):
            self.lines.tick()
            rows = np.arange(first, min(first + CHUNK, len(self.listing.numbers)))
            yield rows, self.listing.places.states(self.listing.numbers[rows])

    def _truth(self, node: Formula) -> Truth:
        parts = [self.truth[child] for child in node.children]
        match node:
            case Atom(comparison):
                truths = [self.points.truth(comparison, states) for _, states in self._chunks()]
                return np.concatenate([np.zeros(0, bool), *truths])
            case And(_):
                return np.asarray(np.all(parts, axis=0))
            case Or(_):
                return np.asarray(np.any(parts, axis=0))
            case AX(_) | EX(_) | Fixpoint(_, _, _, _):
                return np.asarray(self.level[node] >= 0)
        return np.full(len(self.listing.numbers), isinstance(node, Top))

    def _begins(self) -> None:
        some = False
        for states in self.points.initial():
            rows = self.listing.rows(states)
            some |= len(states) > 0
            shown = (rows >= 0) & self.truth[self.core][rows] if len(self.listing.numbers) else rows >= 0
            if not shown.all():
                raise self._refused(states[np.argmin(shown)], "is initial, and not said to satisfy the formula")
        if not some:
            raise self.lines.refused("the system has no initial state")

    def _targets(self, states: Ends, taken: NDArray[np.intp], new: Ends) -> NDArray[np.intp]:
        targets = self.listing.rows(new)
        if (targets < 0).any():
            raise self._refused(states[taken[np.argmax(targets < 0)]], "has a step to a state that is not listed")
        return targets

    def _follows(
        self, part: Formula, rows: NDArray[np.intp], stepped: list[tuple[NDArray[np.intp], NDArray[np.intp]]]
    ) -> Truth:
        """The rows in which a part holds by what is said of successors and of parts of it."""
        every = isinstance(part, AX) or (isinstance(part, Fixpoint) and part.quantifier is Quantifier.ALL)
        steps = np.full(len(rows), every)
        for taken, targets in stepped:
            good = self._good(part, rows[taken], targets)
            steps[taken[good != every]] = not every
        if not isinstance(part, Fixpoint):
            return steps
        left, right = self.truth[part.left][rows], self.truth[part.right][rows]
        return np.asarray(right | (left & steps) if part.least else right & (left | steps))

    def _good(self, part: Formula, sources: NDArray[np.intp], targets: NDArray[np.intp]) -> Truth:
        """Whether a step leads where a part wants it to."""
        if not isinstance(part, Fixpoint):
            return self.truth[part.children[0]][targets]
        there = self.level[part][targets]
        return np.asarray((there >= 0) & (there < self.level[part][sources]) if part.least else there >= 0)

    def _refused(self, state: Ends, problem: str) -> Exception:
        values = ", ".join(f"{name} = {value}" for name, value in self.points.named(state).items())
        return self.lines.refused(f"the state {values[:300]} {problem}"[:1000])


def proved(about: About, lines: Lines) -> Checked:
    """Check a proof of the kind labels. Raises `CheckError`."""
    return check_labels(about.system, about.branching, lines)
