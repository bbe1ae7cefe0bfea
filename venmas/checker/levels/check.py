"""Checking that no run of a system breaks a property of LTL, by levels of pairs (state, automaton state).

the automaton accepts every run that breaks the formula                                      (`netlists.simulation`)
each initial state has a level with the automaton's first state
each step of the system from a state that has one, along each edge of the automaton whose label it meets, leads to a
    pair that has one, too: not a higher one, and a lower one where the edge is in acceptance set `level % sets`

On a run that the automaton accepts levels would stay the same in the end, and no edge of that one set be taken again.
Where the claim says within how many steps runs show the property, each step leads to a lower level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from venmas.checker.format.about import About
from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Checked, Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.inductive.batch import CHUNK
from venmas.checker.inductive.constraints import Ends
from venmas.checker.levels.claim import branch_of, read_formula
from venmas.checker.levels.listing import Listing, Places
from venmas.checker.levels.points import Points
from venmas.checker.netlists.automata import breaking
from venmas.checker.netlists.rules import Automaton
from venmas.checker.netlists.simulation import Edge
from venmas.logic.formula import Atom
from venmas.logic.paths import Leaf, Proposition
from venmas.model.system.system import System

_MOST_MARKS = 60  # bits of a word


@dataclass
class CheckedRuns(Checked):
    """Counts of a check: states of the system, pairs of them with states of the automaton, questions about ranks."""

    states: int = 0
    pairs: int = 0
    questions: int = 0
    within: int | None = None

    def __str__(self) -> str:
        shown = "" if self.within is None else f"; every run has shown it within {self.within} steps"
        if self.questions:
            return f"{self.lines} lines, {self.questions} questions about steps from any state{shown}"
        return f"{self.lines} lines, {self.states} states, {self.pairs} pairs with the automaton{shown}"


@dataclass(frozen=True)
class Runs:
    """The automaton of the runs that break a property, as the first line of a proof has it."""

    states: int
    marks: int
    atoms: list[Leaf]
    edges: list[Edge]

    @classmethod
    def read(cls, system: System, claim: Claim, lines: Lines) -> Runs:
        """The next line, and that its automaton accepts all these runs. Raises `CheckError`."""
        return cls.of(lines.next(Automaton), system, claim, lines)

    @classmethod
    def of(cls, line: Automaton, system: System, claim: Claim, lines: Lines) -> Runs:
        """The automaton of a line, which accepts all these runs. Raises `CheckError`."""
        if line.marks > _MOST_MARKS:
            raise lines.refused(f"the automaton has more than {_MOST_MARKS} acceptance sets")
        texts = partial(read_formula, system)
        return cls(line.states, line.marks, *breaking(line, claim.formula, claim.fair, texts))


def check_levels(system: System, claim: Claim, lines: Lines) -> CheckedRuns:
    """Check a proof by levels of a claim about the valid `system`. Raises `CheckError`."""
    with lines.refusing():
        points, about = Points(system), Runs.read(system, claim, lines)
        listing = Listing(Places(points.ranges), about.states, lines)
        _Proof(points, about, listing, claim, lines).run()
        present = int(np.count_nonzero(listing.levels >= 0))
        return CheckedRuns(lines.number, states=len(listing.numbers), pairs=present, within=claim.within)


class _Proof:
    """The states of a listing, some at a time."""

    def __init__(self, points: Points, about: Runs, listing: Listing, claim: Claim, lines: Lines) -> None:
        self.points, self.edges, self.marks, self.listing = points, about.edges, about.marks, listing
        self.within, self.stutter, self.lines = claim.within, claim.deadlock == "stutter", lines
        atoms = enumerate(about.atoms)
        self.atoms = [(1 << i, one, branch_of(points.system, getattr(one, "name", ""))) for i, one in atoms]

    def run(self) -> None:
        self._begins()
        listing, stutter = self.listing, self.stutter
        for first in range(0, len(listing.numbers), CHUNK):
            self.lines.tick()
            rows = np.arange(first, min(first + CHUNK, len(listing.numbers)))
            states = listing.places.states(listing.numbers[rows])
            bits, stuck = self._bits(states), np.ones(len(rows), bool)
            for branch, taken, new in self.points.steps(states):
                stuck[taken] = False
                targets = listing.rows(new)
                if (targets < 0).any():
                    raise self._refused(
                        states[taken[np.argmax(targets < 0)]], "has a step to a state that is not listed"
                    )
                self._steps(rows[taken], targets, bits[taken] | self._taken(branch))
            if stuck.any() and not stutter:
                raise self._refused(states[np.argmax(stuck)], "has no successor, and runs do not stay in such a state")
            self._steps(rows[stuck], rows[stuck], bits[stuck])

    def _begins(self) -> None:
        some = False
        for states in self.points.initial():
            some |= len(states) > 0
            rows = self.listing.rows(states)
            level = np.where(rows < 0, -1, self.listing.levels[0, rows] if len(self.listing.numbers) else -1)
            if (level < 0).any():
                raise self._refused(states[np.argmax(level < 0)], "is initial and has no level")
            if self.within is not None and (level > self.within).any():
                raise self._refused(states[np.argmax(level)], "is initial, and its level more than the steps claimed")
        if not some:
            raise self.lines.refused("the system has no initial state")

    def _steps(self, sources: NDArray[np.intp], targets: NDArray[np.intp], bits: NDArray[np.int64]) -> None:
        """Steps between listed states, with the atoms that are true."""
        levels = self.listing.levels
        for edge in self.edges:
            rows = np.flatnonzero((bits & edge.care == edge.value) & (levels[edge.source, sources] >= 0))
            here, there = levels[edge.source, sources[rows]], levels[edge.target, targets[rows]]
            wrong = (there < 0) | (there > here) | ((there == here) & self._falls(edge, here))
            if wrong.any():
                at = int(np.argmax(wrong))
                state = self.listing.places.states(self.listing.numbers[sources[rows[at : at + 1]]])[0]
                raise self._refused(
                    state,
                    f"has level {here[at]} in automaton state {edge.source}, and a step to level {there[at]} in "
                    f"state {edge.target} (-1 is none): it must not rise, and fall where the edge is marked so",
                )

    def _falls(self, edge: Edge, level: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Mask of the pairs whose level must fall along an edge."""
        if self.within is not None or not self.marks:
            return np.ones(len(level), bool)
        falls: NDArray[np.bool_] = edge.marks >> level % self.marks & 1 == 1
        return falls

    def _bits(self, states: Ends) -> NDArray[np.int64]:
        """The atoms that are true of states (B,), as bits."""
        bits = np.zeros(len(states), np.int64)
        for bit, leaf, branch in self.atoms:
            if branch is None:
                bits |= np.where(self._truth(leaf, states), bit, 0)
        return bits

    def _truth(self, leaf: Leaf, states: Ends) -> NDArray[np.bool_]:
        if isinstance(leaf, Atom):
            return self.points.truth(leaf.comparison, states)
        assert isinstance(leaf, Proposition)
        return np.equal(states[:, list(self.points.system.variables).index(leaf.name)], 1)

    def _taken(self, branch: int) -> int:
        return sum(bit for bit, _, one in self.atoms if one == branch)

    def _refused(self, state: Ends, problem: str) -> CheckError:
        values = ", ".join(f"{name} = {value}" for name, value in self.points.named(state).items())
        return self.lines.refused(f"the state {values[:300]} {problem}")


def proved(about: About, lines: Lines) -> Checked:
    """Check a proof of the kind levels. Raises `CheckError`."""
    return check_levels(about.system, about.claim, lines)
