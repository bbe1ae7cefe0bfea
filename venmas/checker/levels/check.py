"""Checking that no run of a system breaks a property of LTL, by levels of pairs (state, automaton state).

the automaton accepts every run that breaks the formula                                      (`liveness.automata`)
each initial state has a level with the automaton's first state
each step of the system from a state that has one, along each edge of the automaton whose label it meets, leads to a
    pair that has one, too: not a higher one, and a lower one where the edge is in acceptance set `level % sets`

On a run that the automaton accepts levels would stay the same in the end, and no edge of that one set be taken again.
Where the claim says within how many steps runs show the property, each step leads to a lower level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import Line
from venmas.checker.goals.check import Checked
from venmas.checker.inductive.batch import CHUNK
from venmas.checker.inductive.constraints import Ends
from venmas.checker.levels.claim import Claim, branch_of, read_formula
from venmas.checker.levels.listing import Listing, Places
from venmas.checker.levels.points import Points
from venmas.checker.levels.ranked import check_ranks
from venmas.checker.netlists.automata import breaking
from venmas.checker.netlists.lines import Automaton, read_line
from venmas.checker.netlists.simulation import Edge
from venmas.errors import InputError
from venmas.logic.formula import Atom
from venmas.logic.paths import Leaf, Proposition
from venmas.model.system.system import System

_MOST_MARKS = 60  # bits of a word
Lines = Iterator[tuple[int, Line]]


@dataclass
class CheckedRuns(Checked):
    """What was checked: states of the system, and pairs of them with states of the automaton; questions about ranks."""

    states: int = 0
    pairs: int = 0
    questions: int = 0
    within: int | None = None

    def __str__(self) -> str:
        shown = "" if self.within is None else f"; every run has shown it within {self.within} steps"
        if self.questions:
            return f"{self.lines} lines, {self.questions} questions about steps from any state{shown}"
        return f"{self.lines} lines, {self.states} states, {self.pairs} pairs with the automaton{shown}"


def check_runs(system: System, claim: Claim, lines: Lines, tick: Callable[[int], None]) -> CheckedRuns:
    """Check the proof of a claim about the valid `system`. lines: numbered, after the header. Raises `CheckError`."""
    checker = _Checker(system, claim, lines, tick)
    try:
        return checker.run()
    except CheckError:
        raise
    except (InputError, ValueError) as error:
        raise CheckError(checker.line, str(error)) from error
    except RecursionError as error:
        raise CheckError(checker.line, "formulas are nested too deeply to be checked") from error


class _Checker:
    def __init__(self, system: System, claim: Claim, lines: Lines, tick: Callable[[int], None]) -> None:
        self.system, self.claim, self._lines, self._tick, self.line = system, claim, lines, tick, 0

    def run(self) -> CheckedRuns:
        points = Points(self.system)
        stated = read_line(*self._next())
        if not isinstance(stated, Automaton):
            raise CheckError(self.line, "expected the automaton")
        if stated.marks > _MOST_MARKS:
            raise CheckError(self.line, f"the automaton has more than {_MOST_MARKS} acceptance sets")
        atoms, edges = breaking(
            stated, self.claim.formula, self.claim.fair, lambda text: read_formula(self.system, text)
        )
        first = self._next()
        if first[1].get("rule") == "ranks":
            if not any(len(states) for states in points.initial()):
                raise CheckError(self.line, "the system has no initial state")
            after = check_ranks(self.system, self.claim, stated, atoms, edges, first, self._lines, self._tick)
            self.line = after[0]
            self._end(self._next())
            return CheckedRuns(self.line, questions=after[1], within=self.claim.within)
        listing = Listing(Places(points.ranges), stated.states, self._states(first))
        _Proof(points, atoms, edges, stated.marks, listing, self).run()
        present = int(np.count_nonzero(listing.levels >= 0))
        return CheckedRuns(self.line, states=len(listing.numbers), pairs=present, within=self.claim.within)

    def tick(self) -> None:
        self._tick(self.line)

    def _next(self) -> tuple[int, Line]:
        found = next(self._lines, None)
        if found is None:
            raise CheckError(self.line + 1, "the certificate ends before its last line")
        self.line = found[0]
        self._tick(self.line)
        return found

    def _states(self, found: tuple[int, Line]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The lines of states, to the end, after which there must be nothing."""
        while found[1].get("rule") != "end":
            if found[1].keys() != {"rule", "steps", "levels"} or found[1]["rule"] != "states":
                raise CheckError(self.line, f"expected states, or the end: {str(found[1])[:60]}")
            yield found
            found = self._next()
        self._end(found)

    def _end(self, found: tuple[int, Line]) -> None:
        if found[1] != {"rule": "end", "lines": self.line} or type(found[1]["lines"]) is not int:
            raise CheckError(self.line, "expected the end, with its own number")
        if next(self._lines, None) is not None:
            raise CheckError(self.line + 1, "there is more after the end of the proof")


class _Proof:
    """The states of a listing, some at a time."""

    def __init__(
        self, points: Points, atoms: list[Leaf], edges: list[Edge], marks: int, listing: Listing, at: _Checker
    ) -> None:
        self.points, self.edges, self.marks, self.listing, self.at = points, edges, marks, listing, at
        self.atoms = [(1 << i, one, branch_of(points.system, getattr(one, "name", ""))) for i, one in enumerate(atoms)]

    def run(self) -> None:
        self._begins()
        listing, stutter = self.listing, self.at.claim.stutter
        for first in range(0, len(listing.numbers), CHUNK):
            self.at.tick()
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
            if self.at.claim.within is not None and (level > self.at.claim.within).any():
                raise self._refused(states[np.argmax(level)], "is initial, and its level more than the steps claimed")
        if not some:
            raise CheckError(self.at.line, "the system has no initial state")

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
        """Where the level must fall along an edge."""
        if self.at.claim.within is not None or not self.marks:
            return np.ones(len(level), bool)
        found: NDArray[np.bool_] = edge.marks >> level % self.marks & 1 == 1
        return found

    def _bits(self, states: Ends) -> NDArray[np.int64]:
        """The atoms that are true of states (B,), as bits."""
        found = np.zeros(len(states), np.int64)
        for bit, leaf, branch in self.atoms:
            if branch is None:
                found |= np.where(self._truth(leaf, states), bit, 0)
        return found

    def _truth(self, leaf: Leaf, states: Ends) -> NDArray[np.bool_]:
        if isinstance(leaf, Atom):
            return self.points.truth(leaf.comparison, states)
        assert isinstance(leaf, Proposition)
        return np.equal(states[:, list(self.points.system.variables).index(leaf.name)], 1)

    def _taken(self, branch: int) -> int:
        return sum(bit for bit, _, one in self.atoms if one == branch)

    def _refused(self, state: Ends, problem: str) -> CheckError:
        told = ", ".join(f"{name} = {value}" for name, value in self.points.named(state).items())
        return CheckError(self.at.line, f"the state {told[:300]} {problem}")
